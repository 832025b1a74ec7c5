//! One direction of one stretch of path: delay, jitter, loss, reordering, outages.

use fastrand::Rng;
use unbloat_units::{Delta, Time};

/// What a stretch of path does to packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Impairment {
    pub delay: Delta,
    /// Extra delay, uniform from zero to this; it never reorders.
    pub jitter: Delta,
    /// Probability that a packet is lost, each by itself.
    pub loss: f64,
    /// Probability that a packet is held back by `hold` while later ones go on.
    pub reorder: f64,
    pub hold: Delta,
    pub outage: Option<Outage>,
}

/// Spans in which most packets are lost, so that retransmissions are lost too.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// Mean of the exponential time from one outage's end to the next one's start.
    pub every: Delta,
    /// Lengths are uniform between these.
    pub shortest: Delta,
    pub longest: Delta,
    /// Probability of loss inside.
    pub loss: f64,
}

/// What becomes of a packet that enters a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lost,
    Passes { at: Time },
    Held { at: Time, hold: Delta },
}

/// State of one segment for one client and direction.
#[derive(Clone, Debug)]
pub struct Segment {
    params: Impairment,
    last_out: Time,
    outage: Option<(Time, Time)>,
}

impl Segment {
    pub fn new(params: Impairment) -> Segment {
        Segment {
            params,
            last_out: Time::MIN,
            outage: None,
        }
    }

    pub fn enter(&mut self, now: Time, rng: &mut Rng) -> Fate {
        let loss = self.outage_loss(now, rng).max(self.params.loss);
        if chance(loss, rng) {
            return Fate::Lost;
        }
        let jitter = uniform(Delta::ZERO, self.params.jitter, rng);
        let at = (now + self.params.delay + jitter).max(self.last_out);
        if chance(self.params.reorder, rng) {
            let hold = self.params.hold;
            return Fate::Held {
                at: at + hold,
                hold,
            };
        }
        self.last_out = at;
        Fate::Passes { at }
    }

    fn outage_loss(&mut self, now: Time, rng: &mut Rng) -> f64 {
        let Some(outage) = self.params.outage else {
            return 0.0;
        };
        let (mut start, mut end) = *self.outage.get_or_insert_with(|| outage.after(now, rng));
        while end <= now {
            (start, end) = outage.after(end, rng);
        }
        self.outage = Some((start, end));
        if start <= now { outage.loss } else { 0.0 }
    }
}

impl Outage {
    fn after(&self, last_end: Time, rng: &mut Rng) -> (Time, Time) {
        let wait = -(1.0 - rng.f64()).ln() * self.every.as_secs();
        let start = last_end + Delta::from_secs_f64(wait);
        let length = uniform(self.shortest, self.longest, rng).max(Delta::ns(1));
        (start, start + length)
    }
}

/// Draws only when the outcome is open, so that unused features leave the random stream alone.
fn chance(probability: f64, rng: &mut Rng) -> bool {
    probability > 0.0 && rng.f64() < probability
}

fn uniform(low: Delta, high: Delta, rng: &mut Rng) -> Delta {
    if high <= low {
        return low;
    }
    low + Delta::ns(rng.i64(0..=(high - low).as_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::default() + Delta::ms(ms)
    }

    #[test]
    fn jitter_never_reorders() {
        let mut rng = Rng::with_seed(1);
        let mut segment = Segment::new(Impairment {
            delay: Delta::ms(20),
            jitter: Delta::ms(30),
            ..Impairment::default()
        });
        let mut last = Time::MIN;
        for ms in 0..1000 {
            let Fate::Passes { at } = segment.enter(at_ms(ms), &mut rng) else {
                panic!("nothing is lost or held here");
            };
            assert!(at >= last && at >= at_ms(ms + 20));
            last = at;
        }
    }

    #[test]
    fn a_held_packet_lets_the_next_one_pass() {
        let mut rng = Rng::with_seed(1);
        let mut params = Impairment {
            reorder: 1.0,
            hold: Delta::ms(3),
            ..Impairment::default()
        };
        let mut segment = Segment::new(params);
        let held = Fate::Held {
            at: at_ms(3),
            hold: Delta::ms(3),
        };
        assert_eq!(segment.enter(at_ms(0), &mut rng), held);
        params.reorder = 0.0;
        segment.params = params;
        let passes = Fate::Passes { at: at_ms(1) };
        assert_eq!(segment.enter(at_ms(1), &mut rng), passes);
    }

    #[test]
    fn outages_take_their_share_of_time() {
        let mut rng = Rng::with_seed(7);
        let mut segment = Segment::new(Impairment {
            outage: Some(Outage {
                every: Delta::ms(300),
                shortest: Delta::ms(100),
                longest: Delta::ms(100),
                loss: 1.0,
            }),
            ..Impairment::default()
        });
        let lost = (0..400_000)
            .filter(|ms| segment.enter(at_ms(*ms), &mut rng) == Fate::Lost)
            .count();
        assert!((90_000..110_000).contains(&lost), "{lost} of 400000 lost");
    }
}
