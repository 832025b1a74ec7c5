//! Reads from a run's folder what can be compared.

use super::SideBySideError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use unbloat_compare::{Collector, Facts, Run, TABLES};
use unbloat_run::{Clock, RunInfo, RunReader, Status};
use unbloat_summary::{DirectionVerdict, Verdict, VerdictKind};
use unbloat_units::Delta;

/// Options that are results or repeat information found elsewhere.
const NO_SETTINGS: [&str; 7] = [
    "findings",
    "set",
    "points",
    "score",
    "lab.doubts",
    "lab.differences",
    "lab.trustworthy",
];

/// Maximum number of reported damage sentences.
const MOST_WARNINGS: usize = 5;

/// Reads what can be compared of the run in `dir`.
///
/// # Errors
/// The folder has no readable run, or a run without a table that can be compared.
pub fn load(dir: &Path) -> Result<Run, SideBySideError> {
    let reader = RunReader::open(dir)?;
    let info = reader.info();
    let mut collector = Collector::new(facts(dir, info)?, warm_ns(info));
    for table in reader.tables() {
        collector.has_table(&table.schema.name);
    }
    for (table, columns) in TABLES {
        add(&reader, &mut collector, dir, table, columns)?;
    }
    let run = collector.finish();
    match run.is_empty() {
        true => Err(SideBySideError::Empty {
            run: dir.to_owned(),
            tables: names(&reader),
        }),
        false => Ok(run),
    }
}

/// Passes the required columns of a table in batches; nothing if the run does not have the table.
fn add(
    reader: &RunReader,
    collector: &mut Collector,
    dir: &Path,
    table: &str,
    columns: &[&str],
) -> Result<(), SideBySideError> {
    let Ok(stored) = reader.table(table) else {
        return Ok(());
    };
    let has = |name: &&&str| {
        stored
            .schema
            .columns
            .iter()
            .any(|column| column.name == **name)
    };
    let known: Vec<&str> = columns.iter().filter(has).copied().collect();
    for batch in reader.read_columns(table, &known)? {
        let batch = batch?;
        let added = collector.add(table, batch.names(), batch.columns(), batch.len());
        added.map_err(|error| SideBySideError::Compare {
            run: dir.to_owned(),
            error,
        })?;
    }
    Ok(())
}

fn names(reader: &RunReader) -> String {
    let names: Vec<&str> = reader
        .tables()
        .iter()
        .map(|table| table.schema.name.as_str())
        .collect();
    names.join(", ")
}

/// Results of scenarios exclude the warm-up, so their series must exclude it here too.
fn warm_ns(info: &RunInfo) -> i64 {
    let text = info.options.get("scenario.warmup").and_then(Value::as_str);
    let span = text.and_then(|text| text.parse::<Delta>().ok());
    span.map_or(0, Delta::as_ns)
}

fn facts(dir: &Path, info: &RunInfo) -> Result<Facts, SideBySideError> {
    let verdict = Verdict::of_run(&info.verdict).map_err(|error| SideBySideError::Verdict {
        run: dir.to_owned(),
        error,
    })?;
    let told = verdict.iter().flat_map(|verdict| {
        let directions = verdict.by_weight().into_iter();
        directions.filter_map(|d| Some((d.direction.name().to_owned(), standing_ms(d)?)))
    });
    Ok(Facts {
        name: dir.display().to_string(),
        clock: clock(info.clock).to_owned(),
        settings: settings(info),
        warnings: warnings(info),
        standing_ms: told.collect(),
        verdict: info.headline().map(str::to_owned),
    })
}

/// Zero if there was no standing queue, `None` if unknown.
fn standing_ms(direction: &DirectionVerdict) -> Option<f64> {
    match direction.kind {
        VerdictKind::Bloated | VerdictKind::Slight => direction.standing_p50_ms,
        VerdictKind::Clean => Some(0.0),
        VerdictKind::OtherDelay | VerdictKind::NotTested | VerdictKind::CannotTell => None,
    }
}

fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Capture => "the capture's",
        Clock::Virtual => "virtual",
        Clock::Real => "real",
    }
}

fn settings(info: &RunInfo) -> BTreeMap<String, String> {
    let inputs: Vec<&str> = info
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect();
    let own = [
        ("program", Some(info.program.clone())),
        ("version", Some(info.version.clone())),
        ("schema_version", Some(info.schema_version.to_string())),
        ("seed", info.seed.map(|seed| seed.to_string())),
        ("kernel", info.kernel.clone()),
        (
            "input",
            Some(inputs.join(", ")).filter(|names| !names.is_empty()),
        ),
    ];
    let own = own
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let options = info
        .options
        .iter()
        .filter(|(name, value)| !NO_SETTINGS.contains(&name.as_str()) && !value.is_null());
    // A component's kind may be written either way: queue = "codel", queue = { kind = "codel" }.
    let options = options.map(|(name, value)| {
        let name = name.strip_suffix(".kind").unwrap_or(name);
        (name.to_owned(), plain(value))
    });
    options.chain(own).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Reasons why the run is incomplete.
fn warnings(info: &RunInfo) -> Vec<String> {
    let status = match info.status {
        Status::Complete => None,
        Status::Interrupted => Some("was stopped before its end.".to_owned()),
        Status::Damaged => Some(
            "its input was cut or corrupt; it covers only the part before the damage.".to_owned(),
        ),
    };
    let lost = (info.lost_packets > 0).then(|| {
        format!(
            "the kernel dropped {} packets of the live capture.",
            info.lost_packets
        )
    });
    let evicted = (info.evicted_flows > 0).then(|| {
        format!(
            "{} flows were closed early because of the memory limit.",
            info.evicted_flows
        )
    });
    let told = info
        .damage
        .iter()
        .chain(&info.left_out)
        .take(MOST_WARNINGS)
        .cloned();
    [status, lost, evicted]
        .into_iter()
        .flatten()
        .chain(told)
        .collect()
}
