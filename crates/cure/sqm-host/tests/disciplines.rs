//! The kernel's own disciplines under the kernel's TCP: Linux 6.12 has those that the running kernel may lack, in a guest over
//! this host's files and in virtual time. This executable is also the guest's first process, so it has a `main` of its own.

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host};
use unbloat_os::offload::MERGING;
use unbloat_sqm::{Plan, Qdisc};
use unbloat_sqm_host::{apply, offered, status};
use unbloat_uml::{Folders, Guest, Kernel, over_host};
use unbloat_undo::Journals;
use unbloat_units::{Both, Framing, Rate};

const QDISCS: [Qdisc; 3] = [Qdisc::Cake, Qdisc::FqCodel, Qdisc::Fifo];
const FRAMINGS: [Framing; 4] = [Framing::NONE, Framing::ETHERNET, Framing::ATM, Framing::PTM];
const DOWN: Rate = Rate::mbps(20);
const UP: Rate = Rate::mbps(5);
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const PORTS: [u16; 3] = [5001, 5002, 5003];
const LOAD: Duration = Duration::from_secs(6);
/// Before what is counted: slow start, and the queue that it leaves.
const WARM_UP: Duration = Duration::from_secs(2);
const PING: Duration = Duration::from_millis(20);
/// After as long an answer does not come any more.
const LOST: Duration = Duration::from_millis(500);
const RESULT: &str = "result.json";

type Fault = Box<dyn Error + Send + Sync>;

#[derive(Debug, Serialize, Deserialize)]
struct Tried {
    qdisc: Qdisc,
    framing: Framing,
    /// Of the device and its IFB device, as `tc` names them.
    kinds: Vec<String>,
    /// Payload of TCP, down and up at once.
    goodput_bps: [u64; 2],
    /// Round trip beside it, 95th percentile.
    rtt_p95_us: u64,
    is_as_before: bool,
}

fn main() -> ExitCode {
    over_host(|folders| inside(folders).map_err(|fault| fault.to_string()));
    unbloat_testkit::run! {
        kernel() => [every_discipline_and_framing_holds_its_rates],
    }
}

fn every_discipline_and_framing_holds_its_rates() {
    hold(&outside(Kernel::ensure().unwrap()).unwrap());
}

/// On the host.
fn outside(kernel: Kernel) -> Result<Vec<Tried>, Fault> {
    let guest = Guest::new(kernel).seed(1).memory_mib(1024);
    let stop = AtomicBool::new(false);
    let finished = guest.run_over_host(&std::env::current_exe()?, &[], &stop, &|_| {})?;
    Ok(serde_json::from_slice(&fs::read(
        finished.output().join(RESULT),
    )?)?)
}

/// In the guest.
fn inside(folders: &Folders) -> Result<(), Fault> {
    folders.empty_temporary()?;
    // SAFETY: this is the only thread.
    unsafe { std::env::set_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin") };
    let offered = offered()?;
    if offered.best() != Some(Qdisc::Cake) || !offered.ifb {
        return Err(format!("cake was not found: {offered:?}").into());
    }
    let mut tried = Vec::new();
    for qdisc in QDISCS {
        for framing in FRAMINGS {
            tried.push(shape(qdisc, framing)?);
        }
    }
    fs::write(folders.output.join(RESULT), serde_json::to_vec(&tried)?)?;
    Ok(())
}

fn shape(qdisc: Qdisc, framing: Framing) -> Result<Tried, Fault> {
    let bed = Bed::new()?;
    let [near, far] = [bed.host("near")?, bed.host("far")?];
    near.veth("eth0", &far, "eth0")?;
    near.address("eth0", format!("{NEAR}/24").parse()?)?;
    far.address("eth0", format!("{FAR}/24").parse()?)?;
    // As a device on a wire does not, this end's is left to the shaper.
    far.offloads_off("eth0")?;
    near.offloads_off("eth0")?;
    far.offloads_off("eth0")?;
    let folder = tempfile::tempdir()?;
    let device = "eth0".parse()?;
    let plan = Plan::new(device, Both::new(Some(DOWN), Some(UP)), framing, qdisc)?;
    near.within(|| {
        let before = state()?;
        let journals = Journals::at(folder.path().to_owned())?;
        let held = apply(&journals, &plan, "a test")?;
        let shaped = status(Some(&journals), &plan.device)?;
        let (goodput_bps, rtt_p95_us) = load(&far)?;
        held.release()?;
        Ok(Tried {
            qdisc,
            framing,
            kinds: shaped.queues.into_iter().map(|queue| queue.kind).collect(),
            goodput_bps,
            rtt_p95_us,
            is_as_before: state()? == before,
        })
    })?
}

fn state() -> Result<String, Fault> {
    let said = |program: &str, words: &str| -> Result<String, Fault> {
        let output = Command::new(program).args(words.split(' ')).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let links = said("ip", "-o link")?;
    let names: Vec<&str> = links.lines().filter_map(|l| l.split(": ").nth(1)).collect();
    let merging = MERGING.map(|offload| offload.is_on("eth0").ok());
    Ok(format!("{names:?} {merging:?}\n{}", said("tc", "qdisc")?))
}

/// TCP both ways at once, and a ping beside it, seen from this thread's host.
fn load(far: &Host) -> Result<([u64; 2], u64), Fault> {
    let [down, up, echo] = PORTS;
    let [down, up] = [down, up].map(|port| far.within(|| TcpListener::bind((FAR, port))));
    let (down, up) = (down??, up??);
    let echo = far.within(|| UdpSocket::bind((FAR, echo)))??;
    let downloads = TcpStream::connect(down.local_addr()?)?;
    let uploads = TcpStream::connect(up.local_addr()?)?;
    let pinger = UdpSocket::bind((NEAR, 0))?;
    pinger.connect(echo.local_addr()?)?;
    pinger.set_read_timeout(Some(LOST))?;
    echo.set_read_timeout(Some(LOST * 2))?;
    let (down, up) = (down.accept()?.0, up.accept()?.0);
    thread::scope(|scope| {
        let senders = [down, uploads].map(|stream| scope.spawn(|| send(stream)));
        let receivers = [downloads, up].map(|stream| scope.spawn(|| receive(stream)));
        scope.spawn(|| answer(&echo));
        let rtt = ping(&pinger);
        let goodput = receivers.map(|receiver| receiver.join().expect("no panic"));
        for sender in senders {
            sender.join().expect("no panic")?;
        }
        let [downloaded, uploaded] = goodput;
        Ok(([downloaded?, uploaded?], rtt?))
    })
}

fn send(mut stream: TcpStream) -> Result<(), Fault> {
    let begin = Instant::now();
    while begin.elapsed() < LOAD {
        stream.write_all(&[0; 16_384])?;
    }
    Ok(stream.shutdown(Shutdown::Write)?)
}

/// Rate of what comes between the warm-up and the end of sending.
fn receive(mut stream: TcpStream) -> Result<u64, Fault> {
    let (begin, mut bytes, mut buffer) = (Instant::now(), 0, [0; 65_536]);
    loop {
        let got = stream.read(&mut buffer)?;
        let at = begin.elapsed();
        if at >= LOAD || got == 0 {
            break;
        }
        if at >= WARM_UP {
            bytes += got as u64;
        }
    }
    while stream.read(&mut buffer)? > 0 {}
    Ok(bytes * 8_000 / (LOAD - WARM_UP).as_millis() as u64)
}

/// Until nobody has asked for long.
fn answer(echo: &UdpSocket) {
    let mut buffer = [0; 64];
    while let Ok((length, from)) = echo.recv_from(&mut buffer) {
        // What a full device refuses is lost, as on the way.
        let _ = echo.send_to(&buffer[..length], from);
    }
}

fn ping(socket: &UdpSocket) -> Result<u64, Fault> {
    let (begin, mut buffer, mut took) = (Instant::now(), [0; 64], Vec::new());
    for number in 0_u64.. {
        let sent = Instant::now();
        if sent - begin >= LOAD {
            break;
        }
        socket.send(&number.to_be_bytes())?;
        // A lost one has no answer; a late one's is not that of this.
        while let Ok(length) = socket.recv(&mut buffer) {
            if buffer[..length] == number.to_be_bytes() {
                took.push((sent - begin, sent.elapsed().as_micros() as u64));
                break;
            }
        }
        thread::sleep(PING.saturating_sub(sent.elapsed()));
    }
    let counted = took.iter().filter(|(at, _)| *at >= WARM_UP);
    let mut counted: Vec<u64> = counted.map(|(_, us)| *us).collect();
    counted.sort_unstable();
    let p95 = counted.get(counted.len() * 95 / 100);
    Ok(*p95.ok_or("no ping came back")?)
}

/// What must be so of each.
fn hold(all: &[Tried]) {
    assert_eq!(all.len(), QDISCS.len() * FRAMINGS.len());
    for tried in all {
        let expected: &[&str] = match tried.qdisc {
            Qdisc::Cake => &["cake", "ingress", "cake"],
            Qdisc::FqCodel => &["htb", "fq_codel", "ingress", "htb", "fq_codel"],
            _ => &["htb", "bfifo", "ingress", "htb", "bfifo"],
        };
        assert_eq!(tried.kinds, expected, "{tried:?}");
        assert!(tried.is_as_before, "{tried:?}");
        // What a rate carries in full packets, of which acknowledgements of the other direction take some.
        let least = [0.97, 0.8];
        let longest_us = match tried.qdisc {
            Qdisc::Cake | Qdisc::FqCodel => 5_000,
            // Full, it waits 20 ms.
            _ => 30_000,
        };
        let wire = tried.framing.wire_bytes(1500) as f64;
        for (way, rate) in [DOWN, UP].into_iter().enumerate() {
            let carried = rate.as_bps_f64() * 1448.0 / wire;
            let share = tried.goodput_bps[way] as f64 / carried;
            assert!(
                (least[way]..1.002).contains(&share),
                "{share} of {carried}, {tried:?}"
            );
        }
        assert!(tried.rtt_p95_us < longest_us, "{tried:?}");
        let (qdisc, framing, [down, up]) = (tried.qdisc, tried.framing, tried.goodput_bps);
        println!(
            "{qdisc} {framing}: {down} and {up} bit/s, {} us",
            tried.rtt_p95_us
        );
    }
}
