//! Which probe an answer is for.

use crate::probe::{Form, Id, Incoming, Origin};
use crate::record::{Counts, Record};
use std::collections::BTreeMap;
use std::net::IpAddr;
use unbloat_units::{Delta, Time};

/// An answer that says too little is for a probe that was sent no longer ago than this.
const RECENT: Delta = Delta::secs(2);

/// All probes of a run, by number.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) records: Vec<Record>,
    pub(crate) counts: Counts,
    /// This host's own address on the path: errors from there are no hop's.
    pub(crate) own: Option<IpAddr>,
    /// Who answered for a hop last.
    pub(crate) addresses: BTreeMap<u8, IpAddr>,
    /// Probes from this one on are sent one at a time: any answer is for the last.
    pub(crate) alone_from: Option<usize>,
}

/// A hop that has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) hop: u8,
    pub(crate) is_end: bool,
}

impl Book {
    /// The number of the next probe, and room for it.
    pub(crate) fn open(&mut self, record: Record) -> u32 {
        self.records.push(record);
        u32::try_from(self.records.len() - 1).expect("runs are bounded to far fewer probes")
    }

    /// Notes what came in on the socket of the path, or that of the peer, both asked at `target`.
    pub(crate) fn take(
        &mut self,
        incoming: &Incoming<'_>,
        form: &dyn Form,
        target: IpAddr,
        is_peer: bool,
        now: Time,
    ) -> Option<Answered> {
        let at = incoming.at.unwrap_or(now);
        let (id, from, is_end) = match incoming.origin {
            Origin::Queued | Origin::Left => {
                self.stamp(incoming, form, is_peer);
                return None;
            }
            Origin::Reply(from) if from == target => (form.reply(incoming.data), from, true),
            Origin::Reply(_) => (Id::Foreign, target, false),
            Origin::Error { from, .. } if Some(from) == self.own => {
                self.counts.refused += 1;
                return None;
            }
            Origin::Error { from, is_end } => (form.quoted(incoming.data), from, is_end),
            Origin::Other => {
                self.counts.malformed += 1;
                return None;
            }
        };
        let Some(index) = self.find(id, from, is_peer, at) else {
            match id {
                Id::Unknown | Id::Low(_) => self.counts.ambiguous += 1,
                _ => self.counts.foreign += 1,
            }
            return None;
        };
        let record = &mut self.records[index];
        if record.answer.is_some() {
            self.counts.repeated += 1;
            return None;
        }
        record.answer = Some((from, at));
        self.counts.answered += 1;
        self.addresses.insert(record.hop, from);
        Some(Answered {
            hop: record.hop,
            is_end: is_end && from == target,
        })
    }

    fn stamp(&mut self, incoming: &Incoming<'_>, form: &dyn Form, is_peer: bool) {
        let (Id::Whole(number), Some(at)) = (form.looped(incoming.data), incoming.at) else {
            return;
        };
        let record = self.records.get_mut(number as usize);
        let Some(record) = record.filter(|record| record.is_of_peer() == is_peer) else {
            return;
        };
        // Where the packet passes further devices of this machine (a bridge, another namespace) it is stamped again.
        let stamp = match incoming.origin {
            Origin::Queued => &mut record.queued,
            _ => &mut record.left,
        };
        stamp.get_or_insert(at);
    }

    fn find(&self, id: Id, from: IpAddr, is_peer: bool, at: Time) -> Option<usize> {
        let is_kind = |index: &usize| {
            let record = self.records.get(*index);
            record.is_some_and(|record| record.is_of_peer() == is_peer)
        };
        match id {
            Id::Whole(number) => Some(number as usize).filter(is_kind),
            Id::Low(low) => self
                .recent(at)
                .find(|&index| index as u16 == low && is_kind(&index)),
            Id::Unknown => match self.alone_from {
                Some(_) if is_peer => None,
                Some(first) => (first < self.records.len()).then(|| self.records.len() - 1),
                None => self.only_one(from, is_peer, at),
            },
            Id::Foreign => None,
        }
    }

    /// From the last probe back.
    fn recent(&self, at: Time) -> impl Iterator<Item = usize> {
        let all = self.records.iter().enumerate().rev();
        let recent = all.take_while(move |(_, record)| at - record.sent < RECENT);
        recent.map(|(index, _)| index)
    }

    /// The probe to a hop of that address which is not answered, if it is the only one.
    fn only_one(&self, from: IpAddr, is_peer: bool, at: Time) -> Option<usize> {
        let mut open = self.recent(at).filter(|&index| {
            let record = &self.records[index];
            let is_there = self.addresses.get(&record.hop) == Some(&from);
            is_there && record.answer.is_none() && record.is_of_peer() == is_peer
        });
        let first = open.next()?;
        open.next().is_none().then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const TARGET: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9));
    const ROUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 1, 1));

    /// The first byte says what was quoted, the second which.
    struct Said;

    impl Said {
        fn read(data: &[u8]) -> Id {
            match data {
                [0, number] => Id::Whole((*number).into()),
                [1, number] => Id::Low((*number).into()),
                [2, _] => Id::Unknown,
                _ => Id::Foreign,
            }
        }
    }

    impl Form for Said {
        fn packet(&self, _: u32) -> Vec<u8> {
            Vec::new()
        }
        fn quoted(&self, quote: &[u8]) -> Id {
            Said::read(quote)
        }
        fn reply(&self, packet: &[u8]) -> Id {
            Said::read(packet)
        }
        fn looped(&self, packet: &[u8]) -> Id {
            Said::read(packet)
        }
    }

    fn record(hop: u8, sent_ms: i64) -> Record {
        Record {
            hop,
            phase: None,
            round: 0,
            sent: Time::from_ns(sent_ms * 1_000_000),
            queued: None,
            left: None,
            answer: None,
        }
    }

    fn book(sent: &[(u8, i64)]) -> Book {
        let mut book = Book::default();
        for &(hop, at) in sent {
            book.open(record(hop, at));
        }
        book
    }

    fn take(book: &mut Book, origin: Origin, data: &[u8], at_ms: i64) -> Option<Answered> {
        let at = Some(Time::from_ns(at_ms * 1_000_000));
        let incoming = Incoming { origin, at, data };
        book.take(&incoming, &Said, TARGET, false, Time::MIN)
    }

    const EXPIRED: Origin = Origin::Error {
        from: ROUTER,
        is_end: false,
    };

    #[test]
    fn a_probe_is_answered_once_and_by_what_quotes_it() {
        let mut book = book(&[(1, 0), (2, 10)]);
        let answered = take(&mut book, EXPIRED, &[0, 1], 15);
        assert_eq!(
            answered,
            Some(Answered {
                hop: 2,
                is_end: false
            })
        );
        assert_eq!(book.records[1].rtt(), Some(Delta::ms(5)));
        assert_eq!(take(&mut book, EXPIRED, &[0, 1], 16), None);
        assert_eq!(take(&mut book, EXPIRED, &[0, 7], 16), None);
        assert_eq!(take(&mut book, EXPIRED, &[9], 16), None);
        assert_eq!(take(&mut book, Origin::Reply(ROUTER), &[0, 0], 16), None);
        assert_eq!(take(&mut book, Origin::Other, &[0, 0], 16), None);
        book.own = Some(ROUTER);
        assert_eq!(take(&mut book, EXPIRED, &[0, 0], 16), None);
        assert_eq!(book.counts.refused, 1);
        let counts = book.counts;
        assert_eq!(
            (
                counts.answered,
                counts.repeated,
                counts.foreign,
                counts.malformed
            ),
            (1, 1, 3, 1)
        );
    }

    #[test]
    fn the_end_is_where_the_target_answers() {
        let mut book = book(&[(3, 0), (4, 0)]);
        let refused = Origin::Error {
            from: ROUTER,
            is_end: true,
        };
        assert_eq!(
            take(&mut book, refused, &[0, 0], 1).map(|a| a.is_end),
            Some(false)
        );
        let replied = take(&mut book, Origin::Reply(TARGET), &[0, 1], 1);
        assert_eq!(replied.map(|a| a.is_end), Some(true));
    }

    #[test]
    fn a_quote_that_says_nothing_is_used_only_where_there_is_no_choice() {
        let mut book = book(&[(1, 0), (2, 50)]);
        assert_eq!(take(&mut book, EXPIRED, &[2, 0], 60), None);
        book.addresses.insert(2, ROUTER);
        assert_eq!(
            take(&mut book, EXPIRED, &[2, 0], 60).map(|a| a.hop),
            Some(2)
        );
        book.open(record(2, 100));
        book.open(record(2, 200));
        assert_eq!(take(&mut book, EXPIRED, &[2, 0], 210), None);
        book.alone_from = Some(4);
        book.open(record(5, 300));
        assert_eq!(
            take(&mut book, EXPIRED, &[2, 0], 310).map(|a| a.hop),
            Some(5)
        );
        assert_eq!(book.counts.ambiguous, 2);
    }

    #[test]
    fn half_a_number_means_the_last_probe_that_ends_with_it_if_it_is_recent() {
        let mut book = book(&[(1, 0), (2, 50)]);
        assert_eq!(
            take(&mut book, EXPIRED, &[1, 1], 60).map(|a| a.hop),
            Some(2)
        );
        assert_eq!(take(&mut book, EXPIRED, &[1, 0], 5_000), None);
    }

    #[test]
    fn stamps_tell_how_long_a_probe_was_in_the_queue_discipline() {
        let mut book = book(&[(1, 0)]);
        take(&mut book, Origin::Queued, &[0, 0], 1);
        take(&mut book, Origin::Left, &[0, 0], 41);
        take(&mut book, Origin::Left, &[0, 9], 41);
        assert_eq!(book.records[0].in_qdisc(), Some(Delta::ms(40)));
        // Another device of this machine.
        take(&mut book, Origin::Queued, &[0, 0], 42);
        take(&mut book, Origin::Left, &[0, 0], 99);
        assert_eq!(book.records[0].in_qdisc(), Some(Delta::ms(40)));
    }
}
