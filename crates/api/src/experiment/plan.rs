//! Reads files and options into a plan of runs.

use super::PlanError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::path::{Path, PathBuf};
use unbloat_experiment::scenario::score::{self, Bound};
use unbloat_experiment::scenario::toml::{Error, Node, Origin, Value};
use unbloat_experiment::scenario::{Experiment, MAX_SERIES_ROWS, Sweep, build};
use unbloat_os::files;

/// Maximum size of a scenario or trace; larger files are rejected.
const MAX_BYTES: u64 = 256 << 20;

/// Everything that the runs need. Every point has been built once, so errors show before the first run.
pub struct Plan {
    /// The scenario.
    pub file: PathBuf,
    /// Points and repeats.
    pub sweep: Sweep,
    /// Bounds of `[score]`.
    pub bounds: Vec<Bound>,
    /// The experiment of each point.
    pub points: Vec<Experiment>,
    /// Results that the text shows, as SUBJECT.METRIC; all if empty.
    pub show: Vec<String>,
    /// Series are kept of every run.
    pub keeps_series: bool,
    /// The trace files that the scenario names.
    pub traces: Vec<PathBuf>,
    /// Every value of the scenario by its key path, except those that a sweep varies.
    pub scenario: Vec<(String, String)>,
    /// The assignments that changed the scenario, as given.
    pub set: Vec<String>,
}

impl Plan {
    /// Number of runs: points times repeats.
    pub fn runs(&self) -> usize {
        self.points.len() * self.sweep.repeats as usize
    }

    /// The experiment of a run: its point, with the seed of its repeat. All points use the same seeds, so that differences between
    /// points are not random.
    pub fn experiment(&self, run: usize) -> Experiment {
        let repeats = self.sweep.repeats as usize;
        let mut experiment = self.points[run / repeats].clone();
        experiment.seed = experiment.seed.wrapping_add((run % repeats) as u64);
        if repeats > 1 {
            let jitter = Experiment::REPEATED_START_JITTER;
            experiment.start_jitter.get_or_insert(jitter);
        }
        experiment.keeps_series = self.keeps_series;
        experiment
    }
}

/// What options change of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// Assignments `KEY=VALUE`; an array makes a sweep if the key takes a single value.
    pub set: &'a [String],
    /// Seed of the random numbers; the following repeats use the next numbers.
    pub seed: Option<u64>,
    /// Number of runs of each point.
    pub repeats: Option<u32>,
}

impl Plan {
    /// The plan of a scenario file.
    ///
    /// # Errors
    /// The file cannot be read, or what it says cannot be run; the error names the place.
    pub fn of_file(file: &Path, changes: &Changes<'_>) -> Result<Plan, PlanError> {
        let text = read(file).map_err(|error| PlanError::Read {
            file: file.display().to_string(),
            error,
        })?;
        let text = String::from_utf8(text).map_err(|_| PlanError::Scenario {
            file: file.display().to_string(),
            error: Error::new(
                Origin::Nowhere,
                "",
                "the file is not UTF-8 text; give a scenario in TOML",
            ),
        })?;
        Plan::of_text(file, &text, changes)
    }

    /// The plan of a scenario's text. Traces are relative to `file`, which need not exist.
    ///
    /// # Errors
    /// As [`Plan::of_file`].
    pub fn of_text(file: &Path, text: &str, changes: &Changes<'_>) -> Result<Plan, PlanError> {
        let fault = |error: Error| PlanError::Scenario {
            file: file.display().to_string(),
            error,
        };
        let mut scenario = Node::parse(text).map_err(fault)?;
        let bounds = score::take(&mut scenario).map_err(fault)?;
        let mut sweep = Sweep::take(&mut scenario).map_err(fault)?;
        for assignment in changes.set {
            sweep.set(&mut scenario, assignment).map_err(fault)?;
        }
        if let Some(repeats) = changes.repeats {
            sweep.repeat(repeats).map_err(fault)?;
        }
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let files = |name: &str| {
            let path = folder.join(name);
            let read = files::open_named(&path).and_then(|trace| contents(trace, &path));
            read.map_err(|error| error.to_string())
        };
        let points = (0..sweep.points()).map(|index| {
            let point = sweep.point(index).apply(&scenario)?;
            let mut experiment = build(&point, &files)?;
            if !experiment.takes_time() {
                let message = "the path has neither \"rate\" nor \"delay\"; set one of them";
                return Err(Error::new(Origin::Nowhere, "link", message));
            }
            experiment.seed = changes.seed.unwrap_or(experiment.seed);
            Ok(experiment)
        });
        let points = points.collect::<Result<Vec<_>, Error>>().map_err(fault)?;
        Ok(Plan {
            keeps_series: false,
            traces: traces(&scenario, &folder),
            scenario: fixed(&scenario, &sweep),
            file: file.to_owned(),
            sweep,
            bounds,
            points,
            show: Vec::new(),
            set: changes.set.to_vec(),
        })
    }

    /// Keeps the series of all runs, which are in memory until they are written.
    ///
    /// # Errors
    /// They have more rows than fit.
    pub fn keep_series(&mut self) -> Result<(), PlanError> {
        self.keeps_series = true;
        bound_series(self).map_err(|error| PlanError::Scenario {
            file: self.file.display().to_string(),
            error,
        })
    }
}

/// Series are kept until the run is written.
fn bound_series(plan: &Plan) -> Result<(), Error> {
    let rows: u64 = plan.points.iter().map(Experiment::series_rows).sum();
    let rows = rows.saturating_mul(u64::from(plan.sweep.repeats));
    // What a single run may have is checked where it is read.
    if plan.runs() == 1 || rows <= MAX_SERIES_ROWS {
        return Ok(());
    }
    let message = format!(
        "the series of all runs have {rows} rows; the limit is {MAX_SERIES_ROWS}; set a longer \"sample_every\" and \"interval\", or omit --series"
    );
    Err(Error::new(Origin::Nowhere, "scenario", message))
}

/// The values that are the same at every point.
fn fixed(scenario: &Node, sweep: &Sweep) -> Vec<(String, String)> {
    let is_varied = |path: &str| {
        let mut axes = sweep.axes.iter();
        axes.any(|axis| path.starts_with(axis.key.as_str()))
    };
    let mut leaves = scenario.leaves();
    leaves.retain(|(path, _)| !is_varied(path) && !path.starts_with("presets."));
    leaves
}

/// The trace files of the scenario.
fn traces(scenario: &Node, folder: &Path) -> Vec<PathBuf> {
    let directions = ["link.down", "link.up"].map(|key| scenario.get(key));
    let hops = directions.into_iter().flatten().flat_map(|direction| {
        let several = direction.get("hop").map(|hop| &hop.value);
        match several {
            Some(Value::Array(hops)) => hops.iter().collect(),
            _ => vec![direction],
        }
    });
    let named = hops.filter_map(|hop| hop.get("trace")?.as_text());
    named.map(|name| folder.join(name)).collect()
}

/// The contents of a file, unpacked if its name ends in `.gz`.
///
/// # Errors
/// The file cannot be read, or is larger than 256 MiB.
pub fn read(path: &Path) -> Result<Vec<u8>, std::io::Error> {
    contents(files::open_any(path)?, path)
}

fn contents(file: File, path: &Path) -> Result<Vec<u8>, std::io::Error> {
    match path.extension() {
        Some(ending) if ending == "gz" => files::all(MultiGzDecoder::new(file), MAX_BYTES),
        _ => files::all(file, MAX_BYTES),
    }
}
