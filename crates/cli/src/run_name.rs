//! Runs as options name them: by path, or by their name in the folder of runs.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// Parses a RUN. The small build for routers knows paths only.
pub fn run_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|name| {
        #[cfg(feature = "runs")]
        return unbloat_run::find_run(&name);
        #[cfg(not(feature = "runs"))]
        name
    })
}
