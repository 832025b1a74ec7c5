use std::io;
use thiserror::Error;
use unbloat_run::RunError;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the report could not be written: {0}")]
    Write(#[from] io::Error),
    #[error(
        "run.json holds a verdict that cannot be read ({0}); make the run anew with this version"
    )]
    Verdict(serde_json::Error),
    #[error("the run has no flow {0}; flow numbers are in column flow_id of table flows")]
    NoFlow(u64),
}
