//! `unbloat pages`: what packages put beside the program, made from its options.

use crate::command::tree;
use crate::exit::{Exit, Failure, cannot};
use clap_complete::Shell;
use std::io;
use std::path::PathBuf;

/// Write manual pages and completions for bash, zsh and fish.
#[derive(clap::Args)]
pub struct Args {
    /// Folder to write them to
    #[arg(value_name = "FOLDER")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    write(args).map_err(cannot("write to", &args.out))?;
    Ok(Exit::Complete)
}

fn write(args: &Args) -> io::Result<()> {
    std::fs::create_dir_all(&args.out)?;
    clap_mangen::generate_to(tree(), &args.out)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut tree(), "unbloat", &args.out)?;
    }
    Ok(())
}
