//! `unbloat lab run`: runs a scenario with the kernel's TCP.

use super::live::Live;
use super::virtually::{VirtualLab, own_arguments};
use crate::analyze;
use crate::exit::{Exit, Failure};
use crate::experiment::{self, Common};
use crate::print::note;
use crate::recovery;
use crate::stop::stop_on_ctrl_c;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use unbloat_api::experiment::{Came, Progress, Runner};
use unbloat_experiment::outcome::Snapshot;
use unbloat_experiment::scenario::Experiment;
use unbloat_lab::{Beside, Captures, Options, Ran, TcpSample, Timing, lab_results};
use unbloat_run::{Clock, runs_dir};
use unbloat_table::{Row, Table, columns};
use unbloat_units::{Delta, Direction};

/// Run a scenario with the kernel's TCP over emulated links: in real time (needs root) or virtual time.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat lab run scenarios/bulk-and-call.toml
  unbloat lab run scenarios/bulk-and-call.toml --set link.down.queue=fq_codel
  unbloat lab run scenarios/lte-download.toml --capture headers --analyze
  unbloat lab run scenarios/bulk-and-call.toml \\
    --exec 'client: ping -i 0.2 server.lab'
  unbloat lab run --virtual scenarios/bulk-and-call.toml \\
    --set 'link.down.queue={ kernel = \"fq_codel\" }'
  unbloat lab run scenarios/home-line-sqm.toml --live
Scenarios, queues and links are those of `unbloat sim`. The results of the subject `lab` are the emulator's lateness and CPU
load; a run in which it was too late, or in which hosts lost packets that the path did not drop, is reported as not
trustworthy. With [score] in the scenario the exit code is 4 if a bound is exceeded.")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,

    /// Run in virtual time, in a separate kernel (see `lab kernel`): fast, independent of the machine's load, and on all cores
    /// for a sweep
    #[arg(long = "virtual", conflicts_with_all = ["live", "live_output"])]
    is_virtual: bool,

    /// Run a command in the network of a host during the whole run; other hosts are called NAME.lab (may be repeated)
    #[arg(long, value_name = "HOST: COMMAND")]
    pub exec: Vec<Beside>,

    /// Capture at each host, at both ends of the path and between its hops: writes pcap files, path-packets.csv with the waits
    /// of each packet and path-drops.csv with the packets that were lost, to the run's folder
    #[arg(long, value_name = "CAPTURE", conflicts_with = "no_run")]
    capture: Option<Capture>,

    /// Analyse each capture with `unbloat analyze`, into a subfolder of the run
    #[arg(long, conflicts_with = "no_run")]
    analyze: bool,

    #[command(flatten)]
    live: Live,
}

/// How much of each packet is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Capture {
    /// The first 256 bytes
    Headers,
    /// Everything
    Full,
}

impl Capture {
    fn snap_len(self) -> u32 {
        match self {
            Capture::Headers => 256,
            Capture::Full => 262_144,
        }
    }
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let plan = experiment::plan(&args.common)?;
    let capture = args.capture.or(args.analyze.then_some(Capture::Headers));
    if capture.is_some() && (plan.runs() > 1 || !args.common.run.is_wanted(&args.common.print)) {
        return Err("captures need a single run with a folder: omit --repeats, [sweep] and arrays in --set, and give --out if --format is given".into());
    }
    // Must run before the first thread.
    let _guard = (!args.is_virtual).then(recovery::guarded).transpose()?;
    let stop = stop_on_ctrl_c()?;
    let captures = capture.map(|capture| captures(&args.common, capture));
    let captures = captures.transpose()?;
    let into = captures.as_ref().map(|(_, captures)| captures.clone());
    let (exit, dir) = if args.is_virtual {
        let lab = VirtualLab::new(&plan, own_arguments()?, into)?;
        experiment::run(&args.common, &plan, &lab, &stop)?
    } else {
        let lab = Lab {
            live: args.live.clone(),
            captures: into,
            beside: args.exec.clone(),
        };
        // The progress bar and the live view cannot share a terminal.
        let mut common = args.common.clone();
        common.quiet |= args.live.takes_terminal();
        experiment::run(&common, &plan, &lab, &stop)?
    };
    if let (Some((_, captures)), Some(dir)) = (&captures, &dir) {
        keep(captures, dir, args.analyze)?;
    }
    Ok(exit)
}

/// A temporary folder for captures, on the file system of the run's folder, which is created last.
fn captures(args: &Common, capture: Capture) -> Result<(TempDir, Captures), Failure> {
    let failed = |error| format!("cannot write the output: {error}");
    let given = args.run.out.as_deref().and_then(Path::parent);
    let parent = match given {
        None => runs_dir(),
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
    };
    std::fs::create_dir_all(&parent).map_err(failed)?;
    let folder = tempfile::Builder::new()
        .prefix(".captures-")
        .tempdir_in(parent);
    let folder = folder.map_err(failed)?;
    let captures = Captures {
        folder: folder.path().to_owned(),
        snap_len: capture.snap_len(),
        hosts: None,
    };
    Ok((folder, captures))
}

/// Moves captures into the run's folder and analyses them on request.
fn keep(captures: &Captures, dir: &Path, analyze: bool) -> Result<(), Failure> {
    let failed = |error| format!("cannot write the output: {error}");
    let mut names = Vec::new();
    for entry in captures.folder.read_dir().map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    for name in names {
        let file = dir.join(&name);
        std::fs::rename(captures.folder.join(&name), &file).map_err(failed)?;
        note!("capture {}", file.display());
        if analyze
            && file
                .extension()
                .is_some_and(|extension| extension == "pcap")
        {
            let out = dir
                .join("analyze")
                .join(file.file_stem().unwrap_or_default());
            std::fs::create_dir_all(dir.join("analyze")).map_err(failed)?;
            analyze_capture(&file, &out).map_err(failed)?;
        }
    }
    Ok(())
}

/// Analyses a capture. A damaged one is an error.
fn analyze_capture(file: &Path, out: &Path) -> std::io::Result<()> {
    let done = analyze::as_process(file, out)?;
    match done.status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )),
    }
}

/// Runs experiments on this host, in real time.
#[derive(Default)]
pub struct Lab {
    live: Live,
    captures: Option<Captures>,
    beside: Vec<Beside>,
}

impl Runner<Failure> for Lab {
    fn command(&self) -> &'static str {
        "unbloat lab run"
    }

    fn stem(&self) -> &'static str {
        "lab"
    }

    fn clock(&self) -> Clock {
        Clock::Real
    }

    fn kernel(&self) -> Option<String> {
        Some(unbloat_lab::kernel())
    }

    /// Parallel runs would delay each other.
    fn at_a_time(&self) -> usize {
        1
    }

    fn is_real_time(&self) -> bool {
        true
    }

    fn run(
        &self,
        experiment: &Experiment,
        index: usize,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Option<Came>, Failure> {
        let is_watched = progress.is_shown() || self.live.is_wanted();
        let ran = self.live.during(&experiment.name, stop, |tell| {
            let watcher = |snapshot: &Snapshot| {
                progress.at(snapshot.at);
                tell(snapshot);
            };
            let options = Options {
                timing: Timing::Spin,
                has_offloads: true,
                keeps_series: experiment.keeps_series,
                captures: self.captures.clone(),
                beside: self.beside.clone(),
                watcher: is_watched.then_some(&watcher),
            };
            unbloat_lab::run(experiment, &options, stop)
        });
        let ran = ran.map_err(|error| format!("cannot write the output: {error}"))??;
        Ok(Some(came(experiment, ran, index)))
    }
}

/// For tables and `run.json`.
pub fn came(experiment: &Experiment, ran: Ran, run: usize) -> Came {
    let doubts = ran.verdict.doubts();
    let notes = doubts
        .iter()
        .map(|doubt| format!("NOT TRUSTWORTHY  {doubt}"));
    let differences = ran
        .differences
        .iter()
        .map(|what| format!("DIFFERS  {what}"));
    let mut came = Came {
        notes: notes.chain(differences).collect(),
        facts: facts(experiment, &ran),
        is_cut: ran.is_cut,
        ..Came::of(&ran.outcomes, run)
    };
    came.results.extend(lab_results(&ran.verdict));
    came.tables.extend([
        TcpInfoRow::filled(ran.tcp.iter().map(|sample| tcp_row(experiment, sample))),
        LatenessRow::filled(lateness_rows(&ran)),
    ]);
    came
}

/// Conditions, for `run.json`.
fn facts(experiment: &Experiment, ran: &Ran) -> Vec<(String, Value)> {
    let controls = experiment.flows.iter().zip(&ran.controls);
    let controls = controls.map(
        |(flow, [server, client])| json!({ "flow": flow.name, "server": server, "client": client }),
    );
    let privileges = ran.verdict.emulator.privileges;
    let mut facts = vec![
        (
            "lab.trustworthy".to_owned(),
            json!(ran.verdict.is_trustworthy()),
        ),
        ("lab.doubts".to_owned(), json!(ran.verdict.doubts())),
        ("lab.differences".to_owned(), json!(ran.differences)),
        (
            "lab.congestion_controls".to_owned(),
            json!(controls.collect::<Vec<_>>()),
        ),
        (
            "lab.real_time_class".to_owned(),
            json!(privileges.is_realtime),
        ),
    ];
    for (host, settings) in &ran.settings {
        let settings = settings
            .iter()
            .map(|(key, value)| (key.clone(), json!(value)));
        let settings: serde_json::Map<_, _> = settings.collect();
        facts.push((format!("lab.settings.{host}"), Value::Object(settings)));
    }
    facts
}

columns! {
    pub struct TcpInfoRow<'a>: tcp_info_series = "one row per sample and connection: what the kernel says of its sender (TCP_INFO; a single run of the lab only)" {
        time_ns: i64 = "time of the sample since the run began",
        flow: &'a str = "name of the flow",
        connection: u32 = "number of the connection in the run",
        direction: Direction = "direction of the data: down or up",
        state: &'a str = "of congestion avoidance: open, disorder, cwr, recovery or loss",
        cwnd_bytes: u64 = "congestion window",
        ssthresh_bytes: Option<u64> = "slow start threshold; null while there is none",
        in_flight_bytes: u64 = "sent and not acknowledged",
        unsent_bytes: u64 = "written and not sent",
        peer_window_bytes: u64 = "window that the receiver offers",
        srtt_ms: f64 = "smoothed round-trip time",
        rtt_variation_ms: f64 = "its mean deviation",
        min_rtt_ms: Option<f64> = "minimum of the recent round-trip times; null before the first",
        rto_ms: f64 = "retransmission timeout",
        delivery_rate_bps: Option<f64> = "of the last round; null before the first",
        pacing_rate_bps: Option<f64> = "null where it does not pace",
        delivered_segments: u64 = "so far",
        retransmissions: u64 = "so far",
        marks: u64 = "segments that the receiver reported as ECN-marked, so far",
        busy_ms: f64 = "time with something to send, so far",
        window_limited_ms: f64 = "part of it in which the peer's receive window was the limit",
    }

    pub struct LatenessRow<'a>: lateness = "one row per thread of the lab and step of its distribution: how late it was (a single run of the lab only)" {
        thread: &'a str = "path: packets behind their logical departures; apps: wake-ups of workloads",
        up_to_us: f64 = "this late, or less",
        count: u64 = "so often, since the step before",
    }
}

/// The tables that only a lab run has.
pub fn tables() -> [Table; 2] {
    [TcpInfoRow::table(), LatenessRow::table()]
}

fn tcp_row<'a>(experiment: &'a Experiment, sample: &TcpSample) -> TcpInfoRow<'a> {
    let info = &sample.info;
    TcpInfoRow {
        time_ns: sample.at.as_ns(),
        flow: &experiment.flows[sample.flow as usize].name,
        connection: sample.conn,
        direction: sample.sender,
        state: info.congestion_state(),
        cwnd_bytes: info.cwnd().as_u64(),
        ssthresh_bytes: info.ssthresh().map(|bytes| bytes.as_u64()),
        in_flight_bytes: info.in_flight().as_u64(),
        unsent_bytes: info.unsent().as_u64(),
        peer_window_bytes: info.peer_window().as_u64(),
        srtt_ms: info.rtt().as_ms(),
        rtt_variation_ms: info.rtt_variation().as_ms(),
        min_rtt_ms: info.min_rtt().map(Delta::as_ms),
        rto_ms: info.retransmission_timeout().as_ms(),
        delivery_rate_bps: info.delivery_rate().map(|rate| rate.as_bps_f64()),
        pacing_rate_bps: info.pacing_rate().map(|rate| rate.as_bps_f64()),
        delivered_segments: info.delivered_segments(),
        retransmissions: info.retransmissions(),
        marks: info.marked_segments(),
        busy_ms: info.busy().as_ms(),
        window_limited_ms: info.window_limited().as_ms(),
    }
}

fn lateness_rows(ran: &Ran) -> Vec<LatenessRow<'static>> {
    let mut rows = Vec::new();
    let threads = [
        ("path", &ran.verdict.emulator.lateness_us),
        ("apps", &ran.verdict.app_lateness_us),
    ];
    for (thread, lateness) in threads {
        let mut before = 0;
        for (up_to_us, count) in lateness.steps() {
            rows.push(LatenessRow {
                thread,
                up_to_us,
                count: count - before,
            });
            before = count;
        }
    }
    rows
}
