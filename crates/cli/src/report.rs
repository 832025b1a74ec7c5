//! `unbloat report`: redraws the report of a run, with a different selection of flows.

use crate::confine::{May, confine};
use crate::exit::{Exit, Failure, cannot};
use crate::print::note;
use crate::run_name::run_parser;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use unbloat_html::{RenderOptions, render};
use unbloat_os::files::{self, Replacement};
use unbloat_run::RunReader;

/// Draw the report of a run, or the timeline of one of its flows.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # timeline of one flow: report-4711.html
  unbloat report latest --flow 4711
  unbloat report latest --max-timelines 1000 --output big.html")]
pub struct Args {
    /// Run: its name, `latest`, or its folder
    #[arg(value_parser = run_parser())]
    run: PathBuf,

    /// Draw only the timeline of this flow
    #[arg(long, value_name = "FLOW_ID")]
    flow: Option<u64>,

    /// Maximum number of flows with a timeline. Flows that suffered or caused bufferbloat come first
    #[arg(long, value_name = "N", default_value_t = 200)]
    max_timelines: usize,

    /// File to write [default: report.html in the run folder; with --flow: report-FLOW_ID.html]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let writes = args.output.as_deref().unwrap_or(&args.run);
    confine(&[(May::Read, args.run.as_path()), (May::Write, writes)]);
    let reader = RunReader::open(&args.run)?;
    let name = args
        .flow
        .map_or("report.html".to_owned(), |id| format!("report-{id}.html"));
    let path = args.output.clone().unwrap_or_else(|| args.run.join(name));
    let options = RenderOptions {
        flows: args.max_timelines,
        only_flow: args.flow,
        run_name: args.run.display().to_string(),
    };
    let failed = cannot("write", &path);
    let rendered = match &args.output {
        Some(given) => {
            let mut out = BufWriter::new(files::create_named(given).map_err(failed)?);
            let rendered = render(&reader, &mut out, &options)?;
            out.flush().map_err(failed)?;
            rendered
        }
        // The run's folder may be somebody else's.
        None => {
            let mut out = Replacement::of(&path).map_err(failed)?;
            let rendered = render(&reader, &mut out, &options)?;
            out.put().map_err(failed)?;
            rendered
        }
    };
    note!(
        "{}: {} of {} flows drawn",
        path.display(),
        rendered.flows,
        rendered.flows_total
    );
    Ok(Exit::Complete)
}
