//! The radio state that makes a silent client wait before it may send.

use unbloat_units::{Delta, Time};

/// Promotion from idle, after the model of the LTE study (Huang et al., SIGCOMM 2013, section 4.2).
///
/// Only the client's own first packet waits. A packet towards a silent client is not delayed by
/// paging, it just counts as activity.
#[derive(Clone, Copy, Debug)]
pub struct RadioParams {
    /// Mean wait; each is uniform between 0.7 and 1.3 of it.
    pub promotion: Delta,
    /// Silence after which the client is idle.
    pub tail: Delta,
}

/// The radio of one client.
#[derive(Clone, Debug)]
pub struct Radio {
    params: RadioParams,
    last_active: Time,
}

impl Radio {
    /// A client that has been idle since `start` less the tail.
    pub fn new(params: RadioParams, start: Time) -> Radio {
        Radio {
            params,
            last_active: start - params.tail,
        }
    }

    /// Notes a packet on the air.
    pub fn active(&mut self, now: Time) {
        self.last_active = self.last_active.max(now);
    }

    /// The client wants to send: how long it was silent and how long it must wait, if idle.
    pub fn send(&mut self, now: Time, rng: &mut fastrand::Rng) -> Option<(Delta, Delta)> {
        let silence = now.since(self.last_active);
        if silence <= self.params.tail {
            self.active(now);
            return None;
        }
        let mean = self.params.promotion.as_secs();
        let wait = Delta::from_secs_f64(mean * (0.7 + 0.6 * rng.f64()));
        self.active(now + wait);
        Some((silence, wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_packet_after_the_tail_is_promoted() {
        let mut rng = fastrand::Rng::with_seed(3);
        let params = RadioParams {
            promotion: Delta::ms(400),
            tail: Delta::secs(2),
        };
        let start = Time::default();
        let mut radio = Radio::new(params, start);
        let (_, wait) = radio.send(start + Delta::ms(1), &mut rng).unwrap();
        assert!((Delta::ms(280)..=Delta::ms(520)).contains(&wait));
        assert_eq!(radio.send(start + Delta::ms(100), &mut rng), None);
        assert_eq!(radio.send(start + Delta::secs(2), &mut rng), None);
        assert!(radio.send(start + Delta::secs(5), &mut rng).is_some());
    }
}
