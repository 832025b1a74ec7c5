//! The recipe of one figure or table.

use crate::claim::Claim;
use crate::quantity::Quantity;
use crate::unit::Unit;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The table of a run in which its results stand by name.
const RESULTS: &str = "results";

/// One figure or table of a paper. [`Figure::not_made`] or [`Figure::panels`] is empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of its file, such as `fig9`.
    #[serde(skip)]
    pub id: String,
    /// As in the paper's text: "Figure 9".
    pub label: String,
    pub title: String,
    /// Section and page of the paper, as printed.
    pub place: String,
    /// What the paper's figure shows, in one or two sentences.
    pub shows: String,
    /// Why nothing is made of it: a drawing, or data of the authors' own networks.
    pub not_made: Option<String>,
    /// Why ours differs; shown if it does.
    pub because: Option<String>,
    /// With the kernel's TCP: why it differs, or what the kernel lacks.
    pub kernel_because: Option<String>,
    #[serde(default, rename = "assumption")]
    pub assumptions: Vec<Assumption>,
    /// Runs by the name that series and quantities use.
    #[serde(default, rename = "run")]
    pub runs: BTreeMap<String, RunRecipe>,
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel>,
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A parameter that the paper does not give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    pub parameter: String,
    /// What we take.
    pub value: String,
    /// Why this.
    pub why: String,
    /// What changes with other values.
    pub effect: Option<EffectRecipe>,
}

/// A run with one key varied, and the quantity that shows what this does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectRecipe {
    pub key: String,
    pub values: Vec<String>,
    pub on: Quantity,
    #[serde(default)]
    pub unit: Unit,
}

/// One of `scenario`, `model` and `lte_trace`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecipe {
    /// Scenario file in the folder of the paper, or `PAPER/FILE`.
    pub scenario: Option<String>,
    /// `KEY=VALUE` as `unbloat sim --set` takes it; arrays make a sweep.
    #[serde(default)]
    pub set: Vec<String>,
    /// Seeds per point; 1 unless something is random.
    pub repeats: Option<u32>,
    /// Further `KEY=VALUE` for a run with the kernel's TCP; without this the kernel cannot run it.
    pub kernel: Option<Vec<String>>,
    pub model: Option<ModelRecipe>,
    pub lte_trace: Option<LteTraceRecipe>,
}

/// `unbloat model`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRecipe {
    pub rate: String,
    pub packet: String,
    pub utilisation: Vec<String>,
    /// As `unbloat model --buffer` takes it: `1..200`.
    pub buffer: String,
}

/// A synthetic trace of an LTE network, analysed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteTraceRecipe {
    pub users: u32,
}

/// What is to be run. Figures that ask for the same share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    pub source: Source,
    pub repeats: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Scenario {
        /// `PAPER/FILE`.
        file: String,
        set: Vec<String>,
        kernel: Option<Vec<String>>,
    },
    Model(ModelRecipe),
    LteTrace(LteTraceRecipe),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// "a", "b"; empty for a figure of one panel.
    #[serde(default)]
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub kind: PanelKind,
    pub x: Axis,
    pub y: Axis,
    #[serde(default)]
    pub series: Vec<Series>,
    /// What of a reader's own run is laid over the panel: tables, without `run`.
    #[serde(default)]
    pub own: Vec<Series>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PanelKind {
    /// Points joined by lines.
    #[default]
    Line,
    /// Cumulative distribution of the values of a column.
    Cdf,
    /// One mark for each name on the x axis.
    Bars,
    /// y over x as means of equal bins of x.
    Binned,
    /// A colour for each name on the x axis and each curve.
    Heatmap,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    pub label: String,
    #[serde(default)]
    pub unit: Unit,
    #[serde(default)]
    pub log: bool,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// What one or several curves show. A result over a swept key, two columns of a table, or listed points.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    pub name: Option<String>,
    #[serde(default)]
    pub run: String,
    /// A curve for each value of this key, in place of `name`.
    pub each: Option<String>,
    /// How values of `each` are called.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// Only where the sweep has these values.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    /// Swept key, or column of `table`.
    pub x: Option<String>,
    /// Result, `SUBJECT.METRIC`.
    pub result: Option<String>,
    pub table: Option<String>,
    /// Column of `table`.
    pub y: Option<String>,
    /// Only rows with these texts.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// Of a distribution: the errors of column `x` against these rows, in percent.
    pub reference: Option<BTreeMap<String, String>>,
    /// Only rows of this time of the run and later, for errors.
    #[serde(default)]
    pub from_s: f64,
    /// The change in percent from the result at the same point of the sweep but for these values.
    pub change_from: Option<BTreeMap<String, String>>,
    /// Single quantities by their names on the x axis.
    #[serde(default, rename = "point")]
    pub points: Vec<NamedQuantity>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedQuantity {
    pub name: String,
    #[serde(flatten)]
    pub quantity: Quantity,
}

impl Figure {
    /// Tables of a reader's own run that it shows.
    pub fn own_tables(&self) -> BTreeSet<&str> {
        let own = self.panels.iter().flat_map(|panel| &panel.own);
        let tables = own.flat_map(|series| {
            let points = series.points.iter().map(|point| &point.quantity);
            let results = series.result.iter().map(|_| RESULTS);
            let of_points = points.filter_map(|quantity| quantity.table.as_deref());
            series
                .table
                .as_deref()
                .into_iter()
                .chain(results)
                .chain(of_points)
        });
        tables.collect()
    }

    /// What a reader's own run needs to appear in it, in words.
    pub fn own_needs(&self) -> BTreeSet<String> {
        let own = self.panels.iter().flat_map(|panel| &panel.own);
        let results = own.filter_map(|series| {
            let (result, x) = (series.result.as_ref()?, series.x.as_ref()?);
            let each = series.each.as_ref();
            let by = each.map_or(String::new(), |key| format!(" and {key}"));
            Some(format!("result {result} by {x}{by}"))
        });
        let tables = self.own_tables().into_iter();
        let tables = tables.filter(|table| *table != RESULTS);
        results
            .chain(tables.map(|table| format!("table {table}")))
            .collect()
    }
}

/// The run in which the assumption with this number is varied.
pub(crate) fn effect_run(index: usize) -> String {
    format!("~{index}")
}
