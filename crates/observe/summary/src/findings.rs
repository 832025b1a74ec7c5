//! What panels find: rows of the `summary` and `figures` tables.

use unbloat_stats::{Cdf, LogHistogram};
use unbloat_table::{Row, Rows, Table, columns};

/// A curve keeps so many steps of its distribution; the share it shows is off by at most 1/256.
const CURVE_PARTS: usize = 256;

/// One headline number.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub group: String,
    pub metric: String,
    /// `None` when nothing of the kind was in the run.
    pub value: Option<f64>,
    pub unit: String,
    /// The study's value, where its definition is the same.
    pub paper: Option<f64>,
    /// How many flows, pairs or bins the value rests on.
    pub samples: u64,
    pub doc: String,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// For maps of counts, the count at this place.
    pub weight: Option<f64>,
}

/// One curve of one figure. Series whose name begins with "paper" hold values read in the study.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub figure: String,
    pub series: String,
    pub points: Vec<Point>,
}

/// What all panels wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Findings {
    pub(crate) metrics: Vec<Metric>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) notes: Vec<String>,
}

/// Where the rows of one panel go.
pub(crate) struct Group<'a> {
    found: &'a mut Findings,
    name: &'static str,
}

impl Findings {
    pub(crate) fn group(&mut self, name: &'static str) -> Group<'_> {
        Group { found: self, name }
    }

    pub(crate) fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    pub(crate) fn cdf(&mut self, figure: &str, series: &str, histogram: &LogHistogram) {
        let thin = Cdf::of(histogram).thinned(CURVE_PARTS);
        let points = thin.points().iter().map(|p| (p.value, p.share));
        self.curve(figure, series, points.collect());
    }

    /// A curve, or marks when `series` begins with "paper"; an empty one is not written.
    pub(crate) fn curve(&mut self, figure: &str, series: &str, points: Vec<(f64, f64)>) {
        let point = |(x, y)| Point { x, y, weight: None };
        self.points(figure, series, points.into_iter().map(point).collect());
    }

    pub(crate) fn points(&mut self, figure: &str, series: &str, points: Vec<Point>) {
        if !points.is_empty() {
            self.figures.push(Figure {
                figure: figure.to_owned(),
                series: series.to_owned(),
                points,
            });
        }
    }
}

impl Group<'_> {
    pub(crate) fn number(
        &mut self,
        metric: &str,
        value: Option<f64>,
        (unit, paper): (&str, Option<f64>),
        samples: u64,
        doc: &str,
    ) {
        self.found.metrics.push(Metric {
            group: self.name.to_owned(),
            metric: metric.to_owned(),
            value: value.filter(|v| v.is_finite()),
            unit: unit.to_owned(),
            paper,
            samples,
            doc: doc.to_owned(),
        });
    }

    /// `part` of `whole` in percent.
    pub(crate) fn share(
        &mut self,
        metric: &str,
        (part, whole): (u64, u64),
        paper: impl Into<Option<f64>>,
        doc: &str,
    ) {
        let value = (whole > 0).then(|| 100.0 * part as f64 / whole as f64);
        self.number(metric, value, ("%", paper.into()), whole, doc);
    }

    /// The `q`-quantile of what `histogram` recorded.
    pub(crate) fn quantile(
        &mut self,
        metric: &str,
        (histogram, q): (&LogHistogram, f64),
        (unit, paper): (&str, Option<f64>),
        doc: &str,
    ) {
        // Counts and bytes are whole; a sketch gives the middle of a bucket.
        let whole = |value: f64| {
            if matches!(unit, "" | "B") {
                value.round()
            } else {
                value
            }
        };
        let value = histogram.quantile(q).map(whole);
        self.number(metric, value, (unit, paper), histogram.count(), doc);
    }

    pub(crate) fn count(&mut self, metric: &str, count: u64, unit: &str, doc: &str) {
        self.number(metric, Some(count as f64), (unit, None), count, doc);
    }
}

columns! {
    pub struct SummaryRow<'a>: summary = "one row per headline number, with the study's own beside it" {
        group: &'a str = "what the number is about, with the study's section or figure",
        metric: &'a str = "the number's name",
        value: Option<f64> = "the value in this run; null when nothing of the kind was seen",
        unit: &'a str = "unit of value and paper",
        paper: Option<f64> = "the value in the SIGCOMM 2013 study; null when not comparable",
        samples: u64 = "how many flows, pairs or bins the value rests on",
        doc: &'a str = "definition",
    }

    pub struct FigureRow<'a>: figures = "one row per point of a curve, in the order of drawing" {
        figure: &'a str = "number of the figure in the SIGCOMM 2013 study",
        series: &'a str = "the curve; names that begin with 'paper' are the study's values",
        x: f64 = "abscissa, in the figure's unit",
        y: f64 = "ordinate, in the figure's unit",
        weight: Option<f64> = "count at this place, in maps of counts",
    }
}

/// The table of headline numbers.
pub fn summary_rows(metrics: &[Metric]) -> (Table, Rows) {
    SummaryRow::filled(metrics.iter().map(|metric| SummaryRow {
        group: &metric.group,
        metric: &metric.metric,
        value: metric.value,
        unit: &metric.unit,
        paper: metric.paper,
        samples: metric.samples,
        doc: &metric.doc,
    }))
}

/// The table of the figures' curves.
pub fn figures_rows(figures: &[Figure]) -> (Table, Rows) {
    FigureRow::filled(figures.iter().flat_map(|figure| {
        figure.points.iter().map(|point| FigureRow {
            figure: &figure.figure,
            series: &figure.series,
            x: point.x,
            y: point.y,
            weight: point.weight,
        })
    }))
}
