//! `run.json` of a model run.

use super::Args;
use super::question::Question;
use unbloat_api::folder::input;
use unbloat_run::{Clock, RunInfo};

pub fn info(args: &Args, question: &Question) -> RunInfo {
    let command = std::env::args().collect();
    let mut info = RunInfo::new("unbloat model", env!("CARGO_PKG_VERSION"), command);
    info.clock = Clock::Virtual;
    info.options = question.options(args);
    info.inputs = args.measured.iter().map(|path| input(path)).collect();
    info
}
