//! A bottleneck in virtual time: what the tests of disciplines drive them with.

use crate::event::{Event, Reason};
use crate::packet::{FlowHash, IpLen, Packet};
use crate::queue::{Context, Queue};
use fastrand::Rng;
use unbloat_units::{Bytes, Delta, Rate, Time};

/// What came out of a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// When the packet left the queue, and the packet.
    pub(crate) sent: Vec<(Time, Packet)>,
    pub(crate) events: Vec<(Time, Event)>,
}

impl Run {
    pub(crate) fn drops(&self) -> Vec<(u32, Reason)> {
        self.filter(|event| match event {
            Event::Dropped { packet, reason } => Some((packet.handle, *reason)),
            Event::Marked { .. } => None,
        })
    }

    pub(crate) fn marks(&self) -> Vec<(u32, Reason)> {
        self.filter(|event| match event {
            Event::Marked { packet, reason } => Some((packet.handle, *reason)),
            Event::Dropped { .. } => None,
        })
    }

    pub(crate) fn sent_handles(&self) -> Vec<u32> {
        self.sent.iter().map(|(_, packet)| packet.handle).collect()
    }

    fn filter<T>(&self, select: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(|(_, e)| select(e)).collect()
    }
}

/// Sends `arrivals`, which are in order of time, through the queue over a link of the rate, until
/// the queue is empty. A packet that arrives at the very moment when the link falls idle is queued first.
pub(crate) fn bottleneck(
    queue: &mut impl Queue,
    rate: Rate,
    arrivals: impl IntoIterator<Item = (Time, Packet)>,
) -> Run {
    let mut run = Run::default();
    let mut rng = Rng::with_seed(1);
    let mut arrivals = arrivals.into_iter().peekable();
    let mut idle_at = Time::from_ns(0);
    let mut now = Time::from_ns(0);
    loop {
        let due = queue.ready_at(now).map(|ready| ready.max(idle_at));
        let arrives = arrivals
            .peek()
            .is_some_and(|(at, _)| due.is_none_or(|due| *at <= due));
        let mut cx = Context {
            rng: &mut rng,
            observer: &mut run.events,
        };
        if arrives && let Some((at, packet)) = arrivals.next() {
            now = at;
            queue.enqueue(now, packet, &mut cx);
        } else if let Some(due) = due {
            now = due;
            if let Some(packet) = queue.dequeue(now, &mut cx) {
                idle_at = now + transmission(&packet, rate);
                run.sent.push((now, packet));
            }
        } else {
            return run;
        }
    }
}

/// In whole nanoseconds, rounded down.
fn transmission(packet: &Packet, rate: Rate) -> Delta {
    Delta::ns((u64::from(packet.len.as_u32()) * 8_000_000_000 / rate.as_bps()) as i64)
}

/// `count` packets of one flow, evenly spaced from `start` on, numbered from 0.
pub(crate) fn paced(
    start: Time,
    gap: Delta,
    count: u32,
    len: u32,
) -> impl Iterator<Item = (Time, Packet)> {
    (0..count).map(move |k| {
        let packet = Packet::new(k, IpLen::new(len), FlowHash(1));
        (start + gap * i64::from(k), packet)
    })
}

pub(crate) fn bytes(packets: &[(Time, Packet)]) -> Bytes {
    packets.iter().map(|(_, packet)| packet.len.bytes()).sum()
}
