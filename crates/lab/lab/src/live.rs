//! What a watcher of a run is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use unbloat_emulator::{Parts, Witness};
use unbloat_experiment::outcome::PathSnapshot;
use unbloat_link::Place;
use unbloat_qdisc::{Event, Packet};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

/// One direction's counters, which the thread that carries packets keeps and others read.
#[derive(Debug, Default)]
struct Counters {
    offered_packets: AtomicU64,
    offered_bytes: AtomicU64,
    delivered_packets: AtomicU64,
    delivered_bytes: AtomicU64,
    dropped_packets: AtomicU64,
    dropped_bytes: AtomicU64,
    marks: AtomicU64,
    wait_ns: AtomicI64,
}

/// The state of the path as of now.
#[derive(Clone, Debug, Default)]
pub(crate) struct LivePath {
    directions: Arc<Both<Counters>>,
}

impl LivePath {
    pub(crate) fn snapshot(&self) -> Both<PathSnapshot> {
        self.directions.as_ref().as_ref().map(|counters| {
            let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            // What has left is read first, so that it is never more than what has come.
            let left_bytes = get(&counters.delivered_bytes) + get(&counters.dropped_bytes);
            let dropped = get(&counters.dropped_packets);
            let left = get(&counters.delivered_packets) + dropped;
            let wait_ns = counters.wait_ns.load(Ordering::Relaxed);
            PathSnapshot {
                backlog_bytes: Bytes::new(get(&counters.offered_bytes).saturating_sub(left_bytes)),
                backlog_packets: get(&counters.offered_packets).saturating_sub(left),
                wait: (left > dropped).then_some(Delta::ns(wait_ns)),
                delivered_bytes: Bytes::new(get(&counters.delivered_bytes)),
                drops: dropped,
                marks: get(&counters.marks),
            }
        })
    }
}

impl Witness for LivePath {
    fn offered(&mut self, direction: Direction, _at: Time, packet: &Packet, _bytes: Parts<'_>) {
        let counters = &self.directions[direction];
        add(&counters.offered_packets, 1);
        add(&counters.offered_bytes, packet.len.bytes().as_u64());
    }

    fn event(&mut self, direction: Direction, _at: Time, event: &Event) {
        let counters = &self.directions[direction];
        match event {
            Event::Dropped { packet, .. } => {
                add(&counters.dropped_packets, 1);
                add(&counters.dropped_bytes, packet.len.bytes().as_u64());
            }
            Event::Marked { .. } => add(&counters.marks, 1),
        }
    }

    fn waited(
        &mut self,
        direction: Direction,
        _at: Time,
        _place: Place,
        _packet: &Packet,
        wait: Delta,
    ) {
        let counters = &self.directions[direction];
        counters.wait_ns.store(wait.as_ns(), Ordering::Relaxed);
    }

    fn delivered(&mut self, direction: Direction, _at: Time, packet: &Packet, _bytes: Parts<'_>) {
        let counters = &self.directions[direction];
        add(&counters.delivered_packets, 1);
        add(&counters.delivered_bytes, packet.len.bytes().as_u64());
    }
}

/// One thread writes: no locked instruction is needed.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Several witnesses as one.
pub(crate) struct Witnesses(pub(crate) Vec<Box<dyn Witness>>);

impl Witness for Witnesses {
    fn offered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        self.0
            .iter_mut()
            .for_each(|one| one.offered(direction, at, packet, bytes));
    }

    fn event(&mut self, direction: Direction, at: Time, event: &Event) {
        self.0
            .iter_mut()
            .for_each(|one| one.event(direction, at, event));
    }

    fn waited(
        &mut self,
        direction: Direction,
        at: Time,
        place: Place,
        packet: &Packet,
        wait: Delta,
    ) {
        self.0
            .iter_mut()
            .for_each(|one| one.waited(direction, at, place, packet, wait));
    }

    fn delivered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        self.0
            .iter_mut()
            .for_each(|one| one.delivered(direction, at, packet, bytes));
    }

    fn came_to(
        &mut self,
        direction: Direction,
        at: Time,
        hop: usize,
        packet: &Packet,
        bytes: Parts<'_>,
    ) {
        self.0
            .iter_mut()
            .for_each(|one| one.came_to(direction, at, hop, packet, bytes));
    }
}
