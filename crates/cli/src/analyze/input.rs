//! The input of an analysis: files, standard input, or a live interface.

use super::{AnalyzeError, Args};
use unbloat_capture::{Input, LiveOptions, LiveSource, Source, Trace};

/// Opens the input; also returns its description for run.json.
pub fn open(args: &Args) -> Result<(Box<dyn Source>, Vec<unbloat_run::Input>), AnalyzeError> {
    if let Some(interface) = &args.interface {
        let options = LiveOptions {
            snap_len: args.snap_len,
            promiscuous: args.promiscuous,
            ..LiveOptions::default()
        };
        let source = LiveSource::open(interface, &options)?;
        let input = unbloat_run::Input {
            name: interface.clone(),
            size_bytes: None,
        };
        return Ok((Box::new(source), vec![input]));
    }
    let inputs = Input::expand(&args.inputs)?;
    let trace = Trace::open(&inputs)?;
    Ok((Box::new(trace), inputs.iter().map(described).collect()))
}

fn described(input: &Input) -> unbloat_run::Input {
    let size_bytes = match input {
        Input::File(path) => std::fs::metadata(path).ok().map(|m| m.len()),
        Input::Stdin | Input::Stored(_) => None,
    };
    let name = match input {
        Input::File(path) => path.display().to_string(),
        Input::Stdin => "-".to_owned(),
        Input::Stored(stored) => stored.name.clone(),
    };
    unbloat_run::Input { name, size_bytes }
}
