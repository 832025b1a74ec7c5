//! What the server's kernel did, read by BPF programs: `sender.csv`.
//!
//! One row per event. `source` is the socket that reports. The columns from `snd_una` to `pending` are the socket's own state at
//! that moment.
//!
//! | kind | when | `seq`, `end_seq` | `value` |
//! |---|---|---|---|
//! | `rtt` | a segment arrives from which the kernel takes an RTT sample; `srtt_us` includes it | its ACK number in `end_seq` | the sample in us |
//! | `ack` | a segment arrives while data is out; state *before* it is processed, `ip_id` names it | | its ACK number |
//! | `ca_state` | the congestion state changes; `ca_state` is the old one | | the new one: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss (= RTO) |
//! | `retransmit` | after a copy was sent; `pending` 5 = tail loss probe | the range | |
//! | `synack_retransmit` | after a SYN-ACK was repeated (no socket state yet) | the range | |
//!
//! `rtt` and `ack` cover established connections: samples from the handshake and after the first FIN are missing, and so is a
//! sample that equals the kernel's mean to the microsecond. An `rtt` row is written when the next segment arrives but carries
//! the time of its own, so rows are not in strict time order.
//!
//! The log is a program of its own, because it watches the network namespace that it runs in: the lab runs it beside the flows,
//! on the server.

mod event;

use crate::clock::Clock;
use crate::error::{ValidateError, at};
use aya::maps::{Array, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use event::{COLUMNS, Event};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use zerocopy::FromBytes;

const SOURCE: &str = include_str!("../../bpf/sender.bpf.c");
const TRACEPOINTS: [(&str, &str); 4] = [
    ("on_segment", "tcp_probe"),
    ("on_ca_state", "tcp_cong_state_set"),
    ("on_retransmit", "tcp_retransmit_skb"),
    ("on_synack", "tcp_retransmit_synack"),
];
const POLL: Duration = Duration::from_millis(5);
/// Rows, and what was counted, in the folder of a bed.
const ROWS: &str = "sender.csv";
const COUNTS: &str = "sender.json";

/// What the log says of itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// From when on nothing is missing, on the wall clock.
    pub(crate) attached_ns: i64,
    pub(crate) events: u64,
    /// Events that did not fit the kernel's buffer.
    pub(crate) lost: u64,
}

impl Counts {
    pub(crate) fn read(folder: &Path) -> Result<Counts, ValidateError> {
        let path = folder.join(COUNTS);
        let text = fs::read(&path).map_err(at(&path))?;
        serde_json::from_slice(&text).map_err(|source| ValidateError::Json { path, source })
    }
}

/// Compiles the programs where they run, so that building the crate needs neither clang nor libbpf's headers.
pub(crate) fn compile(folder: &Path) -> Result<(), ValidateError> {
    let [source, object] = ["sender.bpf.c", OBJECT].map(|name| folder.join(name));
    fs::write(&source, SOURCE).map_err(at(&source))?;
    let architecture = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let output = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", &architecture, "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output()
        .map_err(|source| ValidateError::NoCommand {
            command: "clang",
            source,
        })?;
    if !output.status.success() {
        return Err(ValidateError::Command {
            command: "clang",
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        });
    }
    Ok(())
}

const OBJECT: &str = "sender.bpf.o";

/// Writes what the kernel of this network namespace does into a folder with compiled programs, until it is told to end.
pub fn log(folder: &Path) -> Result<(), ValidateError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|source| ValidateError::Ebpf(source.into()))?;
    }
    let object = fs::read(folder.join(OBJECT)).map_err(at(folder))?;
    let clock = Clock::start();
    let mut ebpf = attach(&object).map_err(ValidateError::Ebpf)?;
    let attached_ns = clock.now().as_ns();
    let path = folder.join(ROWS);
    let events = File::create(&path)
        .map(BufWriter::new)
        .and_then(|mut rows| write(&mut ebpf, clock, &mut rows, &stop))
        .map_err(at(&path))?;
    clock.check()?;
    let counts = Counts {
        attached_ns,
        events,
        lost: lost(&ebpf).map_err(at(&path))?,
    };
    let text = serde_json::to_string(&counts).expect("numbers are JSON");
    fs::write(folder.join(COUNTS), text).map_err(at(folder))
}

/// How many events there were.
fn write(
    ebpf: &mut Ebpf,
    clock: Clock,
    rows: &mut impl Write,
    stop: &AtomicBool,
) -> io::Result<u64> {
    writeln!(rows, "{COLUMNS}")?;
    let map = ebpf.map_mut("events").expect("the object has it");
    let mut ring = RingBuf::try_from(map).map_err(io::Error::other)?;
    let mut events = 0;
    loop {
        // Asked before the last look, so that nothing is left behind.
        let is_over = stop.load(Ordering::Relaxed);
        while let Some(item) = ring.next() {
            let event = Event::read_from_bytes(&item).expect("the program writes whole events");
            event.write(clock, rows)?;
            events += 1;
        }
        if is_over {
            break;
        }
        std::thread::sleep(POLL);
    }
    rows.flush()?;
    Ok(events)
}

fn lost(ebpf: &Ebpf) -> io::Result<u64> {
    let map = ebpf.map("lost").expect("the object has it");
    let count: Array<&MapData, u64> = map.try_into().map_err(io::Error::other)?;
    count.get(&0, 0).map_err(io::Error::other)
}

fn attach(object: &[u8]) -> Result<Ebpf, Box<dyn std::error::Error + Send + Sync>> {
    let cookie = unbloat_os::namespace::network_cookie()?
        .ok_or("this kernel has no cookies of network namespaces")?;
    let mut ebpf = EbpfLoader::new()
        .override_global("cookie", &cookie, true)
        .load(object)?;
    let btf = Btf::from_sys_fs()?;
    for (name, tracepoint) in TRACEPOINTS {
        let program = ebpf.program_mut(name).expect("the object has it");
        let program: &mut BtfTracePoint = program.try_into()?;
        program.load(tracepoint, &btf)?;
        program.attach()?;
    }
    Ok(ebpf)
}
