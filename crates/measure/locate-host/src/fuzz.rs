//! For the fuzz target: what routers and the far end answer to probes, of any bytes.

use crate::answers::Book;
use crate::probe::fuzz::{Kinds, form};
use crate::probe::{Incoming, Origin};
use crate::record::{Counts, Record};
use crate::run::verdicts;
use std::net::{IpAddr, Ipv4Addr};
use unbloat_locate::{Params, Phase, Verdict};
use unbloat_units::{Delta, Time};

const TARGET: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const ORIGIN: Time = Time::from_ns(1_700_000_000_000_000_000);
const PHASES: [Option<Phase>; 4] = [None, Some(Phase::Idle), Some(Phase::Down), Some(Phase::Up)];

/// What a run comes to.
pub struct Outcome {
    pub records: Vec<Record>,
    pub counts: Counts,
    /// Messages that were no stamps of probes.
    pub messages: u64,
    pub verdicts: Vec<Verdict>,
}

/// A step of a run: `[what, number, ms, cut]`, and bytes.
type Step<'a> = ([u8; 4], &'a [u8]);

/// Probes of the kind that the first byte names go out and are answered as the steps say, whose bytes are quotes and replies: alone, or laid
/// over the packet of a probe, because nobody guesses what is in that.
pub fn run<'a>(kind: u8, steps: impl Iterator<Item = Step<'a>>) -> Outcome {
    let kind = Kinds::of(kind);
    let form = form(kind);
    let mut book = Book {
        own: Some(router(7)),
        ..Book::default()
    };
    let (mut now, mut messages) = (ORIGIN, 0);
    for ([what, number, ms, cut], bytes) in steps {
        now += Delta::ms(i64::from(ms));
        if what & 7 == 0 {
            book.open(Record {
                hop: number & 15,
                phase: PHASES[usize::from(number >> 6)],
                round: u32::from(number >> 4 & 3),
                sent: now,
                queued: None,
                left: None,
                answer: None,
            });
            book.counts.sent += 1;
            continue;
        }
        if what & 128 != 0 {
            book.alone_from = (cut & 1 != 0).then_some(book.records.len());
        }
        let origin = origin(what & 7, number);
        let is_of_a_probe = what & 8 != 0;
        let data = match is_of_a_probe {
            true => kind.quote(&*form, number, origin, bytes, cut),
            false => bytes.to_vec(),
        };
        let at = (what & 16 == 0).then_some(now);
        let incoming = Incoming {
            origin,
            at,
            data: &data,
        };
        let before = book.records.clone();
        let took = book.take(&incoming, &*form, TARGET, false, now);
        messages += u64::from(!matches!(origin, Origin::Queued | Origin::Left));
        for (old, new) in before.iter().zip(&book.records) {
            assert!(
                old.answer.is_none() || old.answer == new.answer,
                "answered twice"
            );
            assert!(old.queued.is_none() || old.queued == new.queued);
            assert!(old.left.is_none() || old.left == new.left);
        }
        let is_reply = matches!(origin, Origin::Reply(_));
        let is_forged = !is_of_a_probe && is_reply && kind.has_mark();
        assert!(!is_forged || took.is_none(), "nobody guesses a mark");
    }
    let loads = [Phase::Down, Phase::Up];
    Outcome {
        verdicts: verdicts(&book.records, Some(15), &loads, &Params::default(), |_| {
            None
        }),
        records: book.records,
        counts: book.counts,
        messages,
    }
}

fn router(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

fn origin(what: u8, number: u8) -> Origin {
    let from = match number >> 5 {
        0 => TARGET,
        other => router(other),
    };
    match what {
        1 => Origin::Reply(from),
        2 => Origin::Queued,
        3 => Origin::Left,
        4 => Origin::Other,
        other => Origin::Error {
            from,
            is_end: other == 5,
        },
    }
}
