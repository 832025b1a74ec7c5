//! What a modem's diagnostics would tell of the firmware buffer of the uplink, each so often.

use unbloat_experiment::outcome::Route;
use unbloat_link::Place;
use unbloat_units::{Bytes, Delta, Time};

/// Reports that are further behind than this are left out: who reads them wants to know what is now.
const LATE: Delta = Delta::ms(500);

/// Told on the thread that carries packets, which it delays: to be quick is all.
pub type Tell = Box<dyn FnMut(Time, Bytes) + Send>;

/// When the next report is due, and who is told.
pub struct Modem {
    every: Delta,
    pub(crate) next: Time,
    tell: Tell,
}

impl Modem {
    /// Reports from the clock's zero on; `tell` is given IP bytes that wait in the firmware.
    pub fn new(every: Delta, tell: Tell) -> Modem {
        Modem {
            every: every.max(Delta::us(100)),
            next: Time::from_ns(0),
            tell,
        }
    }

    pub(crate) fn report(&mut self, uplink: &Route, now: Time) {
        let mut held = Bytes::ZERO;
        uplink.each_layer(|_, place, backlog| {
            if place == Place::Firmware {
                held += backlog.bytes;
            }
        });
        (self.tell)(self.next, held);
        self.next += self.every;
        if now - self.next > LATE {
            self.next = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use unbloat_experiment::scenario::Hop;
    use unbloat_units::Direction;

    #[test]
    fn reports_come_on_time_and_those_that_are_too_late_are_left_out() {
        let (tell, hear) = channel();
        let told = move |at: Time, held: Bytes| tell.send((at, held)).unwrap();
        let mut modem = Modem::new(Delta::ms(5), Box::new(told));
        let at = |ms| Time::from_ns(0) + Delta::ms(ms);
        let route = Route::new(
            Direction::Up,
            &[Hop::default()],
            at(0),
            at(0),
            &mut fastrand::Rng::with_seed(1),
        );
        modem.report(&route, at(0));
        modem.report(&route, at(5));
        modem.report(&route, at(2_000));
        assert_eq!(modem.next, at(2_000));
        let heard: Vec<_> = hear.try_iter().collect();
        assert_eq!(heard, [0, 5, 10].map(|ms| (at(ms), Bytes::ZERO)));
    }
}
