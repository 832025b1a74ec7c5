//! Handshakes whose promotion delay cannot be told before the client's tick is known (§4.2).
//!
//! The delay is counted in ticks of the client's clock, and clients whose radio is promoted often
//! have flows too short to measure a tick (`delta_G`). So handshakes wait at their user. From the
//! first one on, limits of the tick are taken from all the user's flows: between two ACKs of one
//! flow the client's clock went on for as long as the monitor's, but for what the ACKs took from
//! the client to the monitor, and each took at least nothing and at most the round trip that it
//! ended. No delay is assumed to be constant and none to be small. TSvals of different connections
//! begin anywhere (Linux draws an offset for each), but their ticks are one host's.
//!
//! Limits that leave one tick that hosts use, and leave it within 5 %, tell it. Limits that
//! contradict each other, as of several hosts behind one address, tell nothing.

use super::clock::{COMMON, USABLE};
use super::{Tick, User};
use unbloat_units::{Delta, Seq, Time};

/// A handshake after `T` of silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silent {
    pub(crate) flow_id: u64,
    pub(crate) begun: Time,
    /// From the SYN to its ACK, by the client's clock and at the monitor.
    pub(crate) ticks: u32,
    pub(crate) at_monitor: Delta,
}

impl Silent {
    /// How long the SYN waited for the radio, and a bound on the error.
    pub(crate) fn promotion(&self, tick: Tick) -> (Delta, Delta) {
        let by_client = tick.value * i64::from(self.ticks);
        // Each of the two stamps is off by up to one tick.
        let error = Delta::from_secs_f64(by_client.as_secs() * tick.error) + tick.value;
        (by_client - self.at_monitor, error)
    }
}

/// A packet of the client that ended a round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) flow_id: u64,
    pub(crate) time: Time,
    pub(crate) tsval: Seq,
    pub(crate) rtt: Delta,
}

/// Of a user whose tick is wanted and unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    handshakes: Vec<Silent>,
    /// The first answer of each flow, the flow heard of first at the front.
    first: Vec<Answer>,
    limits: Limits,
}

/// What the tick must lie between, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Limits {
    least: f64,
    most: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            least: 0.0,
            most: f64::INFINITY,
        }
    }
}

impl Limits {
    fn narrow(&mut self, first: &Answer, last: &Answer) {
        let ns = |delta: Delta| delta.as_ns() as f64;
        let span = ns(last.time.since(first.time));
        let ticks = f64::from(last.tsval.since(first.tsval));
        if ticks > 1.0 {
            // Either stamp may be anywhere in its tick.
            self.least = self.least.max((span - ns(last.rtt)) / (ticks + 1.0));
            self.most = self.most.min((span + ns(first.rtt)) / (ticks - 1.0));
        }
    }

    fn tick(&self) -> Option<Tick> {
        let within = |tick: &&Delta| (self.least..=self.most).contains(&(tick.as_ns() as f64));
        let mut possible = COMMON.iter().filter(within);
        let value = *possible.next()?;
        let ns = value.as_ns() as f64;
        let error = (self.most / ns - 1.0).max(1.0 - self.least / ns);
        (possible.next().is_none() && error <= USABLE).then_some(Tick { value, error })
    }
}

impl Waiting {
    /// The oldest go first. Silences are seconds long: an hour has some hundred of them.
    const MAX_HANDSHAKES: usize = 64;
    /// Flows of a user that are followed at once.
    const MAX_FLOWS: usize = 8;

    fn push(&mut self, answer: Answer) {
        let first = self.first.iter().find(|a| a.flow_id == answer.flow_id);
        if let Some(first) = first {
            self.limits.narrow(first, &answer);
            return;
        }
        if self.first.len() == Self::MAX_FLOWS {
            self.first.remove(0);
        }
        self.first.push(answer);
    }
}

impl User {
    /// The tick will be needed.
    pub(crate) fn want_tick(&mut self) {
        if self.tick.is_none() {
            self.waiting.get_or_insert_default();
        }
    }

    #[inline]
    pub(crate) fn on_answer(&mut self, answer: Answer) {
        if let Some(waiting) = &mut self.waiting {
            waiting.push(answer);
        }
    }

    /// Takes the tick that the limits tell, if it is wanted and unknown.
    pub(crate) fn try_limits(&mut self) {
        if self.tick.is_none() {
            self.tick = self.waiting.as_ref().and_then(|w| w.limits.tick());
        }
    }

    /// Keeps a handshake after `T` of silence, whose flow ends now.
    pub(crate) fn keep(&mut self, silent: Silent) {
        let handshakes = &mut self.waiting.get_or_insert_default().handshakes;
        if handshakes.len() == Waiting::MAX_HANDSHAKES {
            handshakes.remove(0);
        }
        handshakes.push(silent);
    }

    /// What was kept, once the tick is known.
    pub(crate) fn take_kept(&mut self) -> Option<(Tick, Vec<Silent>)> {
        let tick = self.tick?;
        let waiting = self.waiting.take()?;
        Some((tick, waiting.handshakes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows that last for `lasts_ms` each, of hosts whose ticks are those of `ticks_ms` in turn.
    fn tick(flows: u64, lasts_ms: i64, ticks_ms: &[f64]) -> Option<Tick> {
        let mut waiting = Waiting::default();
        for flow_id in 0..flows {
            for step in 0..=4 {
                let sent_ms = flow_id as i64 * 5000 + step * lasts_ms / 4;
                // The way up takes 15 to 35 ms of 40.
                let up_ms = 15 + 20 * (step % 2);
                let ticks = sent_ms as f64 / ticks_ms[flow_id as usize % ticks_ms.len()];
                waiting.push(Answer {
                    flow_id,
                    time: Time::default() + Delta::ms(sent_ms + up_ms),
                    tsval: Seq::new((flow_id as u32).wrapping_mul(0x9e37_79b9)) + ticks as u32,
                    rtt: Delta::ms(40),
                });
            }
        }
        waiting.limits.tick()
    }

    #[test]
    fn a_second_and_a_half_tells_a_common_tick() {
        for ms in [1, 10] {
            let tick = tick(1, 1500, &[ms as f64]).expect("a tick");
            assert_eq!(tick.value, Delta::ms(ms));
            assert!(tick.error < 0.04, "{tick:?}");
        }
    }

    #[test]
    fn half_a_second_does_not_and_more_of_them_do_not_either() {
        assert_eq!(tick(1, 500, &[1.0]), None);
        assert_eq!(tick(20, 500, &[1.0]), None);
    }

    #[test]
    fn an_uncommon_tick_or_two_hosts_behind_an_address_tell_nothing() {
        assert_eq!(tick(5, 4000, &[3.333]), None);
        assert_eq!(tick(5, 4000, &[1.0, 10.0]), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut waiting = Waiting::default();
        for flow_id in 0..20 {
            let (time, tsval, rtt) = Default::default();
            waiting.push(Answer {
                flow_id,
                time,
                tsval,
                rtt,
            });
        }
        assert_eq!(waiting.first.len(), Waiting::MAX_FLOWS);
    }
}
