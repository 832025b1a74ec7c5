//! How fast, in how much memory: unbloat and others in turns on the same captures.

mod contestants;
mod goals;
mod machine;
mod render;
mod result;

use crate::captures::{RECIPES, path_of};
use crate::error::{BenchError, at};
use crate::process;
use crate::{peak, walk};
use contestants::{Binaries, CONTESTANTS, Contestant, Program, UNBLOAT};
use machine::Machine;
use result::{Capture, Flood, Memory, Row, SpeedResult, median, paired};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What to measure.
pub struct SpeedParams {
    /// Folder of captures, made already.
    pub data: PathBuf,
    /// Folder for results.
    pub runs: PathBuf,
    pub unbloat: PathBuf,
    pub rounds: u32,
    /// Flows of the SYN flood.
    pub flood: u32,
    /// Only these captures, if any are named.
    pub only: Vec<String>,
}

pub fn measure(params: &SpeedParams) -> Result<(), BenchError> {
    let bench = std::env::current_exe().map_err(at(Path::new("this program")))?;
    let binaries = Binaries {
        unbloat: &params.unbloat,
        bench: &bench,
    };
    let mut rows = rows(params);
    let mut loads = Vec::new();
    for round in 0..params.rounds {
        loads.push(machine::load());
        for (row, contestant) in &mut rows {
            if round < contestant.most_rounds && row.absent.is_none() {
                turn(params, &binaries, row, contestant)?;
            }
        }
        eprintln!("round {} of {} done", round + 1, params.rounds);
    }
    // Before anything is counted in this process, whose memory its children inherit for a moment.
    let flood = flood(params, &binaries)?;
    let mut result = SpeedResult {
        date: jiff::Zoned::now().date().to_string(),
        machine: Machine::look(),
        rounds: params.rounds,
        loads,
        captures: captures(params)?,
        rows: rows.into_iter().map(|(row, _)| row).collect(),
        memory: Memory::default(),
        flood,
        goals: Vec::new(),
        whole_study_cpu_minutes: None,
    };
    derive(&mut result);
    result.memory = memory(&result);
    result.goals = goals::judge(&result);
    save(params, &result)
}

fn is_wanted(params: &SpeedParams, capture: &str) -> bool {
    params.only.is_empty() || params.only.iter().any(|name| name == capture)
}

fn rows(params: &SpeedParams) -> Vec<(Row, &'static Contestant)> {
    let mut rows = Vec::new();
    let names = RECIPES.iter().map(|r| r.name).chain(["empty"]);
    for name in names.filter(|name| is_wanted(params, name)) {
        for contestant in CONTESTANTS.iter().filter(|c| c.captures.contains(&name)) {
            let mut row = Row::new(name, contestant.name);
            if let Program::Debian(program, package) = contestant.program
                && !process::is_installed(program)
            {
                row.absent = Some(format!("absent; `apt-get install {package}`"));
            }
            rows.push((row, contestant));
        }
    }
    rows
}

/// One contestant's turn. One that fails drops out, and its row says why.
fn turn(
    params: &SpeedParams,
    binaries: &Binaries<'_>,
    row: &mut Row,
    contestant: &Contestant,
) -> Result<(), BenchError> {
    let scratch = tempfile::tempdir_in(&params.data).map_err(at(&params.data))?;
    let capture = path_of(&params.data, &row.capture);
    let mut command = contestant.command(binaries, &capture, &scratch.path().join("run"));
    match process::measure(command.current_dir(scratch.path())) {
        Ok(usage) => row.add(usage),
        Err(error) => row.absent = Some(error.to_string()),
    }
    Ok(())
}

fn captures(params: &SpeedParams) -> Result<Vec<Capture>, BenchError> {
    let wanted = RECIPES
        .iter()
        .filter(|recipe| is_wanted(params, recipe.name));
    wanted
        .map(|recipe| {
            let path = path_of(&params.data, recipe.name);
            let peak = peak::peak(&path)?;
            Ok(Capture {
                name: recipe.name.to_owned(),
                purpose: recipe.purpose.to_owned(),
                packets: walk::walk(&path)?.0,
                flows: peak.flows,
                peak_live_flows: peak.live,
                bytes: std::fs::metadata(&path).map_err(at(&path))?.len(),
            })
        })
        .collect()
}

/// Fills in what follows from the measurements.
fn derive(result: &mut SpeedResult) {
    let ours: Vec<(String, Vec<f64>)> = result
        .rows
        .iter()
        .filter(|row| row.contestant == UNBLOAT)
        .map(|row| (row.capture.clone(), row.cpu_s.clone()))
        .collect();
    for row in &mut result.rows {
        let capture = result.captures.iter().find(|c| c.name == row.capture);
        let packets = capture.map(|c| c.packets);
        let cpu_s = median(&row.cpu_s);
        row.packets_per_cpu_s = packets.zip(cpu_s).map(|(n, s)| n as f64 / s);
        let unbloat = ours.iter().find(|(name, _)| *name == row.capture);
        row.times_unbloat = unbloat.and_then(|(_, cpu)| paired(&row.cpu_s, cpu));
    }
    let rate = result
        .row("paper", UNBLOAT)
        .and_then(|row| row.packets_per_cpu_s);
    result.whole_study_cpu_minutes = rate.map(|rate| goals::STUDY_PACKETS / rate / 60.0);
}

fn memory(result: &SpeedResult) -> Memory {
    let rss = |capture| result.row(capture, UNBLOAT).and_then(Row::peak_rss);
    let (empty, many) = (rss("empty"), rss("many"));
    let (once, tenfold) = (rss("once"), rss("tenfold"));
    let million = rss("million");
    let live = |capture| Some(result.capture(capture)?.peak_live_flows as f64);
    let point = |capture, bytes: Option<u64>| Some((live(capture)?, bytes? as f64));
    let line = point("many", many).zip(point("million", million));
    let slope = line.map(|((x0, y0), (x1, y1))| (y1 - y0) / (x1 - x0));
    let charged = point("many", many).zip(empty);
    let growth = tenfold
        .zip(once)
        .map(|(ten, one)| (ten as f64 / one as f64 - 1.0) * 100.0);
    Memory {
        empty_rss_bytes: empty,
        many_rss_bytes: many,
        million_rss_bytes: million,
        bytes_per_live_flow: slope,
        bytes_beside_flows: line.zip(slope).map(|(((x, y), _), slope)| y - slope * x),
        charged_bytes_per_live_flow: charged.map(|((x, y), rest)| (y - rest as f64) / x),
        once_rss_bytes: once,
        tenfold_rss_bytes: tenfold,
        tenfold_growth_pct: growth,
    }
}

/// The generator writes into a pipe that unbloat reads.
fn flood(params: &SpeedParams, binaries: &Binaries<'_>) -> Result<Flood, BenchError> {
    let mut source = Command::new(binaries.bench);
    source
        .args(["flood", &params.flood.to_string()])
        .stdout(Stdio::piped());
    let mut source = process::spawn(&mut source)?;
    let pipe = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let said_path = params.data.join("flood.stderr");
    let said_file = std::fs::File::create(&said_path).map_err(at(&said_path))?;
    let mut command = Command::new(binaries.unbloat);
    command.args(["analyze", "-", "--no-run", "--quiet"]);
    command.stdin(pipe).stdout(Stdio::null()).stderr(said_file);
    let begun = Instant::now();
    let usage =
        process::spawn(&mut command).and_then(|child| process::wait(&child, begun, "unbloat"));
    // Gone already, unless unbloat died.
    source
        .kill()
        .and_then(|()| source.wait())
        .map_err(at(binaries.bench))?;
    let said = std::fs::read_to_string(&said_path).map_err(at(&said_path))?;
    Ok(Flood {
        flows: params.flood,
        cpu_s: usage.as_ref().ok().map(|u| u.cpu_s),
        peak_rss_bytes: usage.as_ref().ok().map(|u| u.peak_rss_bytes),
        said: said
            .lines()
            .filter(|l| l.contains("closed early"))
            .map(str::to_owned)
            .collect(),
        failed: usage.err().map(|error| error.to_string()),
    })
}

fn save(params: &SpeedParams, result: &SpeedResult) -> Result<(), BenchError> {
    let text = render::markdown(result);
    println!("{text}");
    let folder = params
        .runs
        .join(format!("{}-{}", result.date, result.machine.slug()));
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    let json = serde_json::to_string_pretty(result).expect("plain data has a JSON form");
    for (name, content) in [("result.md", text), ("result.json", json + "\n")] {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(at(&path))?;
    }
    eprintln!("written to {}", folder.display());
    Ok(())
}
