//! Scores the analyser against truth beds and writes `docs/truth.md`.

use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unbloat_score::{Bed, QUANTITIES, Score, ScoreError, Tools, document, table};

/// A bed to score.
#[derive(Clone, Copy)]
struct Plan {
    scenario: &'static str,
    secs: u64,
    /// Added to the seed. Thresholds were chosen while looking at beds of seed 1; beds of other seeds
    /// are held out.
    later: u64,
}

const fn plan(scenario: &'static str, secs: u64, later: u64) -> Plan {
    Plan {
        scenario,
        secs,
        later,
    }
}

const BEDS: [Plan; 13] = [
    plan("bulk", 30, 0),
    plan("lossy", 40, 0),
    plan("steps", 60, 0),
    plan("ticks-1", 20, 0),
    plan("ticks-4", 20, 0),
    plan("ticks-10", 20, 0),
    plan("promotion", 45, 0),
    plan("promotion", 45, 1),
    plan("rto", 90, 0),
    plan("rto", 90, 1),
    plan("rto", 90, 2),
    plan("upload", 30, 0),
    plan("mix", 60, 0),
];

impl Plan {
    /// Its name in the report and that of its folder.
    fn name(self, seed: u64) -> String {
        match self.later {
            0 => self.scenario.to_owned(),
            later => format!("{}-seed-{}", self.scenario, seed + later),
        }
    }
}

/// Score the analyser against what truth beds recorded (needs root to make beds).
#[derive(Parser)]
struct Arguments {
    /// Folder with a folder for each bed, as `truth-bed` leaves them (of other seeds: rto-seed-2);
    /// without it beds are made.
    #[arg(long)]
    bed: Option<PathBuf>,
    /// Only beds of these scenarios.
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
    let beds: Vec<Plan> = BEDS.into_iter().filter(|p| chosen(p.scenario)).collect();
    for &plan in &beds {
        eprintln!("{} ...", plan.name(arguments.seed));
        scores.extend(score(arguments, plan)?);
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

fn score(arguments: &Arguments, plan: Plan) -> Result<Vec<Score>, ScoreError> {
    let tools = if arguments.no_tools {
        Tools::LeaveOut
    } else {
        Tools::Ask
    };
    let name = plan.name(arguments.seed);
    let scored = |folder: &Path| {
        let bed = Bed::read(plan.scenario, folder, tools)?;
        let scores = QUANTITIES.iter().flat_map(|quantity| quantity.score(&bed));
        let of_this_bed = |score| Score {
            bed: name.clone(),
            ..score
        };
        Ok(scores.map(of_this_bed).collect())
    };
    if let Some(beds) = &arguments.bed {
        return scored(&beds.join(&name));
    }
    let folder = tempfile::tempdir().map_err(|source| ScoreError::File {
        path: std::env::temp_dir(),
        source,
    })?;
    let seed = arguments.seed + plan.later;
    Bed::make(plan.scenario, plan.secs, seed, folder.path())?;
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
fn listed(beds: &[Plan], arguments: &Arguments) -> String {
    let how = match arguments.bed {
        Some(_) => "generated before by `truth-bed` for these lengths".to_owned(),
        None => format!("generated for this run with seed {}", arguments.seed),
    };
    let beds: Vec<String> = beds
        .iter()
        .map(|plan| format!("{} {} s", plan.name(arguments.seed), plan.secs))
        .collect();
    format!(
        "{}, {how}; without `--bed` the command generates them. Thresholds were chosen on beds of seed 1 \
        only: beds with another seed in their name are held out",
        beds.join(", ")
    )
}
