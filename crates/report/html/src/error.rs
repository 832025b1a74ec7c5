use std::io;
use thiserror::Error;
use unbloat_run::RunError;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot write the report: {0}")]
    Write(#[from] io::Error),
    #[error("cannot read the verdict in run.json ({0}); repeat the run with this version")]
    Verdict(serde_json::Error),
    #[error("the run has no flow {0}; flow numbers are in column flow_id of table flows")]
    NoFlow(u64),
}
