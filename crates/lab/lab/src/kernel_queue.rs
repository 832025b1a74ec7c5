//! What a queue of the kernel's did: from packets seen before it and behind it, and from its own counters.
//!
//! Before it is where they come into the router, from which they go to the queue at once; behind it is where they come to the
//! emulator. A packet is known by what no router changes of it.

use crate::error::LabError;
use crate::stage::Stage;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use unbloat_capture::{LiveOptions, LiveSource, Source};
use unbloat_emulator::{Parts, Witness};
use unbloat_experiment::outcome::{PathRecord, Sample};
use unbloat_link::Place;
use unbloat_qdisc::{Event, FlowHash, IpLen, Packet, Reason};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

const ETHERNET_HEADER: usize = 14;
/// Enough for the headers that tell packets apart.
const SNAP_LEN: u32 = 96;
const BATCH: usize = 4_096;
const PATIENCE: Delta = Delta::ms(100);
const RING: Bytes = Bytes::mib(8);

/// A packet at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    at: Time,
    key: u64,
    len: u32,
}

type Behind = Arc<Mutex<Vec<Seen>>>;

/// Writes down what comes out of the queues of the kernel's. Of both directions, though one may have none.
pub(crate) struct QueueWitness(Both<Behind>);

impl Witness for QueueWitness {
    fn offered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let head: Vec<u8> = bytes
            .header
            .iter()
            .chain(bytes.payload)
            .take(80)
            .copied()
            .collect();
        if let Some(key) = key(&head) {
            let mut seen = self.0[direction]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let len = packet.len.as_u32();
            seen.push(Seen { at, key, len });
        }
    }
}

type Tap<'scope> = ScopedJoinHandle<'scope, Result<Vec<Seen>, LabError>>;

/// The watch over the kernel's queues of a run.
pub(crate) struct QueueWatch<'scope> {
    behind: Both<Behind>,
    taps: Vec<(Direction, Tap<'scope>)>,
}

/// What one queue did.
pub(crate) struct QueueTruth {
    direction: Direction,
    /// When each packet that got through came and went, and its length.
    passed: Passed,
    /// Those that it dropped, as they came.
    dropped: Vec<Seen>,
    kind: String,
}

impl<'scope> QueueWatch<'scope> {
    /// Begins to watch, until `over`; none: there is no queue of the kernel's. `zero`: of the run, on the wall clock.
    pub(crate) fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        stage: &'env Stage,
        zero: Time,
        over: &'env AtomicBool,
    ) -> Result<Option<(Self, QueueWitness)>, LabError> {
        let mut taps = Vec::new();
        for direction in Direction::BOTH {
            let Some(router) = &stage.ends.routers[direction] else {
                continue;
            };
            for (device, address) in &router.hosts {
                let options = LiveOptions {
                    snap_len: SNAP_LEN,
                    timeout: PATIENCE,
                    ring: RING,
                    ..LiveOptions::default()
                };
                let source = router
                    .host
                    .within(|| LiveSource::open(device, &options))??;
                let from = address.octets();
                let tap = std::thread::Builder::new().name("queue-tap".to_owned());
                let tap = tap.spawn_scoped(scope, move || read(source, from, zero, over));
                taps.push((direction, tap.map_err(LabError::Thread)?));
            }
        }
        let behind = Both::<Behind>::default();
        let witness = QueueWitness(behind.clone());
        Ok((!taps.is_empty()).then_some((QueueWatch { behind, taps }, witness)))
    }

    /// What the queues did, once `over` is set.
    pub(crate) fn finish(self, stage: &Stage) -> Result<Vec<QueueTruth>, LabError> {
        let mut tapped = Both::<Vec<Seen>>::default();
        for (direction, tap) in self.taps {
            tapped[direction].extend(tap.join().map_err(|_| LabError::Panicked)??);
        }
        let mut truths = Vec::new();
        for (direction, mut before) in Direction::BOTH.into_iter().zip(tapped) {
            let Some(router) = &stage.ends.routers[direction] else {
                continue;
            };
            before.sort_by_key(|seen| seen.at);
            let behind = self.behind[direction].lock();
            let counters = router.host.queue_counters(crate::stage::DEVICE)?;
            let behind = behind.unwrap_or_else(PoisonError::into_inner);
            let (passed, mut dropped) = pair(&before, &behind);
            // What came last of those that never went still stands there.
            dropped.truncate(counters.dropped as usize);
            truths.push(QueueTruth {
                direction,
                passed,
                dropped,
                kind: counters.kind,
            });
        }
        Ok(truths)
    }
}

impl QueueTruth {
    /// Puts it in the place of what the emulator knows: the link behind the queue, where nothing waits.
    pub(crate) fn tell(&self, paths: &mut Both<PathRecord>, samples: &mut [Sample]) {
        let path = &mut paths[self.direction];
        path.forget_waits(Place::Queue);
        for (came, went, _) in &self.passed {
            path.waited(*went, Place::Queue, *went - *came);
        }
        for dropped in &self.dropped {
            let packet = Packet::new(0, IpLen::new(dropped.len), FlowHash(0));
            let reason = self.reason();
            path.offered(packet.len.bytes());
            path.event(dropped.at, &Event::Dropped { packet, reason });
        }
        let came = Course::of(self.passed.iter().map(|(came, _, len)| (*came, *len)));
        let went = Course::of(self.passed.iter().map(|(_, went, len)| (*went, *len)));
        for sample in samples {
            let (came, went) = (came.until(sample.at), went.until(sample.at));
            sample.queue_packets[self.direction] += came.0 - went.0;
            sample.queue_bytes[self.direction] += Bytes::new(came.1 - went.1);
        }
    }

    /// For what the discipline is made to drop; the kernel does not say.
    fn reason(&self) -> Reason {
        match self.kind.as_str() {
            "codel" | "fq_codel" | "cake" => Reason::Sojourn,
            "pie" | "fq_pie" | "red" => Reason::Early,
            _ => Reason::Overflow,
        }
    }
}

/// Packets that passed a place: when, and all bytes until then.
struct Course(Vec<(Time, u64)>);

impl Course {
    fn of(packets: impl Iterator<Item = (Time, u32)>) -> Course {
        let mut packets: Vec<_> = packets.collect();
        packets.sort_by_key(|(at, _)| *at);
        let mut sum = 0;
        let summed = packets.into_iter().map(|(at, len)| {
            sum += u64::from(len);
            (at, sum)
        });
        Course(summed.collect())
    }

    /// Packets and bytes.
    fn until(&self, at: Time) -> (u32, u64) {
        let count = self.0.partition_point(|(passed, _)| *passed <= at);
        let bytes = count.checked_sub(1).map_or(0, |last| self.0[last].1);
        (count as u32, bytes)
    }
}

/// Packets from an address that come through a device.
fn read(
    mut source: LiveSource,
    from: [u8; 4],
    zero: Time,
    over: &AtomicBool,
) -> Result<Vec<Seen>, LabError> {
    let mut seen = Vec::new();
    loop {
        // Asked before the last look, so that nothing is left behind.
        let is_over = over.load(Ordering::Relaxed);
        let taken = source.fill(BATCH, &mut |record| {
            let ip = record.data.get(ETHERNET_HEADER..).unwrap_or_default();
            if ip.get(12..16) == Some(&from)
                && let Some(key) = key(ip)
            {
                seen.push(Seen {
                    at: Time::from_ns(0) + record.time.since(zero),
                    key,
                    len: record.wire_len.saturating_sub(ETHERNET_HEADER as u32),
                });
            }
        })?;
        if is_over && taken == 0 {
            return Ok(seen);
        }
    }
}

/// IP's number of the packet, protocol, addresses, and what comes first behind the header: ports, and TCP's sequence number.
fn key(ip: &[u8]) -> Option<u64> {
    if *ip.first()? >> 4 != 4 {
        return None;
    }
    let header = usize::from(ip[0] & 15) * 4;
    let parts = [
        ip.get(4..6)?,
        ip.get(9..10)?,
        ip.get(12..20)?,
        ip.get(header..header + 8)?,
    ];
    // FNV-1a.
    let bytes = parts.iter().flat_map(|part| part.iter());
    Some(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

type Passed = Vec<(Time, Time, u32)>;

/// When each packet came and went, and those that never went, both by their coming. Equal packets keep their order.
fn pair(before: &[Seen], behind: &[Seen]) -> (Passed, Vec<Seen>) {
    let mut waiting: HashMap<u64, VecDeque<Seen>> = HashMap::new();
    for seen in before {
        waiting.entry(seen.key).or_default().push_back(*seen);
    }
    let went = behind.iter().filter_map(|out| {
        let came = waiting.get_mut(&out.key)?.pop_front()?;
        Some((came.at, out.at.max(came.at), out.len))
    });
    let mut passed: Vec<_> = went.collect();
    passed.sort_by_key(|(came, ..)| *came);
    let mut lost: Vec<_> = waiting.into_values().flatten().collect();
    lost.sort_by_key(|seen| (seen.at, seen.key));
    (passed, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_paired_by_what_they_are_and_those_that_never_went_are_left() {
        let seen = |ms: i64, key| Seen {
            at: Time::from_ns(ms * 1_000_000),
            key,
            len: 100,
        };
        let before = [seen(0, 1), seen(1, 2), seen(2, 3), seen(3, 1)];
        let behind = [seen(5, 3), seen(6, 1), seen(9, 1)];
        let (passed, lost) = pair(&before, &behind);
        let waits: Vec<_> = passed.iter().map(|(came, went, _)| *went - *came).collect();
        assert_eq!(waits, [6, 3, 6].map(Delta::ms));
        assert_eq!(lost, [before[1]]);
    }

    #[test]
    fn a_course_counts_what_has_passed() {
        let at = Time::from_ns;
        let course = Course::of([(at(5), 100), (at(2), 50)].into_iter());
        assert_eq!(
            [1, 2, 7].map(|ns| course.until(at(ns))),
            [(0, 0), (1, 50), (2, 150)]
        );
    }

    #[test]
    fn a_key_does_not_hang_on_what_routers_change() {
        let mut ip = vec![
            0x45, 0, 0, 40, 1, 2, 0x40, 0, 64, 6, 0xaa, 0xbb, 10, 99, 0, 1, 10, 45, 0, 1,
        ];
        ip.extend([0x13, 0x88, 0x9c, 0x41, 0, 0, 0, 1]);
        let first = key(&ip).unwrap();
        let mut later = ip.clone();
        (later[1], later[8], later[10]) = (3, 63, 0xab);
        assert_eq!(key(&later), Some(first));
        later[27] = 2;
        assert_ne!(key(&later), Some(first));
        assert_eq!(key(&ip[..20]), None);
    }
}
