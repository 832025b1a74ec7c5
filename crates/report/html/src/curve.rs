//! A curve of a figure.

use crate::numbers::five_digits;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Curve {
    series: String,
    x: Vec<f64>,
    y: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) weight: Vec<f64>,
    /// Half widths of the intervals around `y`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    error: Vec<f64>,
}

impl Curve {
    /// The curve of this name, made if there is none.
    pub(crate) fn of<'a>(curves: &'a mut Vec<Curve>, series: &str) -> &'a mut Curve {
        let at = curves.iter().position(|c| c.series == series);
        let at = at.unwrap_or_else(|| {
            curves.push(Curve {
                series: series.to_owned(),
                x: Vec::new(),
                y: Vec::new(),
                weight: Vec::new(),
                error: Vec::new(),
            });
            curves.len() - 1
        });
        &mut curves[at]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    pub(crate) fn push(&mut self, x: f64, y: f64) {
        self.x.push(five_digits(x));
        self.y.push(five_digits(y));
    }

    pub(crate) fn push_with_error(&mut self, x: f64, y: f64, error: f64) {
        self.push(x, y);
        self.error.push(five_digits(error));
    }
}
