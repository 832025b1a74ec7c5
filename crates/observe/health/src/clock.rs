//! Steps of the capture clock, found and taken out.
//!
//! # How a step is distinguished from silence and from a queue
//! Between two packets the capture clock moved on by some time, and so did the timestamp clocks of the
//! hosts that sent before and after (RFC 7323 §5.4). A silence moves all of them alike. A queue moves the
//! packets of one direction only, and delays of packets that were held together fall again by what their
//! senders' clocks advance. A step of the capture clock moves the packets of *both* directions against
//! their senders' clocks by the same time, and they stay there, while round trips stay as they were
//! (Zhang, Liu and Xia, "Clock synchronization algorithms for network measurements", INFOCOM 2002, tell resets of
//! clocks in the same way).
//!
//! Where only one direction was captured, a step back shows, because no queue lets a packet out before the one ahead of it: the packets
//! after it are in order again and stay late by the same time against their senders' clocks. A step forward
//! looks like a queue there, and is left in.
//!
//! Without timestamps only a clock that was set back shows, and only where it is no matter of packets out of order:
//! by a second or more, and no packet after it is later than those before.
//!
//! Steps below 50 ms are not looked for: quiet networks pause for as long all the time. Nor are those of less than
//! 40 % of a silence: ticks of hosts are known no better.

use crate::stamps::{Compared, Stamp, compare, stamps};
use crate::state::{Reader, Writer};
use crate::{ClockHealth, Step};
use unbloat_units::{Delta, Time};
use unbloat_wire::PacketHeader;

/// Follows the capture clock in trace order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    /// To be added to times of packets that are still to come.
    correction: Delta,
    last: Option<Time>,
    /// The latest stamps.
    tail: Vec<Stamp>,
    /// A jump of time of which nothing is decided yet.
    pending: Option<Pending>,
    found: ClockHealth,
}

#[derive(Clone, Debug)]
struct Pending {
    at: Time,
    before: Vec<Stamp>,
    after: Vec<Stamp>,
}

/// What a jump of time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jump {
    Silence,
    Step(Delta),
    /// Too little has come after it.
    Open,
}

const SMALLEST: Delta = Delta::ms(50);
/// Without timestamps.
const SMALLEST_BACK: Delta = Delta::secs(1);
/// Packets in order that must follow such a step; at a capture's end fewer.
const IN_ORDER: usize = 32;
/// Stamps looked at before a jump, and after it.
const BEFORE: usize = 256;
const AFTER: usize = 2048;
const LONGEST_AFTER: Delta = Delta::secs(1);
/// Steps told one by one.
pub(crate) const TOLD: usize = 16;

impl Clock {
    /// To be added to the time of each packet of the next batch.
    pub(crate) fn correction(&self) -> Delta {
        self.correction
    }

    pub(crate) fn found(&self) -> &ClockHealth {
        &self.found
    }

    /// The steps since the beginning, or since the last call.
    pub(crate) fn take_found(&mut self) -> ClockHealth {
        std::mem::take(&mut self.found)
    }

    /// All but the correction, which stands for nothing else than a shift of all times.
    pub(crate) fn write(&self, to: &mut Writer) {
        to.time(self.last);
        Stamp::write_all(&self.tail, to);
        to.u64(u64::from(self.pending.is_some()));
        if let Some(pending) = &self.pending {
            to.time(Some(pending.at));
            Stamp::write_all(&pending.before, to);
            Stamp::write_all(&pending.after, to);
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>, correction: Delta) -> Option<Clock> {
        let last = from.time()?;
        let tail = Stamp::read_all(from)?;
        let pending = match from.u64()? {
            0 => None,
            _ => Some(Pending {
                at: from.time()??,
                before: Stamp::read_all(from)?,
                after: Stamp::read_all(from)?,
            }),
        };
        Some(Clock {
            correction,
            last,
            tail,
            pending,
            found: ClockHealth::default(),
        })
    }

    /// Takes steps out of the times of the next packets. Says whether there were any.
    pub(crate) fn look(&mut self, headers: &mut [PacketHeader], origin: Time) -> bool {
        let mut is_changed = self.resume(headers, origin);
        let mut seen = 0;
        while let Some(first) = headers.get(seen) {
            let mut last = self.last.unwrap_or(first.time);
            let jump_at = headers[seen..].iter().position(|header| {
                let jump = header
                    .time
                    .since_bounded(std::mem::replace(&mut last, header.time));
                jump >= SMALLEST || jump <= Delta::ZERO - SMALLEST
            });
            let Some(at) = jump_at.map(|at| seen + at) else {
                self.last = Some(last);
                break;
            };
            let before = at.checked_sub(1).map(|i| headers[i].time).or(self.last);
            let jump = before.map_or(Delta::ZERO, |before| headers[at].time.since(before));
            if self.pending.is_none()
                && let Some((step, is_by_timestamps)) = self.step_at(headers, at, jump)
            {
                self.note(step, is_by_timestamps, headers[at].time.since(origin));
                shift(&mut headers[at..], step);
                is_changed = true;
            }
            self.last = Some(headers[at].time);
            seen = at + 1;
        }
        self.keep_tail(headers);
        is_changed
    }

    /// Looks again at a jump near the end of the batch before.
    fn resume(&mut self, headers: &mut [PacketHeader], origin: Time) -> bool {
        let Some(mut pending) = self.pending.take() else {
            return false;
        };
        extend(&mut pending.after, headers, pending.at);
        match judge(&pending.before, &pending.after) {
            Jump::Silence => false,
            Jump::Open => {
                let is_full = pending.after.len() >= AFTER
                    || headers
                        .last()
                        .is_some_and(|h| h.time.since(pending.at) > LONGEST_AFTER);
                self.pending = (!is_full).then_some(pending);
                false
            }
            Jump::Step(step) => {
                self.note(step, true, pending.at.since(origin));
                shift(headers, step);
                let put_back = pending.after.iter().map(|stamp| stamp.earlier_by(step));
                self.tail = pending.before.iter().copied().chain(put_back).collect();
                self.last = self.last.map(|last| last - step);
                true
            }
        }
    }

    fn note(&mut self, step: Delta, is_by_timestamps: bool, since_origin: Delta) {
        self.correction -= step;
        self.found.steps += 1;
        if self.found.first.len() < TOLD {
            self.found.first.push(Step {
                time_ns: (since_origin - step).as_ns(),
                step_ns: step.as_ns(),
                is_by_timestamps,
            });
        }
    }

    /// By how much the clock stepped before packet `i`, if it did, and whether timestamps tell so.
    fn step_at(
        &mut self,
        headers: &[PacketHeader],
        i: usize,
        jump: Delta,
    ) -> Option<(Delta, bool)> {
        let at = headers[i].time;
        let mut before: Vec<Stamp> = stamps(headers[..i].iter().rev()).take(BEFORE).collect();
        let missing = BEFORE - before.len();
        before.extend(self.tail.iter().rev().take(missing));
        before.reverse();
        let mut after = Vec::new();
        extend(&mut after, &headers[i..], at);
        match judge(&before, &after) {
            Jump::Step(step) => Some((step, true)),
            _ if is_set_back(headers, i, jump) => Some((jump, false)),
            Jump::Open if !before.is_empty() && !after.is_empty() => {
                self.pending = Some(Pending { at, before, after });
                None
            }
            _ => None,
        }
    }

    fn keep_tail(&mut self, headers: &[PacketHeader]) {
        let new: Vec<Stamp> = stamps(headers.iter().rev()).take(BEFORE).collect();
        self.tail.extend(new.into_iter().rev());
        let too_many = self.tail.len().saturating_sub(BEFORE);
        self.tail.drain(..too_many);
    }
}

fn shift(headers: &mut [PacketHeader], step: Delta) {
    for header in headers {
        header.time = header.time - step;
    }
}

fn extend(after: &mut Vec<Stamp>, headers: &[PacketHeader], at: Time) {
    let soon = headers
        .iter()
        .take_while(|h| h.time.since(at) <= LONGEST_AFTER);
    let room = AFTER.saturating_sub(after.len());
    after.extend(stamps(soon).take(room));
}

/// Time goes back by a second or more before packet `i`, and stays there.
fn is_set_back(headers: &[PacketHeader], i: usize, jump: Delta) -> bool {
    let end = headers.len().min(i + IN_ORDER);
    let following = &headers[i..end];
    jump <= Delta::ZERO - SMALLEST_BACK
        && following.len() >= IN_ORDER / 4
        && following.windows(2).all(|two| two[0].time <= two[1].time)
        && following.iter().all(|h| h.time < headers[i].time - jump)
}

/// What the clocks of the senders say of a jump between two runs of stamps.
fn judge(before: &[Stamp], after: &[Stamp]) -> Jump {
    let mut clocks: Vec<Compared> = Vec::new();
    for (i, stamp) in after.iter().enumerate() {
        let is_first = !after[..i].iter().any(|s| s.sender == stamp.sender);
        if is_first && let Some(clock) = compare(before, after, stamp.sender) {
            if clock.is_no_step(SMALLEST / 2) {
                return Jump::Silence;
            }
            if clock.is_fine_enough() {
                clocks.push(clock);
            }
        }
        if clocks.len() == MOST_CLOCKS || i == MOST_LOOKED_AT {
            break;
        }
    }
    clocks.sort_by_key(|clock| clock.shift);
    let Some(middle) = clocks.get(clocks.len() / 2).map(|clock| clock.shift) else {
        return Jump::Open;
    };
    if clocks.iter().any(|clock| !clock.agrees_on(middle)) {
        return Jump::Silence;
    }
    let is_steady = |up: bool| clocks.iter().any(|c| c.is_uplink == up && c.is_steady);
    let is_one_enough = is_back_in_order(before, after);
    if is_steady(true) && is_steady(false) || is_one_enough && (is_steady(true) || is_steady(false))
    {
        Jump::Step(middle)
    } else {
        Jump::Open
    }
}

/// Time goes back between the runs, and the second is in order.
fn is_back_in_order(before: &[Stamp], after: &[Stamp]) -> bool {
    let ends = before.last().zip(after.first());
    ends.is_some_and(|(last, first)| last.time.since(first.time) >= SMALLEST)
        && after.len() >= IN_ORDER / 4
        && after.is_sorted_by_key(|stamp| stamp.time)
}

/// Hosts whose clocks are compared at one jump.
const MOST_CLOCKS: usize = 16;
/// Stamps after it among which they are looked for.
const MOST_LOOKED_AT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Talk, at_ms};
    use unbloat_units::Seq;

    /// What a capture shows whose clock is at `clock` when it is really so late, cut into batches.
    fn found(talk: &Talk, batch: usize, clock: impl Fn(f64) -> f64) -> (Vec<f64>, ClockHealth) {
        let mut packets = talk.packets();
        for packet in &mut packets {
            packet.time =
                at_ms(0) + Delta::from_secs_f64(clock(packet.time.since(at_ms(0)).as_secs()));
        }
        let mut looked = Clock::default();
        let mut times = Vec::new();
        let origin = packets[0].time;
        for few in packets.chunks_mut(batch) {
            shift(few, Delta::ZERO - looked.correction());
            looked.look(few, origin);
            times.extend(few.iter().map(|h| h.time.since(at_ms(0)).as_ms()));
        }
        (times, looked.found)
    }

    fn largest_error(talk: &Talk, times: &[f64]) -> f64 {
        let real = talk.packets();
        let errors = real
            .iter()
            .zip(times)
            .map(|(p, t)| (p.time.since(at_ms(0)).as_ms() - t).abs());
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn a_step_forward_is_taken_out_to_a_few_milliseconds() {
        let talk = Talk::default();
        for step in [0.06, 0.3, 3600.0] {
            let clock = |s: f64| if s < 2.0 { s } else { s + step };
            let (times, health) = found(&talk, 4096, clock);
            assert_eq!(health.steps, 1, "{step}: {health:?}");
            let told = health.first[0].step_ns as f64 / 1e9;
            assert!((told - step).abs() < 0.004, "{step}: {told}");
            assert!(
                (health.first[0].time_ns as f64 / 1e9 - 1.98).abs() < 0.02,
                "{health:?}"
            );
            assert!(health.first[0].is_by_timestamps);
            assert!(largest_error(&talk, &times) < 4.0);
        }
    }

    #[test]
    fn a_clock_set_back_is_found_too_and_two_steps_are_two() {
        let talk = Talk::default();
        let clock = |s: f64| s - if s < 1.0 { 0.0 } else { 0.4 } + if s < 3.0 { 0.0 } else { 5.0 };
        let (times, health) = found(&talk, 4096, clock);
        let steps: Vec<f64> = health
            .first
            .iter()
            .map(|s| s.step_ns as f64 / 1e9)
            .collect();
        assert!(
            steps.len() == 2 && (steps[0] + 0.4).abs() < 0.004,
            "{steps:?}"
        );
        assert!(largest_error(&talk, &times) < 6.0);
    }

    #[test]
    fn a_step_at_the_end_of_a_batch_is_decided_in_the_next() {
        let talk = Talk::default();
        let clock = |s: f64| if s < 2.0 { s } else { s + 0.3 };
        for batch in [7, 10, 50, 401] {
            let (times, health) = found(&talk, batch, clock);
            assert_eq!(health.steps, 1, "batches of {batch}");
            let real = talk.packets();
            let wrong = real.iter().zip(&times);
            let wrong = wrong.filter(|(p, t)| (p.time.since(at_ms(0)).as_ms() - **t).abs() > 4.0);
            assert!(wrong.count() < 20, "batches of {batch}");
        }
    }

    #[test]
    fn a_silence_in_which_timestamps_begin_anew_is_no_step() {
        // 40 minutes, of hosts that count microseconds: more than 2^31 of them.
        let silence = Delta::secs(2_400);
        let mut packets = Talk::default().packets();
        for packet in &mut packets {
            if packet.time > at_ms(2_000) {
                packet.time += silence;
            }
            packet.tsval = Seq::new((packet.time.as_ns() / 1_000) as u32);
        }
        let origin = packets[0].time;
        let mut looked = Clock::default();
        looked.look(&mut packets, origin);
        assert_eq!(looked.found().steps, 0, "{:?}", looked.found());
    }

    #[test]
    fn silence_is_no_step() {
        let talk = Talk {
            silence: Some((2.0, 3.0)),
            ..Talk::default()
        };
        assert_eq!(found(&talk, 4096, |s| s).1.steps, 0);
    }

    #[test]
    fn a_queue_and_an_outage_of_both_directions_are_no_steps() {
        let queue = Talk {
            down_delay: |s| {
                if s < 2.0 {
                    0.02
                } else {
                    (0.4 - (s - 2.0) / 4.0).max(0.02)
                }
            },
            ..Talk::default()
        };
        assert_eq!(found(&queue, 4096, |s| s).1.steps, 0);
        let held = |s: f64| {
            if (2.0..2.5).contains(&s) {
                2.52 - s
            } else {
                0.02
            }
        };
        let outage = Talk {
            down_delay: held,
            up_delay: held,
            ..Talk::default()
        };
        assert_eq!(found(&outage, 4096, |s| s).1.steps, 0);
    }

    #[test]
    fn a_tick_that_nobody_knows_makes_no_step_of_a_silence() {
        // 300 Hz, which short runs of packets take for 250.
        let mut packets = Talk {
            silence: Some((1.0, 3.0)),
            ..Talk::default()
        }
        .packets();
        for packet in &mut packets {
            packet.tsval = Seq::new((packet.tsval.since(Seq::new(0)) as u32 / 10) * 3);
        }
        let mut clock = Clock::default();
        let origin = packets[0].time;
        clock.look(&mut packets, origin);
        assert_eq!(clock.found.steps, 0);
    }

    #[test]
    fn a_pause_shorter_than_ticks_can_tell_is_no_step() {
        for pause_ms in [60, 80, 100, 130, 170, 190] {
            for from_ms in (1_000..1_100).step_by(7) {
                let mut packets = Talk {
                    tick_ms: 100,
                    ..Talk::default()
                }
                .packets();
                packets.retain(|packet| {
                    let at = packet.time.since(at_ms(0)).as_ms() as i64;
                    !(from_ms..from_ms + pause_ms).contains(&at)
                });
                let mut clock = Clock::default();
                let origin = packets[0].time;
                clock.look(&mut packets, origin);
                assert_eq!(clock.found.steps, 0, "{pause_ms} ms from {from_ms}");
            }
        }
    }

    #[test]
    fn a_ten_millisecond_tick_is_known_from_the_packets() {
        let talk = Talk {
            tick_ms: 10,
            ..Talk::default()
        };
        let (_, health) = found(&talk, 4096, |s| if s < 2.0 { s } else { s + 0.5 });
        assert_eq!(health.steps, 1);
        assert!((health.first[0].step_ns as f64 / 1e9 - 0.5).abs() < 0.02);
    }

    #[test]
    fn of_one_direction_a_step_back_shows_and_a_step_forward_looks_like_a_queue() {
        let talk = Talk::default();
        let found = |up: bool, step: f64| {
            let mut packets = talk.packets();
            packets.retain(|packet| packet.is_uplink() == up);
            for packet in &mut packets {
                if packet.time.since(at_ms(0)) >= Delta::secs(2) {
                    packet.time += Delta::from_secs_f64(step);
                }
            }
            let mut clock = Clock::default();
            let origin = packets[0].time;
            clock.look(&mut packets, origin);
            (clock.found, packets)
        };
        for up in [true, false] {
            assert_eq!(found(up, 0.3).0.steps, 0);
            let (health, packets) = found(up, -0.3);
            assert_eq!(health.steps, 1, "{health:?}");
            assert!((health.first[0].step_ns as f64 / 1e9 + 0.3).abs() < 0.004);
            assert!(packets.is_sorted_by_key(|packet| packet.time));
        }
    }

    #[test]
    fn a_burst_of_one_direction_that_was_written_late_is_no_step() {
        // As queues of a network card do that are read in turns.
        let talk = Talk::default();
        let mut packets = talk.packets();
        packets.retain(|packet| !packet.is_uplink());
        let from = packets.partition_point(|p| p.time < at_ms(1_000));
        let until = packets.partition_point(|p| p.time < at_ms(1_100));
        let later = packets.partition_point(|p| p.time < at_ms(1_200));
        packets[from..later].rotate_left(until - from);
        let mut clock = Clock::default();
        let origin = packets[0].time;
        clock.look(&mut packets, origin);
        assert_eq!(clock.found.steps, 0, "{:?}", clock.found);
    }

    #[test]
    fn without_timestamps_only_a_clock_that_is_set_back_for_good_shows() {
        let talk = Talk {
            tick_ms: 0,
            ..Talk::default()
        };
        let back = found(&talk, 4096, |s| if s < 2.0 { s } else { s - 100.0 });
        assert_eq!(back.1.steps, 1);
        assert!(!back.1.first[0].is_by_timestamps);
        assert!(largest_error(&talk, &back.0) < 12.0);
        assert_eq!(
            found(&talk, 4096, |s| if s < 2.0 { s } else { s + 100.0 })
                .1
                .steps,
            0
        );
        let out_of_order = |s: f64| if (2.0..2.05).contains(&s) { s - 1.5 } else { s };
        assert_eq!(found(&talk, 4096, out_of_order).1.steps, 0);
    }
}
