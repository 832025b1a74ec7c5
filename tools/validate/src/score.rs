//! One comparison and its outcome.

use std::fmt;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Share,
    Ms,
    Us,
    Bytes,
}

impl Unit {
    /// The figure with its unit; shares in per cent.
    pub fn show(self, figure: f64) -> String {
        match self {
            Unit::Share => format!("{:.2} %", figure * 100.0),
            Unit::Ms => format!("{figure:.3} ms"),
            Unit::Us => format!("{figure:.3} us"),
            Unit::Bytes => format!("{figure:.0} B"),
        }
    }
}

/// What a figure has to keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// Nothing: told for its own sake.
    Reported,
}

impl Bound {
    fn is_kept(self, figure: f64) -> bool {
        match self {
            Bound::AtMost(most) => figure <= most,
            Bound::AtLeast(least) => figure >= least,
            Bound::Reported => true,
        }
    }
}

/// One figure about one bed.
#[derive(Clone, Debug)]
pub struct Score {
    /// What is scored.
    pub quantity: &'static str,
    /// Which figure of it.
    pub measure: &'static str,
    pub bed: String,
    /// How many things were compared.
    pub n: usize,
    /// `None` if there was nothing to compare.
    pub figure: Option<f64>,
    pub unit: Unit,
    pub bound: Bound,
    pub tshark: Option<String>,
    pub tcptrace: Option<String>,
    /// What explains the figure, from the bed's own record.
    pub notes: Vec<String>,
}

impl Score {
    pub fn new(measure: &'static str, unit: Unit, n: usize, figure: Option<f64>) -> Score {
        Score {
            quantity: "",
            measure,
            bed: String::new(),
            n,
            figure,
            unit,
            bound: Bound::Reported,
            tshark: None,
            tcptrace: None,
            notes: Vec::new(),
        }
    }

    #[must_use]
    pub fn at_most(self, most: f64) -> Score {
        Score {
            bound: Bound::AtMost(most),
            ..self
        }
    }

    #[must_use]
    pub fn at_least(self, least: f64) -> Score {
        Score {
            bound: Bound::AtLeast(least),
            ..self
        }
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Score {
        self.notes.push(note.into());
        self
    }

    /// Whether the bound is kept; nothing to compare keeps none.
    pub fn is_hit(&self) -> bool {
        match (self.bound, self.figure) {
            (Bound::Reported, _) => true,
            (bound, Some(figure)) => bound.is_kept(figure),
            (_, None) => false,
        }
    }

    pub(crate) fn shown(&self) -> String {
        self.figure
            .map_or_else(|| "nothing".to_owned(), |f| self.unit.show(f))
    }

    pub(crate) fn bound_shown(&self) -> String {
        match self.bound {
            Bound::AtMost(most) => format!("<= {}", self.unit.show(most)),
            Bound::AtLeast(least) => format!(">= {}", self.unit.show(least)),
            Bound::Reported => String::new(),
        }
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match self.bound {
            Bound::Reported => "",
            _ if self.is_hit() => "hit",
            _ => "MISS",
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figure, bound, verdict) = (self.shown(), self.bound_shown(), self.verdict());
        let (quantity, measure, bed) = (self.quantity, self.measure, &self.bed);
        write!(
            f,
            "{quantity}: {measure} ({bed}, n = {}): {figure} {bound} {verdict}",
            self.n
        )?;
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_without_a_figure_is_missed() {
        let score = |figure| Score::new("error", Unit::Share, 1, figure).at_most(0.01);
        assert!(score(Some(0.01)).is_hit());
        assert!(!score(Some(0.011)).is_hit());
        assert!(!score(None).is_hit());
        assert!(!score(Some(f64::NAN)).is_hit());
        assert!(Score::new("error", Unit::Share, 0, None).is_hit());
    }
}
