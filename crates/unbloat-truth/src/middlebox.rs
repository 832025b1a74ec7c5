//! The thin shell around the path: two devices, one clock, one thread.

use crate::clock::Clock;
use crate::core::{Counts, Direction, Event, Observer, Packet, Path};
use crate::record::Recorder;
use crate::tun::Tun;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_units::{Delta, Time};

/// Packets read from one device before the path gets its turn.
const BATCH: usize = 64;
const LONGEST_WAIT: Delta = Delta::ms(20);
/// How long the path must have been empty and how long it may take to become so at the end.
const QUIET: Delta = Delta::ms(300);
const DRAIN_LIMIT: Delta = Delta::secs(20);

/// How much later than planned packets were handed to the devices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    pub packets: u64,
    pub over_1_ms: u64,
    pub over_5_ms: u64,
    pub max: Delta,
}

/// What the middlebox counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MiddleboxReport {
    pub(crate) counts: Counts,
    /// Packets that are not TCP or UDP over IPv4 of a client.
    pub(crate) foreign: u64,
    /// Packets that a device refused to take.
    pub(crate) refused: u64,
    /// Packets still inside when the drain limit was reached.
    pub(crate) inside: usize,
    pub(crate) lateness: Lateness,
}

pub(crate) struct Middlebox<'a> {
    pub(crate) clock: Clock,
    pub(crate) path: Path,
    pub(crate) client: &'a Tun,
    pub(crate) server: &'a Tun,
    pub(crate) recorder: Recorder,
}

impl Middlebox<'_> {
    /// Carries packets until `stop`, then until the path is empty.
    pub(crate) fn run(self, stop: &AtomicBool) -> MiddleboxReport {
        prefer_this_thread();
        let mut outside = Outside {
            clock: self.clock,
            client: self.client,
            server: self.server,
            recorder: self.recorder,
            foreign: 0,
            refused: 0,
            lateness: Lateness::default(),
        };
        let mut path = self.path;
        let mut draining = None;
        let mut last_packet = self.clock.now();
        loop {
            let now = self.clock.now();
            path.advance(now, &mut outside);
            if outside.read(&mut path) || path.inside() > 0 {
                last_packet = now;
            }
            if stop.load(Ordering::Relaxed) {
                let since: Time = *draining.get_or_insert(now);
                if now - last_packet > QUIET || now - since > DRAIN_LIMIT {
                    break;
                }
            }
            outside.wait(path.wake());
        }
        outside.report(&path)
    }
}

/// Everything around the path.
struct Outside<'a> {
    clock: Clock,
    client: &'a Tun,
    server: &'a Tun,
    recorder: Recorder,
    foreign: u64,
    refused: u64,
    lateness: Lateness,
}

impl Outside<'_> {
    fn wait(&self, wake: Time) {
        let wait = (wake - self.clock.now()).max(Delta::ZERO).min(LONGEST_WAIT);
        let timeout = TimeSpec::from(Duration::from_nanos(wait.as_ns() as u64));
        let mut devices = [
            PollFd::new(self.client.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.server.as_fd(), PollFlags::POLLIN),
        ];
        // An interrupted wait is a short one.
        let _ = ppoll(&mut devices, Some(timeout), None);
    }

    /// Takes waiting packets in; whether there were any.
    fn read(&mut self, path: &mut Path) -> bool {
        let up = self.read_device(path, Direction::Up);
        let down = self.read_device(path, Direction::Down);
        up || down
    }

    fn read_device(&mut self, path: &mut Path, direction: Direction) -> bool {
        for taken in 0..BATCH {
            let device = match direction {
                Direction::Down => &self.server,
                Direction::Up => &self.client,
            };
            let Some(bytes) = device.receive() else {
                return taken > 0;
            };
            let packet = Packet::parse(direction, bytes);
            let Some(packet) = packet.filter(|p| path.knows(p.client)) else {
                self.foreign += 1;
                continue;
            };
            let now = self.clock.now();
            path.advance(now, self);
            path.accept(now, packet, self);
        }
        true
    }

    fn hand_over(&mut self, planned: Time, packet: &Packet) {
        let now = self.clock.now();
        self.lateness.note(now - planned);
        let taken = match packet.direction {
            Direction::Down => self.client.send(&packet.bytes),
            Direction::Up => self.server.send(&packet.bytes),
        };
        self.refused += u64::from(!taken);
    }

    fn report(mut self, path: &Path) -> MiddleboxReport {
        let _ = self.recorder.finish();
        MiddleboxReport {
            counts: path.counts(),
            foreign: self.foreign,
            refused: self.refused,
            inside: path.inside(),
            lateness: self.lateness,
        }
    }
}

impl Observer for Outside<'_> {
    fn event(&mut self, at: Time, event: Event<'_>) {
        self.recorder.event(at, event);
        if let Event::Delivered(packet) = event {
            self.hand_over(at, packet);
        }
    }
}

impl Lateness {
    fn note(&mut self, late: Delta) {
        self.packets += 1;
        self.over_1_ms += u64::from(late > Delta::ms(1));
        self.over_5_ms += u64::from(late > Delta::ms(5));
        self.max = self.max.max(late);
    }
}

/// Real-time priority and exact timers where the system grants them; the report says how late
/// packets were either way.
fn prefer_this_thread() {
    let priority = libc::sched_param { sched_priority: 10 };
    // SAFETY: both calls concern the calling thread only and `priority` outlives them.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}
