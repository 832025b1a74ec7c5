//! An application that reads at a rate.

use unbloat_experiment::scenario::Reader;
use unbloat_units::{Bytes, Delta, Time};

/// It reads again when it may read so much, or all that is there.
const CHUNK: u64 = 4_096;

/// How much it may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    reader: Reader,
    /// When all is used up that it may read.
    spent_until: Time,
    /// The next look at what is there.
    pub(crate) armed: Option<Time>,
}

impl Reading {
    pub(crate) fn new(reader: Reader, start: Time) -> Reading {
        Reading {
            reader,
            spent_until: start,
            armed: None,
        }
    }

    /// How much of what is there it reads now.
    pub(crate) fn take(&mut self, now: Time, readable: u64) -> u64 {
        let ahead = self.reader.ahead.as_u64().min(readable);
        self.reader.ahead = self.reader.ahead - Bytes::new(ahead);
        let left = readable - ahead;
        if ahead > 0 || left == 0 {
            // What it may read does not add up while it reads at once, or while nothing is there.
            self.spent_until = self.spent_until.max(now);
        }
        let due = (self.reader.rate * now.since(self.spent_until)).as_u64();
        let slow = if due >= left.min(CHUNK) {
            due.min(left)
        } else {
            0
        };
        if slow > 0 {
            let rest = if slow < left { due - slow } else { 0 };
            self.spent_until = now - Bytes::new(rest) / self.reader.rate;
        }
        ahead + slow
    }

    /// When it looks again, if so much is left.
    pub(crate) fn next_at(&self, readable: u64) -> Time {
        let wait = Bytes::new(readable.min(CHUNK)) / self.reader.rate;
        self.spent_until + wait + Delta::ns(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Rate;

    #[test]
    fn it_reads_ahead_at_once_and_then_at_its_rate() {
        let reader = Reader {
            rate: Rate::kbps(800),
            ahead: Bytes::new(50_000),
        };
        let mut now = Time::from_ns(0);
        let mut reading = Reading::new(reader, now);
        assert_eq!(reading.take(now, 30_000), 30_000);
        now += Delta::secs(5);
        // 20 kB at once, then 100 kB a second, whenever it looks.
        let mut readable = 1_000_000;
        let mut read = reading.take(now, readable);
        assert_eq!(read, 20_000);
        readable -= read;
        let from = now;
        while now.since(from) < Delta::secs(4) {
            now = reading.next_at(readable);
            let more = reading.take(now, readable);
            assert!(more > 0 && more < 2 * CHUNK, "{more}");
            readable -= more;
            read += more;
        }
        let expected = 20_000.0 + now.since(from).as_secs() * 100_000.0;
        assert!((read as f64 - expected).abs() < 10.0, "{read} {expected}");
    }
}
