//! Scores the analyser against truth beds and writes `docs/truth.md`.

use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unbloat_score::{Bed, QUANTITIES, Score, ScoreError, Tools, document, table};

/// The beds and how many seconds each runs.
const BEDS: [(&str, u64); 10] = [
    ("bulk", 30),
    ("lossy", 40),
    ("steps", 60),
    ("ticks-1", 20),
    ("ticks-4", 20),
    ("ticks-10", 20),
    ("promotion", 45),
    ("rto", 90),
    ("upload", 30),
    ("mix", 60),
];

/// Score the analyser against what truth beds recorded (needs root to make beds).
#[derive(Parser)]
struct Arguments {
    /// Folder with a folder for each bed, as `truth-bed` leaves them; without it beds are made.
    #[arg(long)]
    bed: Option<PathBuf>,
    /// Only these beds.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Seed of the beds that are made.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not run tshark and tcptrace; the handshake split needs tshark and is left out too.
    #[arg(long)]
    no_tools: bool,
    /// Where to write the report [none: only the table is printed].
    #[arg(long)]
    doc: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("unbloat-score: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every bound was kept.
fn run(arguments: &Arguments) -> Result<bool, ScoreError> {
    let mut scores = Vec::new();
    let chosen = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|o| o == name);
    let beds: Vec<(&str, u64)> = BEDS.into_iter().filter(|bed| chosen(bed.0)).collect();
    for &(name, secs) in &beds {
        eprintln!("{name} ...");
        scores.extend(score(arguments, name, secs)?);
    }
    let order = |score: &Score| QUANTITIES.iter().position(|q| q.name == score.quantity);
    scores.sort_by_key(order);
    print!("{}", table(&scores));
    scores
        .iter()
        .filter(|s| !s.is_hit())
        .for_each(|s| println!("{s}"));
    if let Some(path) = &arguments.doc {
        let text = document(&scores, &command(arguments), &listed(&beds, arguments));
        fs::write(path, text).map_err(|source| ScoreError::File {
            path: path.clone(),
            source,
        })?;
    }
    Ok(scores.iter().all(Score::is_hit))
}

fn score(arguments: &Arguments, name: &str, secs: u64) -> Result<Vec<Score>, ScoreError> {
    let tools = if arguments.no_tools {
        Tools::LeaveOut
    } else {
        Tools::Ask
    };
    let scored = |folder: &Path| {
        let bed = Bed::read(name, folder, tools)?;
        Ok(QUANTITIES
            .iter()
            .flat_map(|quantity| quantity.score(&bed))
            .collect())
    };
    if let Some(beds) = &arguments.bed {
        return scored(&beds.join(name));
    }
    let folder = tempfile::tempdir().map_err(|source| ScoreError::File {
        path: std::env::temp_dir(),
        source,
    })?;
    Bed::make(name, secs, arguments.seed, folder.path())?;
    scored(folder.path())
}

fn command(arguments: &Arguments) -> String {
    let only = match &arguments.only[..] {
        [] => String::new(),
        only => format!(" --only {}", only.join(",")),
    };
    let beds = match arguments.bed {
        Some(_) => "--bed DIR".to_owned(),
        None => format!("--seed {}", arguments.seed),
    };
    format!("cargo run --release -p unbloat-score --{only} {beds} --doc docs/truth.md")
}

/// Beds that were made before say in their `run.json` how.
fn listed(beds: &[(&str, u64)], arguments: &Arguments) -> String {
    let how = match arguments.bed {
        Some(_) => "as made before by `truth-bed` for these lengths".to_owned(),
        None => format!("made for this with seed {}", arguments.seed),
    };
    let beds: Vec<String> = beds
        .iter()
        .map(|(name, secs)| format!("{name} {secs} s"))
        .collect();
    format!(
        "{}, {how}; without `--bed` the command makes them",
        beds.join(", ")
    )
}
