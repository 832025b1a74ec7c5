//! Makes beds, and scores the analyser against them.

use clap::{Parser, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unbloat_units::Delta;
use unbloat_validate::{
    BEDS, Bed, BedParams, QUANTITIES, Score, Tools, ValidateError, document, make, sender, table,
};

/// A bed to score.
#[derive(Clone, Copy)]
struct Plan {
    bed: &'static str,
    secs: i64,
    /// Added to the seed. Thresholds were chosen while looking at beds of seed 1; beds of other seeds
    /// are held out.
    later: u64,
}

const fn plan(bed: &'static str, secs: i64, later: u64) -> Plan {
    Plan { bed, secs, later }
}

const PLANS: [Plan; 13] = [
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
            0 => self.bed.to_owned(),
            later => format!("{}-seed-{}", self.bed, seed + later),
        }
    }
}

/// Score the analyser against runs of the lab that record what happened (needs root).
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make beds and score the analyser against them
    Score(ScoreArgs),
    /// Make one bed and leave its captures and its record in a folder
    #[command(after_help = beds())]
    Bed(BedArgs),
    /// Log what the kernel of this network namespace does into a folder with the compiled programs; `bed` starts it
    #[command(hide = true)]
    Sender { folder: PathBuf },
}

#[derive(clap::Args)]
struct ScoreArgs {
    /// Folder with a folder for each bed, as `bed` leaves them (of other seeds: rto-seed-2); without
    /// it beds are made
    #[arg(long)]
    bed: Option<PathBuf>,
    /// Only these beds
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Seed of the beds that are made
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not run tshark and tcptrace; the handshake split needs tshark and is left out too
    #[arg(long)]
    no_tools: bool,
    /// Where to write the report [none: only the table is printed]
    #[arg(long)]
    doc: Option<PathBuf>,
}

#[derive(clap::Args)]
struct BedArgs {
    /// Which bed; see the list below
    name: String,
    /// How long the clients are active
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=120))]
    secs: i64,
    /// The folder to write to; made if it is not there
    #[arg(long)]
    out: PathBuf,
    /// Decides rates, losses and what the clients ask for
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do without the log of the server's kernel, which needs clang, libbpf's headers and BTF
    #[arg(long)]
    no_sender: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse().action) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("unbloat-validate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every bound was kept.
fn run(action: &Action) -> Result<bool, ValidateError> {
    match action {
        Action::Score(args) => return score(args),
        Action::Bed(args) => bed(args)?,
        Action::Sender { folder } => sender::log(folder)?,
    }
    Ok(true)
}

fn bed(args: &BedArgs) -> Result<(), ValidateError> {
    let program = this_program()?;
    let report = make(&BedParams {
        name: &args.name,
        seed: args.seed,
        length: Delta::secs(args.secs),
        folder: &args.out,
        sender_log: (!args.no_sender).then_some(&program),
    })?;
    println!("{report:#?}");
    println!("written to {}", args.out.display());
    Ok(())
}

fn this_program() -> Result<PathBuf, ValidateError> {
    std::env::current_exe().map_err(|source| ValidateError::File {
        path: "this program".into(),
        source,
    })
}

/// Whether every bound was kept.
fn score(args: &ScoreArgs) -> Result<bool, ValidateError> {
    let mut scores = Vec::new();
    let chosen = |name: &str| args.only.is_empty() || args.only.iter().any(|one| one == name);
    let plans: Vec<Plan> = PLANS.into_iter().filter(|plan| chosen(plan.bed)).collect();
    for &plan in &plans {
        eprintln!("{} ...", plan.name(args.seed));
        scores.extend(score_one(args, plan)?);
    }
    let order = |score: &Score| QUANTITIES.iter().position(|q| q.name == score.quantity);
    scores.sort_by_key(order);
    print!("{}", table(&scores));
    scores
        .iter()
        .filter(|s| !s.is_hit())
        .for_each(|s| println!("{s}"));
    if let Some(path) = &args.doc {
        let text = document(&scores, &command(args), &listed(&plans, args));
        fs::write(path, text).map_err(|source| ValidateError::File {
            path: path.clone(),
            source,
        })?;
    }
    Ok(scores.iter().all(Score::is_hit))
}

fn score_one(args: &ScoreArgs, plan: Plan) -> Result<Vec<Score>, ValidateError> {
    let tools = if args.no_tools {
        Tools::LeaveOut
    } else {
        Tools::Ask
    };
    let name = plan.name(args.seed);
    let scored = |folder: &Path| {
        let bed = Bed::read(plan.bed, folder, tools)?;
        let scores = QUANTITIES.iter().flat_map(|quantity| quantity.score(&bed));
        let of_this_bed = |score| Score {
            bed: name.clone(),
            ..score
        };
        Ok(scores.map(of_this_bed).collect())
    };
    if let Some(beds) = &args.bed {
        return scored(&beds.join(&name));
    }
    let folder = tempfile::tempdir().map_err(|source| ValidateError::File {
        path: std::env::temp_dir(),
        source,
    })?;
    let report = make(&BedParams {
        name: plan.bed,
        seed: args.seed + plan.later,
        length: Delta::secs(plan.secs),
        folder: folder.path(),
        sender_log: Some(&this_program()?),
    })?;
    for doubt in &report.doubts {
        eprintln!("{name}: {doubt}");
    }
    scored(folder.path())
}

fn command(args: &ScoreArgs) -> String {
    let only = match &args.only[..] {
        [] => String::new(),
        only => format!(" --only {}", only.join(",")),
    };
    let beds = match args.bed {
        Some(_) => "--bed DIR".to_owned(),
        None => format!("--seed {}", args.seed),
    };
    format!("cargo run --release -p unbloat-validate -- score{only} {beds} --doc docs/truth.md")
}

/// Beds that were made before say in their `run.json` how.
fn listed(plans: &[Plan], args: &ScoreArgs) -> String {
    let how = match args.bed {
        Some(_) => "generated before by `unbloat-validate bed` for these lengths".to_owned(),
        None => format!("generated for this run with seed {}", args.seed),
    };
    let beds: Vec<String> = plans
        .iter()
        .map(|plan| format!("{} {} s", plan.name(args.seed), plan.secs))
        .collect();
    format!(
        "{}, {how}; without `--bed` the command generates them. Thresholds were chosen on beds of seed 1 \
        only: beds with another seed in their name are held out",
        beds.join(", ")
    )
}

fn beds() -> String {
    let lines = BEDS.iter();
    let lines = lines.map(|bed| format!("  {:<10} {}\n", bed.name, bed.purpose));
    format!("Beds:\n{}", lines.collect::<String>())
}
