//! The same packets through both sources: as many bytes, the same answers, delays that hold. Needs root, and says so when it is
//! skipped.

mod frame;

use aya::programs::{SchedClassifier, TcAttachType};
use frame::{Frame, Outer};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use unbloat_autorate::{Heard, Tally};
use unbloat_autorate_host::{Ear, KernelError, Source, SteerError, Tap};
use unbloat_netns::{Bed, Host, Tun};
use unbloat_os::clock::monotonic;
use unbloat_testkit::until;
use unbloat_units::{Delta, Time};

/// What a source told.
#[derive(Debug, Default)]
struct Told {
    tally: Tally,
    heard: Vec<(Time, Heard)>,
}

impl Ear for Told {
    fn passed(&mut self, _: Time, tally: &Tally) {
        self.tally += *tally;
    }

    fn heard(&mut self, at: Time, heard: &Heard) {
        self.heard.push((at, *heard));
    }
}

/// A host with a device towards a line, and who is beyond it. Nothing but our own frames passes.
struct Line {
    _bed: Bed,
    near: Host,
    /// Nobody where the line is a tunnel.
    _far: Option<Host>,
    ends: Ends,
    taps: [Tap; 2],
}

const NEAR: usize = 0;
const FAR: usize = 1;

impl Line {
    /// A pair of Ethernet devices.
    fn cable() -> Line {
        let (bed, near) = Line::begun();
        let far = bed.host("far").unwrap();
        near.veth("wan0", &far, "wan0").unwrap();
        let other = far.within(|| raw("wan0")).unwrap().unwrap();
        Line::of(bed, near, Some(far), other, 0)
    }

    /// A device without a link layer.
    fn tunnel() -> Line {
        let (bed, near) = Line::begun();
        let other = near.tun("wan0", &Tun::default()).unwrap();
        Line::of(bed, near, None, other.into(), ETHERNET)
    }

    fn begun() -> (Bed, Host) {
        let bed = Bed::new().unwrap();
        let near = bed.host("near").unwrap();
        near.set("net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        (bed, near)
    }

    fn of(bed: Bed, near: Host, far: Option<Host>, other: File, cut: usize) -> Line {
        stay_on_this_processor();
        let open = |source| near.within(|| Tap::open("wan0", Some(source))).unwrap();
        let bpf = match open(Source::Bpf) {
            Err(SteerError::Kernel(
                error @ (KernelError::BuiltWithoutClang | KernelError::NoBtf(_)),
            )) => unbloat_testkit::unmet(error),
            opened => opened.unwrap(),
        };
        let packets = open(Source::Packets).unwrap();
        let devices = [near.within(|| raw("wan0")).unwrap().unwrap(), other];
        Line {
            ends: Ends { devices, cut },
            taps: [bpf, packets],
            _bed: bed,
            near,
            _far: far,
        }
    }

    /// What both sources told while something was sent, until that was all.
    fn told<R: Send + Sync>(
        &mut self,
        send: impl FnOnce(&mut Ends) -> R,
        is_all: impl Fn(&Told, &R) -> bool + Sync,
    ) -> [Told; 2] {
        let (near, ends) = (&self.near, &mut self.ends);
        let (sent, is_all) = (&OnceLock::new(), &is_all);
        let listen = |tap: &mut Tap| {
            let (mut told, begun) = (Told::default(), Instant::now());
            while !sent.get().is_some_and(|sent| is_all(&told, sent)) {
                assert!(
                    begun.elapsed() < LONGEST,
                    "{}: {told:?}",
                    tap.source().name()
                );
                tap.tell(&mut told).unwrap();
            }
            told
        };
        thread::scope(|scope| {
            let threads = self.taps.each_mut();
            let threads =
                threads.map(|tap| scope.spawn(move || near.within(|| listen(tap)).unwrap()));
            assert!(sent.set(send(ends)).is_ok());
            threads.map(|thread| thread.join().unwrap())
        })
    }
}

/// Of the line: frames written to them go out of the devices.
struct Ends {
    devices: [File; 2],
    /// What frames begin with and packets of the device do not.
    cut: usize,
}

const ETHERNET: usize = 14;

impl Ends {
    /// How many bytes went.
    fn send(&mut self, end: usize, frame: &[u8]) -> u64 {
        let packet = &frame[self.cut..];
        self.devices[end].write_all(packet).unwrap();
        packet.len() as u64
    }
}

/// So many bytes have passed.
fn has_bytes(told: &Told, bytes: &usize) -> bool {
    told.tally.came + told.tally.left >= *bytes as u64
}

const LONGEST: Duration = Duration::from_secs(20);

/// So that packets pass in the order in which they were sent.
fn stay_on_this_processor() {
    // SAFETY: an all-zero set is a valid one, and lives through the call.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().unsigned_abs() as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    assert_eq!(done, 0);
}

/// A socket that sends whole frames, and receives none.
fn raw(device: &str) -> io::Result<File> {
    let name = std::ffi::CString::new(device)?;
    // SAFETY: no pointers but to what lives through the calls; the descriptor is ours alone.
    unsafe {
        let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let file = File::from_raw_fd(socket);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()).cast_signed();
        let length = size_of::<libc::sockaddr_ll>() as u32;
        match libc::bind(file.as_raw_fd(), (&raw const address).cast(), length) {
            0 => Ok(file),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Values of a flow's clock begin here, times its number.
const APART: u32 = 1_000_000;
const ROUNDS: u32 = 20;
const PAYLOAD: u32 = 1_000;

/// Flows of all kinds, by number. Their far ends begin before the wrap of their sequence numbers.
fn flows() -> Vec<Frame> {
    let mut flows = vec![
        Frame::v4(1),
        Frame::v6(2),
        Frame::v4(3),
        Frame::v6(4),
        Frame::v4(5),
        Frame::v4(6),
    ];
    flows[2].outer = Outer::Tag;
    flows[3].outer = Outer::TwoTags;
    // Stamps behind other options.
    flows[4].options_before = vec![2, 4, 5, 0xb4, 4, 2];
    flows[5].options_before = vec![1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    flows
}

/// Values that came, and whether they answered; what only repeats the one before is left out.
fn answers(told: &Told) -> BTreeMap<u32, Vec<(u32, bool)>> {
    let mut flows = BTreeMap::<u32, Vec<(u32, bool)>>::new();
    let mut names = BTreeMap::new();
    for (_, heard) in &told.heard {
        let number = heard.value / APART;
        assert_eq!(*names.entry(heard.flow).or_insert(number), number);
        let known = flows.entry(number).or_default();
        let repeats = known.last().is_some_and(|(value, _)| *value == heard.value);
        if heard.sent.is_some() || !repeats {
            known.push((heard.value, heard.sent.is_some()));
        }
    }
    assert_eq!(names.len(), flows.len(), "a flow has one name");
    flows
}

/// Of each answer by its value: what passed at least between the question and it, and at most but for what this machine was late.
type Spans = BTreeMap<u32, (Duration, Duration)>;

/// Each flow asks, and is answered after a while. All is sent twice, which says nothing new.
fn talk(ends: &mut Ends, flows: &[Frame], round: u32, truth: &mut Tally, spans: &mut Spans) {
    let mut asked = Vec::new();
    for flow in flows {
        let question = Frame {
            value: flow.number * APART + round * 3,
            ack: (flow.number << 29).wrapping_add(round * PAYLOAD),
            ..flow.clone()
        };
        let before = Instant::now();
        for _ in 0..2 {
            truth.left += ends.send(NEAR, &question.out());
        }
        asked.push((before, Instant::now(), question.value));
    }
    let bare = Frame {
        is_bare: true,
        ..Frame::v4(9)
    };
    let unanswered = ends.send(NEAR, &bare.out());
    truth.left += unanswered;
    truth.unanswered += unanswered;
    sleep(Duration::from_millis(2 + u64::from(round % 5) * 3));
    for (flow, (before, after, echo)) in flows.iter().zip(asked) {
        let answer = Frame {
            value: flow.number * APART + 500_000 + round * 7,
            echo,
            ack: (u32::MAX - 3 * PAYLOAD).wrapping_add(round * PAYLOAD),
            ..flow.clone()
        };
        let least = after.elapsed();
        for _ in 0..2 {
            truth.came += ends.send(FAR, &answer.back());
        }
        spans.insert(answer.value, (least, before.elapsed()));
    }
}

fn both_sources_tell_the_same_of_the_same_packets_and_the_truth() {
    let line = Line::cable();
    compare(line, &flows());
}

fn both_sources_tell_the_same_where_there_is_no_link_layer() {
    let line = Line::tunnel();
    let plain: Vec<Frame> = flows()
        .into_iter()
        .map(|flow| Frame {
            outer: Outer::Plain,
            ..flow
        })
        .collect();
    compare(line, &plain);
}

fn compare(mut line: Line, flows: &[Frame]) {
    let (mut truth, mut spans) = (Tally::default(), BTreeMap::new());
    let talk = |ends: &mut Ends| {
        for round in 0..ROUNDS {
            talk(ends, flows, round, &mut truth, &mut spans);
        }
        (truth.came + truth.left) as usize
    };
    let all_told = line.told(talk, has_bytes);
    let gone = u64::from((ROUNDS - 1) * PAYLOAD) * flows.len() as u64;
    (truth.called_for, truth.acked) = (gone, gone);
    let expected: BTreeMap<_, _> = flows
        .iter()
        .map(|flow| {
            let first = flow.number * APART + 500_000;
            let all = (0..ROUNDS).map(|round| (first + round * 7, true));
            (flow.number, all.collect::<Vec<_>>())
        })
        .collect();
    for (told, source) in all_told.iter().zip(["bpf", "packets"]) {
        assert_eq!(told.tally, truth, "{source}");
        assert_eq!(answers(told), expected, "{source}");
        for (at, heard) in &told.heard {
            let Some(sent) = heard.sent else { continue };
            let (least, most) = spans[&heard.value];
            let delay = Duration::from_nanos((*at - sent).as_ns().try_into().unwrap());
            assert!(delay >= least, "{source}: {delay:?}, not {least:?}");
            assert!(delay <= most + LATE, "{source}: {delay:?}, not {most:?}");
        }
    }
    let delays = |told: &Told| -> Vec<Delta> {
        let trips = told
            .heard
            .iter()
            .filter_map(|(at, heard)| Some(*at - heard.sent?));
        trips.collect()
    };
    let (bpf, packets) = (delays(&all_told[0]), delays(&all_told[1]));
    let mut apart: Vec<i64> = bpf
        .iter()
        .zip(&packets)
        .map(|(a, b)| (*a - *b).as_ns().abs())
        .collect();
    apart.sort_unstable();
    let median = Duration::from_nanos(apart[apart.len() / 2].unsigned_abs());
    eprintln!("median difference of {} delays: {median:?}", apart.len());
    assert!(median < Duration::from_millis(5), "{median:?}");
}

/// How late this machine may be.
const LATE: Duration = Duration::from_secs(2);

/// Whatever headers claim, bytes are counted and nothing else changes.
fn malformed_packets_are_counted_and_do_no_harm() {
    let mut line = Line::cable();
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for good in flows().into_iter().map(|flow| flow.out()) {
        // Cut anywhere, and every byte of the headers wrong.
        frames.extend((15..good.len()).map(|end| good[..end].to_vec()));
        for at in 12..good.len().min(110) {
            for wrong in [0x00, 0xff, good[at] ^ 0x10, good[at] ^ 0x01] {
                let mut frame = good.clone();
                frame[at] = wrong;
                frames.push(frame);
            }
        }
    }
    let mut chance = 1u64;
    for length in (16..200).cycle().take(600) {
        let mut frame = flows()[length % 6].out();
        frame.resize(length, 0);
        for byte in &mut frame[14..] {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = (chance >> 56) as u8;
        }
        frames.push(frame);
    }
    let mut question = Frame::v4(7);
    question.value = 7 * APART;
    let mut answer = Frame::v4(7);
    (answer.value, answer.echo) = (7 * APART + 500_000, question.value);
    let send = |ends: &mut Ends| {
        for frame in &frames {
            // The kernel itself refuses some, as too short.
            ends.devices
                .iter_mut()
                .for_each(|end| drop(end.write_all(frame)));
        }
        ends.send(NEAR, &question.out());
        ends.send(FAR, &answer.back());
    };
    let answers = |heard: &(Time, Heard)| heard.1.value == answer.value && heard.1.sent.is_some();
    let all = line.told(send, |told, ()| told.heard.iter().any(answers));
    let [bpf, packets] = all.map(|told| [told.tally.left, told.tally.came]);
    assert_eq!(bpf, packets);
    assert!(bpf.iter().all(|bytes| *bytes > 100_000), "{bpf:?}");
}

/// The wait in our own shaper is none of the line's.
fn a_packet_has_left_when_the_queue_discipline_has_let_it_go() {
    let mut line = Line::cable();
    const BYTES: usize = 1_000;
    const COUNT: u32 = 21;
    let shaper = "tbf rate 800kbit burst 2000 limit 100000";
    line.near.queue("wan0", shaper).unwrap();
    let begun = monotonic();
    let send = |ends: &mut Ends| {
        let (mut question, mut answer) = (Frame::v4(1), Frame::v4(1));
        for number in 0..COUNT {
            question.value = APART + number;
            let mut frame = question.out();
            frame.resize(BYTES, 0);
            ends.send(NEAR, &frame);
        }
        sleep(Duration::from_millis(600));
        for number in 0..COUNT {
            (answer.value, answer.echo) = (APART + 500_000 + number, APART + number);
            ends.send(FAR, &answer.back());
        }
    };
    let all_told = line.told(send, |told, ()| told.heard.len() >= COUNT as usize);
    for (told, source) in all_told.iter().zip(["bpf", "packets"]) {
        let answered = told.heard.iter().filter_map(|(_, heard)| {
            let number = heard.value - APART - 500_000;
            Some((number, heard.sent? - begun))
        });
        let answered: Vec<_> = answered.collect();
        for (number, left) in &answered {
            // All but the burst, at 100 kB/s.
            let bytes = (*number as usize + 1) * BYTES;
            let least = Delta::ms((bytes.saturating_sub(2_000) / 100) as i64 - 1);
            assert!(*left >= least, "{source}: left after {left}, not {least}");
        }
        // A kernel may keep tracing programs out of what interrupts a process that it protects, as that of some sandboxes does.
        assert!(
            answered.len() > COUNT as usize / 2,
            "{source}: {answered:?}"
        );
    }
}

/// As `sqm apply` does with what comes in: the packet comes again from the other device.
fn what_comes_is_seen_once_though_it_is_redirected() {
    let mut line = Line::cable();
    let redirect = [
        "ip link add ifb0 type ifb",
        "ip link set ifb0 up",
        "tc qdisc add dev wan0 ingress",
        "tc filter add dev wan0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0",
    ];
    for line_of in redirect {
        let mut words = line_of.split(' ');
        let mut command: Command = line.near.command(words.next().unwrap()).unwrap();
        assert!(command.args(words).status().unwrap().success(), "{line_of}");
    }
    let mut bytes = 0;
    let send = |ends: &mut Ends| {
        let mut frame = Frame::v4(1);
        for round in 0..10 {
            frame.value = APART + round;
            bytes += frame.back().len();
            ends.send(FAR, &frame.back());
        }
        // What the other device lets through comes by then.
        sleep(Duration::from_millis(100));
        bytes
    };
    for told in line.told(send, has_bytes) {
        assert_eq!(told.tally.came, bytes as u64);
        assert_eq!(told.heard.len(), 10);
    }
}

/// Tells this program that it is to listen until it is killed.
const ROLE: &str = "UNBLOAT_STEER_LISTENS";

fn listens_until_it_is_killed() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let mut tap = Tap::open("wan0", Some(Source::Bpf)).unwrap();
    println!("{ROLE}");
    while tap.tell(&mut Told::default()).is_ok() {}
}

fn programs(host: &Host) -> usize {
    let query = || SchedClassifier::query_tcx("wan0", TcAttachType::Ingress);
    let (_, programs) = host.within(query).unwrap().unwrap();
    programs.len()
}

fn a_killed_listener_leaves_nothing_in_the_kernel() {
    let line = Line::cable();
    let ours = programs(&line.near);
    let mut command = line.near.command(std::env::current_exe().unwrap()).unwrap();
    command.args(["--exact", "listens_until_it_is_killed", "--ignored"]);
    let mut child = command
        .env(ROLE, "")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_ready = |text: &String| text.contains(ROLE);
    assert!(lines.map_while(Result::ok).any(|text| is_ready(&text)));
    assert_eq!(programs(&line.near), ours + 1);
    child.kill().unwrap();
    child.wait().unwrap();
    until("its program is still there", || {
        programs(&line.near) == ours
    });
}

unbloat_testkit::main! {
    root("a bed") => [
        both_sources_tell_the_same_of_the_same_packets_and_the_truth,
        both_sources_tell_the_same_where_there_is_no_link_layer,
        malformed_packets_are_counted_and_do_no_harm,
        a_packet_has_left_when_the_queue_discipline_has_let_it_go,
        what_comes_is_seen_once_though_it_is_redirected,
        a_killed_listener_leaves_nothing_in_the_kernel,
    ],
    on_request() => [
        listens_until_it_is_killed,
    ],
}
