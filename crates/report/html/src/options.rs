//! What goes into a report.

/// How much goes into the file.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// So many flows get a time line.
    pub flows: usize,
    /// Only this flow gets one.
    pub only_flow: Option<u64>,
    /// How the run is named in the command that gives another flow's time line.
    pub run_name: String,
}

impl Default for RenderOptions {
    fn default() -> RenderOptions {
        RenderOptions {
            flows: 200,
            only_flow: None,
            run_name: "RUN".to_owned(),
        }
    }
}

impl RenderOptions {
    /// No report with the default number of flows is larger, in bytes.
    pub const LARGEST_FILE: u64 = 10_000_000;
    /// Points of all time lines together, for each table.
    pub(crate) const POINTS: u64 = 100_000;
}
