//! The captures of an analysis.

use super::AnalyzeError;
use crate::folder;
use unbloat_capture::{Input, Source, Trace};

/// Opens captures, patterns like `cap*.pcap`, or `-` for standard input, as one trace; also describes them for run.json.
///
/// # Errors
/// A capture is missing or cannot be read.
pub fn open(inputs: &[String]) -> Result<(Box<dyn Source>, Vec<unbloat_run::Input>), AnalyzeError> {
    let inputs = Input::expand(inputs)?;
    let trace = Trace::open(&inputs)?;
    Ok((Box::new(trace), inputs.iter().map(describe).collect()))
}

/// An input as run.json has it.
pub fn describe(input: &Input) -> unbloat_run::Input {
    match input {
        Input::File(path) => folder::input(path),
        Input::Stdin => unbloat_run::Input {
            name: "-".to_owned(),
            size_bytes: None,
        },
        Input::Stored(stored) => unbloat_run::Input {
            name: stored.name.clone(),
            size_bytes: None,
        },
    }
}
