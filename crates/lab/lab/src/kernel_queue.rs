//! What a queue of the kernel's did: from packets seen before it and behind it, and from its own counters.
//!
//! Before it is where they come into the router, from which they go to the queue at once; behind it is where they come to the
//! emulator. A packet is known by what no router changes of it.

use crate::error::LabError;
use crate::stage::Stage;
use std::collections::HashMap;
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
    /// It carries CE (RFC 3168).
    is_marked: bool,
}

impl Seen {
    /// `None`: it is no IPv4.
    fn of(ip: &[u8], at: Time, len: u32) -> Option<Seen> {
        let is_marked = ip.get(1)? & 3 == 3;
        key(ip).map(|key| Seen {
            at,
            key,
            len,
            is_marked,
        })
    }
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
        if let Some(one) = Seen::of(&head, at, packet.len.as_u32()) {
            let mut seen = self.0[direction]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            seen.push(one);
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
    passed: Vec<Passed>,
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
        let packet = |len| Packet::new(0, IpLen::new(len), FlowHash(0));
        let reason = self.reason();
        for one in &self.passed {
            path.waited(one.went, Place::Queue, one.went - one.came);
            if one.is_marked {
                let packet = packet(one.len);
                path.event(one.went, &Event::Marked { packet, reason });
            }
        }
        for dropped in &self.dropped {
            let packet = packet(dropped.len);
            path.offered(packet.len.bytes());
            path.event(dropped.at, &Event::Dropped { packet, reason });
        }
        let came = Course::of(self.passed.iter().map(|one| (one.came, one.len)));
        let went = Course::of(self.passed.iter().map(|one| (one.went, one.len)));
        for sample in samples {
            let (came, went) = (came.until(sample.at), went.until(sample.at));
            sample.queue_packets[self.direction] += came.0 - went.0;
            sample.queue_bytes[self.direction] += Bytes::new(came.1 - went.1);
        }
    }

    /// For what the discipline is made to drop and mark; the kernel does not say.
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
            if ip.get(12..16) == Some(&from) {
                let at = Time::from_ns(0) + record.time.since(zero);
                let len = record.wire_len.saturating_sub(ETHERNET_HEADER as u32);
                seen.extend(Seen::of(ip, at, len));
            }
        })?;
        if is_over && taken == 0 {
            return Ok(seen);
        }
    }
}

/// IP's number of the packet, protocol, addresses, and what comes first behind the header: of TCP the ports, both numbers, flags and window.
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
        &ip[header + 8..ip.len().min(header + 16)],
    ];
    // FNV-1a.
    let bytes = parts.iter().flat_map(|part| part.iter());
    Some(bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

/// A packet that got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passed {
    came: Time,
    went: Time,
    len: u32,
    /// In the queue.
    is_marked: bool,
}

/// Packets that got through and those that never went, both by their coming. Equal packets keep their order; where some of them never went, as
/// acknowledgments whose IP number has come round, the wait is the shortest that is possible.
fn pair(before: &[Seen], behind: &[Seen]) -> (Vec<Passed>, Vec<Seen>) {
    // Two clocks tell when.
    const APART: Delta = Delta::ms(1);
    let mut waiting: HashMap<u64, Vec<Seen>> = HashMap::new();
    for seen in before {
        waiting.entry(seen.key).or_default().push(*seen);
    }
    let (mut passed, mut lost) = (Vec::new(), Vec::new());
    for out in behind.iter().rev() {
        let Some(equal) = waiting.get_mut(&out.key) else {
            continue;
        };
        let until = out.at + APART;
        while let Some(last) = equal.pop_if(|last| last.at > until) {
            lost.push(last);
        }
        passed.extend(equal.pop().map(|last| Passed {
            came: last.at,
            went: out.at.max(last.at),
            len: out.len,
            is_marked: out.is_marked && !last.is_marked,
        }));
    }
    passed.sort_by_key(|one| one.came);
    lost.extend(waiting.into_values().flatten());
    lost.sort_by_key(|seen| (seen.at, seen.key));
    (passed, lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ms: i64, key: u64) -> Seen {
        Seen {
            at: Time::from_ns(ms * 1_000_000),
            key,
            len: 100,
            is_marked: false,
        }
    }

    fn waits(passed: &[Passed]) -> Vec<Delta> {
        passed.iter().map(|one| one.went - one.came).collect()
    }

    #[test]
    fn packets_are_paired_by_what_they_are_and_those_that_never_went_are_left() {
        let before = [seen(0, 1), seen(1, 2), seen(2, 3), seen(3, 1)];
        let behind = [seen(5, 3), seen(6, 1), seen(9, 1)];
        let (passed, lost) = pair(&before, &behind);
        assert_eq!(waits(&passed), [6, 3, 6].map(Delta::ms));
        assert_eq!(lost, [before[1]]);
    }

    #[test]
    fn a_packet_that_was_dropped_is_not_the_equal_one_that_came_later() {
        let before = [seen(0, 1), seen(31_700, 1), seen(63_400, 1)];
        let (passed, lost) = pair(&before, &[seen(31_726, 1)]);
        assert_eq!(waits(&passed), [Delta::ms(26)]);
        assert_eq!(lost, [before[0], before[2]]);
    }

    #[test]
    fn marks_are_those_of_the_queue() {
        let marked = |ms, key| Seen {
            is_marked: true,
            ..seen(ms, key)
        };
        let before = [seen(0, 1), seen(1, 2), marked(2, 3)];
        let (passed, _) = pair(&before, &[marked(5, 1), seen(6, 2), marked(7, 3)]);
        let marks: Vec<bool> = passed.iter().map(|one| one.is_marked).collect();
        assert_eq!(marks, [true, false, false]);
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
