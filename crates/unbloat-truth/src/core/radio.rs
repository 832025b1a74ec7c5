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

/// Why a packet has to wait for the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// How long the client had been silent; zero for packets that queue behind the first.
    pub silence: Delta,
    /// From now to the end of the promotion.
    pub wait: Delta,
    /// Whether this is the packet that started it.
    pub first: bool,
}

/// The radio of one client.
#[derive(Clone, Debug)]
pub struct Radio {
    params: RadioParams,
    last_active: Time,
    ready_at: Time,
}

impl Radio {
    /// A client that has been idle since `start` less the tail.
    pub fn new(params: RadioParams, start: Time) -> Radio {
        Radio {
            params,
            last_active: start - params.tail,
            ready_at: Time::MIN,
        }
    }

    /// Notes a packet on the air.
    pub fn active(&mut self, now: Time) {
        self.last_active = self.last_active.max(now);
    }

    /// The client wants to send: why it must wait, if it must.
    pub fn send(&mut self, now: Time, rng: &mut fastrand::Rng) -> Option<Promotion> {
        if now < self.ready_at {
            return Some(Promotion {
                silence: Delta::ZERO,
                wait: self.ready_at - now,
                first: false,
            });
        }
        let silence = now.since(self.last_active);
        if silence <= self.params.tail {
            self.active(now);
            return None;
        }
        let mean = self.params.promotion.as_secs();
        let wait = Delta::from_secs_f64(mean * (0.7 + 0.6 * rng.f64()));
        self.ready_at = now + wait;
        self.active(self.ready_at);
        Some(Promotion {
            silence,
            wait,
            first: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_after_the_tail_is_promoted_and_others_wait_out_the_rest() {
        let mut rng = fastrand::Rng::with_seed(3);
        let params = RadioParams {
            promotion: Delta::ms(400),
            tail: Delta::secs(2),
        };
        let start = Time::default();
        let mut radio = Radio::new(params, start);
        let first = radio.send(start + Delta::ms(1), &mut rng).unwrap();
        assert!(first.first && (Delta::ms(280)..=Delta::ms(520)).contains(&first.wait));
        let second = radio.send(start + Delta::ms(100), &mut rng).unwrap();
        assert_eq!(
            (second.first, second.wait),
            (false, first.wait - Delta::ms(99))
        );
        assert_eq!(radio.send(start + Delta::secs(2), &mut rng), None);
        assert!(radio.send(start + Delta::secs(5), &mut rng).unwrap().first);
    }
}
