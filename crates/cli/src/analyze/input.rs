//! The input of an analysis: files, standard input, or a live interface.

use super::Args;
use crate::exit::Failure;
use unbloat_api::analyze;
use unbloat_capture::{LiveOptions, LiveSource, Source};
use unbloat_run::Input;

/// Opens the input; also returns its description for run.json.
pub fn open(args: &Args) -> Result<(Box<dyn Source>, Vec<Input>), Failure> {
    let Some(interface) = &args.interface else {
        return Ok(analyze::open(&args.inputs)?);
    };
    let options = LiveOptions {
        snap_len: args.snap_len,
        promiscuous: args.promiscuous,
        ..LiveOptions::default()
    };
    let source = LiveSource::open(interface, &options)?;
    let input = Input {
        name: interface.clone(),
        size_bytes: None,
    };
    Ok((Box::new(source), vec![input]))
}
