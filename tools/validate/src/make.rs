//! A bed: one run of the lab, and what is left of it in a folder.
//!
//! | file | |
//! |---|---|
//! | `monitor.pcap` | each packet as it passes the monitor (Ethernet), by the path's clock |
//! | `server.pcap` | each packet as the server's kernel hands it to its device or takes it from there |
//! | `path-packets.csv`, `path-drops.csv` | the path's own account of each packet |
//! | `connections.csv` | what the applications read, connection by connection |
//! | `rate.csv` | each change of a client's downlink |
//! | `sender.csv` | what the server's kernel did ([`crate::sender`]) |
//! | `scenario.toml`, `run.json` | what was run, and how well the lab did |

use crate::error::{ValidateError, at};
use crate::scenario::{Plan, START};
use crate::sender;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use unbloat_capture::{Input, PcapWriter, Record, Source, Trace};
use unbloat_experiment::scenario::{build, toml::Node};
use unbloat_lab::{Beside, Captures, Options, Ran, Timing};
use unbloat_units::{Both, Delta, Time};
use unbloat_wire::LinkType;

const SNAP_LEN: u32 = 128;
const ETHERNET: u16 = 1;
/// Locally administered addresses of the two sides of the monitored link, then IPv4.
const TOWARDS_CLIENT: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
const TOWARDS_SERVER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

/// What to make.
#[derive(Clone, Debug)]
pub struct BedParams<'a> {
    pub name: &'a str,
    pub seed: u64,
    /// How long the clients are active.
    pub length: Delta,
    pub folder: &'a Path,
    /// This program, which logs what the server's kernel does; none: nobody does (it needs clang, libbpf's headers and BTF).
    pub sender_log: Option<&'a Path>,
}

/// How a run went: `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BedReport {
    pub bed: String,
    pub seed: u64,
    pub length_s: f64,
    /// From which the path's times count, on the wall clock.
    pub zero_ns: i64,
    pub offered_packets: u64,
    pub delivered_packets: u64,
    /// On the path at the end.
    pub under_way_packets: u64,
    pub monitor_packets: u64,
    pub server_packets: u64,
    pub sender_events: u64,
    pub lateness_p99_us: f64,
    /// Why the lab's own times are not to be trusted. The path's logical times do not depend on it.
    pub doubts: Vec<String>,
    /// What the kernel did otherwise than the scenario says.
    pub differences: Vec<String>,
}

/// Runs a bed. Whatever it makes in the system is gone when this returns.
pub fn make(params: &BedParams<'_>) -> Result<BedReport, ValidateError> {
    let BedParams {
        name, seed, folder, ..
    } = *params;
    let plan = Plan::named(name, seed).ok_or_else(|| ValidateError::UnknownBed(name.to_owned()))?;
    fs::create_dir_all(folder).map_err(at(folder))?;
    let text = plan.text(name, params.length, seed);
    write(folder, "scenario.toml", &text)?;
    let experiment = build(&Node::parse(&text)?, &|file| Err(format!("no file {file}")))?;
    let beside = params.sender_log.map(|program| log_beside(program, folder));
    let options = Options {
        timing: Timing::Spin,
        has_offloads: false,
        keeps_series: true,
        captures: Some(Captures {
            folder: folder.to_owned(),
            snap_len: SNAP_LEN,
            hosts: Some(vec!["server".to_owned()]),
        }),
        beside: beside.transpose()?.into_iter().collect(),
        watcher: None,
    };
    let ran = unbloat_lab::run(&experiment, &options, &AtomicBool::new(false))?;
    let events = match params.sender_log {
        Some(_) => check_log(&ran, folder)?,
        None => 0,
    };
    write(folder, "connections.csv", &connections(&ran))?;
    write(folder, "rate.csv", &rates(&plan, ran.zero))?;
    let report = report(params, &ran, events)?;
    monitor(folder, &ran)?;
    let json = serde_json::to_string_pretty(&report).expect("numbers and texts are JSON");
    write(folder, "run.json", &json)?;
    Ok(report)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), ValidateError> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(at(&path))
}

/// The command that logs what the server's kernel does. The programs are compiled before the run begins.
fn log_beside(program: &Path, folder: &Path) -> Result<Beside, ValidateError> {
    let folder = fs::canonicalize(folder).map_err(at(folder))?;
    sender::compile(&folder)?;
    let quoted = |path: &Path| format!("'{}'", path.display());
    Ok(Beside {
        host: "server".to_owned(),
        command: format!("exec {} sender {}", quoted(program), quoted(&folder)),
    })
}

/// How many events it wrote.
fn check_log(ran: &Ran, folder: &Path) -> Result<u64, ValidateError> {
    if ran.beside.iter().any(|ended| ended.exit_code != Some(0)) {
        return Err(ValidateError::NoSenderLog);
    }
    let counts = sender::Counts::read(folder)?;
    let late = Time::from_ns(counts.attached_ns).since(ran.zero + START);
    if late > Delta::ZERO {
        let late_ms = late.as_ms() as i64;
        return Err(ValidateError::LateSenderLog { late_ms });
    }
    match counts.lost {
        0 => Ok(counts.events),
        _ => Err(ValidateError::NoSenderLog),
    }
}

fn connections(ran: &Ran) -> String {
    let mut text =
        "source,source_port,destination,destination_port,ending,read_down,read_up\n".to_owned();
    for closed in &ran.connections {
        let ((client, from), (server, to)) = (closed.client, closed.server);
        let ending = closed.ending.name();
        let Both { down, up } = closed.read.map(|bytes| bytes.as_u64());
        text += &format!("{client},{from},{server},{to},{ending},{down},{up}\n");
    }
    text
}

fn rates(plan: &Plan, zero: Time) -> String {
    let mut text = "time_ns,client,rate_bps\n".to_owned();
    for (client, after, rate) in plan.rates() {
        let at = (zero + after).as_ns();
        text += &format!("{at},{client},{}\n", rate.as_bps());
    }
    text
}

fn report(
    params: &BedParams<'_>,
    ran: &Ran,
    sender_events: u64,
) -> Result<BedReport, ValidateError> {
    let packets = |name: &str| -> Result<u64, ValidateError> {
        let file = ran.captures.iter().find(|file| file.name == name);
        match file.map_or((0, 0), |file| (file.packets, file.missed)) {
            (packets, 0) => Ok(packets),
            (_, missed) => Err(ValidateError::Missed { missed }),
        }
    };
    let Both { down, up } = &ran.outcomes.paths;
    let emulator = &ran.verdict.emulator;
    Ok(BedReport {
        bed: params.name.to_owned(),
        seed: params.seed,
        length_s: params.length.as_secs(),
        zero_ns: ran.zero.as_ns(),
        offered_packets: down.offered_packets + up.offered_packets,
        delivered_packets: down.delivered_packets + up.delivered_packets,
        under_way_packets: ran.outcomes.under_way,
        monitor_packets: packets(MONITOR)?,
        server_packets: packets("server")?,
        sender_events,
        lateness_p99_us: emulator.lateness_p99().as_ns() as f64 / 1e3,
        doubts: emulator.doubts().iter().map(ToString::to_string).collect(),
        differences: ran.differences.clone(),
    })
}

const MONITOR: &str = "path-router1";

/// Writes what the router saw in Ethernet frames, as tcptrace needs them, and lets go of the path's other captures.
fn monitor(folder: &Path, ran: &Ran) -> Result<(), ValidateError> {
    let path = folder.join("monitor.pcap");
    let file = File::create(&path).map_err(at(&path))?;
    let snap_len = SNAP_LEN + TOWARDS_CLIENT.len() as u32;
    let writer = PcapWriter::new(BufWriter::new(file), ETHERNET, snap_len);
    let mut writer = writer.map_err(at(&path))?;
    let seen = Input::File(folder.join(format!("{MONITOR}.pcap")));
    let mut trace = Trace::open(&[seen])?;
    while let Some(record) = trace.next()? {
        let is_down = record.data.get(16..18) == Some(&[10, 45]);
        let header = if is_down {
            TOWARDS_CLIENT
        } else {
            TOWARDS_SERVER
        };
        let frame = [&header, record.data].concat();
        let framed = Record {
            time: record.time,
            link: LinkType::Ethernet,
            wire_len: record.wire_len + header.len() as u32,
            data: &frame,
        };
        writer.write(&framed).map_err(at(&path))?;
    }
    let written = writer.finish().and_then(|mut out| out.flush());
    written.map_err(at(&path))?;
    let mut of_path = ran.captures.iter().filter(|one| one.name != "server");
    of_path.try_for_each(|one| fs::remove_file(&one.path).map_err(at(&one.path)))
}
