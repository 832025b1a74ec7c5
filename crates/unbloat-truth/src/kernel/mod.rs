//! What the senders' kernels did, read by BPF programs: `kernel.csv`.
//!
//! One row per event. `source` is the socket that reports; `side` says in which namespace it
//! lives. The columns from `snd_una` to `pending` are the socket's own state at that moment.
//!
//! | kind | when | `seq`, `end_seq` | `value` |
//! |---|---|---|---|
//! | `rtt` | a segment arrives from which the kernel takes an RTT sample; `srtt_us` includes it | its ACK number in `end_seq` | the sample in us |
//! | `ack` | a segment arrives while data is out; state *before* it is processed, `ip_id` names it | | its ACK number |
//! | `ca_state` | the congestion state changes; `ca_state` is the old one | | the new one: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss (= RTO) |
//! | `retransmit` | after a copy was sent; `pending` 5 = tail loss probe | the range | |
//! | `synack_retransmit` | after a SYN-ACK was repeated (no socket state yet) | the range | |
//!
//! `rtt` and `ack` cover established connections: samples from the handshake and after the first
//! FIN are missing, and so is a sample that equals the kernel's mean to the microsecond. An `rtt`
//! row is written when the next segment arrives but carries the time of its own, so rows are not
//! in strict time order.

mod event;

use crate::clock::Clock;
use crate::error::LabError;
use crate::sink::Sink;
use aya::maps::{Array, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use event::{COLUMNS, Event};
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_bed::Host;

const SOURCE: &str = include_str!("../../bpf/sender.bpf.c");
const TRACEPOINTS: [(&str, &str); 4] = [
    ("on_segment", "tcp_probe"),
    ("on_ca_state", "tcp_cong_state_set"),
    ("on_retransmit", "tcp_retransmit_skb"),
    ("on_synack", "tcp_retransmit_synack"),
];
const POLL: Duration = Duration::from_millis(5);

/// How many events were written and how many did not fit the kernel's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelReport {
    pub events: u64,
    pub lost: u64,
}

/// The loaded programs; they are detached when this is dropped.
pub(crate) struct KernelLog {
    ebpf: Ebpf,
}

impl KernelLog {
    /// Compiles, loads and attaches.
    pub(crate) fn load(client: &Host, server: &Host) -> Result<KernelLog, LabError> {
        let object = compile()?;
        let cookies = [cookie(client)?, cookie(server)?];
        let ebpf = attach(&object, cookies).map_err(|source| LabError::Ebpf { source })?;
        Ok(KernelLog { ebpf })
    }

    /// Writes events until `stop`, then those that are left.
    pub(crate) fn run(
        mut self,
        clock: Clock,
        mut sink: Sink,
        stop: &AtomicBool,
    ) -> Result<KernelReport, LabError> {
        let what = "the kernel log";
        self.write(clock, &mut sink, stop)
            .map_err(|source| LabError::Socket { what, source })
    }

    fn write(
        &mut self,
        clock: Clock,
        sink: &mut Sink,
        stop: &AtomicBool,
    ) -> io::Result<KernelReport> {
        writeln!(sink, "{COLUMNS}")?;
        let map = self.ebpf.map_mut("events").expect("the object has it");
        let mut ring = RingBuf::try_from(map).map_err(io::Error::other)?;
        let mut events = 0;
        loop {
            let last = stop.load(Ordering::Relaxed);
            while let Some(item) = ring.next() {
                bytemuck::pod_read_unaligned::<Event>(&item).write(clock, sink)?;
                events += 1;
            }
            if last {
                break;
            }
            std::thread::sleep(POLL);
        }
        Ok(KernelReport {
            events,
            lost: self.lost()?,
        })
    }

    fn lost(&self) -> io::Result<u64> {
        let map = self.ebpf.map("lost").expect("the object has it");
        let count: Array<&MapData, u64> = map.try_into().map_err(io::Error::other)?;
        count.get(&0, 0).map_err(io::Error::other)
    }
}

fn attach(
    object: &[u8],
    [client, server]: [u64; 2],
) -> Result<Ebpf, Box<dyn std::error::Error + Send + Sync>> {
    let mut ebpf = EbpfLoader::new()
        .override_global("client_cookie", &client, true)
        .override_global("server_cookie", &server, true)
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

/// Compiled where it runs, so that building the crate needs neither clang nor libbpf's headers.
fn compile() -> Result<Vec<u8>, LabError> {
    let folder = tempfile::tempdir().map_err(crate::error::at(std::env::temp_dir()))?;
    let [source, object] = ["sender.bpf.c", "sender.bpf.o"].map(|n| folder.path().join(n));
    fs::write(&source, SOURCE).map_err(crate::error::at(&source))?;
    let architecture = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let output = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", &architecture, "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output()
        .map_err(|source| LabError::NoCommand {
            command: "clang",
            source,
        })?;
    if !output.status.success() {
        return Err(LabError::Command {
            command: "clang (are libbpf-dev and linux-libc-dev installed?)".to_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        });
    }
    fs::read(&object).map_err(crate::error::at(&object))
}

/// The number by which the kernel knows a namespace, stable while it lives.
fn cookie(host: &Host) -> Result<u64, LabError> {
    const SO_NETNS_COOKIE: libc::c_int = 71;
    let what = "the namespace's cookie";
    host.within(|| {
        let read = || -> io::Result<u64> {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
            let mut cookie = 0u64;
            let mut length = size_of::<u64>() as libc::socklen_t;
            // SAFETY: the socket is open, and `cookie` and `length` are live and of the sizes said.
            let failed = unsafe {
                libc::getsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    SO_NETNS_COOKIE,
                    (&raw mut cookie).cast(),
                    &raw mut length,
                )
            };
            if failed < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(cookie)
        };
        read().map_err(|source| LabError::Socket { what, source })
    })?
}
