//! `unbloat sim`: scenarios in virtual time.

mod args;
mod averages;
mod campaign;
mod info;
mod input;
mod rows;
mod text;

pub use args::Args;
pub use rows::tables;

use crate::exit::Exit;
use crate::output::{OutputError, Wanted, write_run};
use crate::stop::stop_on_ctrl_c;
use campaign::Campaign;

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("{file}: {error}")]
    Scenario {
        file: String,
        error: unbloat_scenario::text::Error,
    },
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot watch for Ctrl-C: {0}")]
    Signal(#[from] ctrlc::Error),
}

pub fn run(args: &Args) -> Result<Exit, SimError> {
    let plan = input::plan(args)?;
    let stop = stop_on_ctrl_c()?;
    let campaign = Campaign::run(&plan, args.threads(), args.quiet, &stop);
    let all = rows::all(&plan, &campaign);
    match args.format {
        Some(kind) => {
            let wanted = Wanted {
                table: &args.table,
                kind,
                rows: args.rows,
            };
            wanted.print(&all)?;
        }
        None => print!("{}", text::text(&plan, &campaign)),
    }
    if !args.no_run && (args.format.is_none() || args.out.is_some()) {
        let info = info::info(args, &plan, &campaign);
        let stem = plan.file.file_stem().unwrap_or_default().to_string_lossy();
        write_run(args.out.as_deref(), &format!("sim-{stem}"), &info, &all)?;
    }
    Ok(match () {
        () if campaign.is_cut => Exit::Interrupted,
        () if campaign.keeps_bounds() => Exit::Complete,
        () => Exit::OutOfBounds,
    })
}
