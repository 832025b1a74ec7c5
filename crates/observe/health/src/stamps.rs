//! Timestamp clocks of hosts beside the clock of the capture.

use crate::state::{Reader, Writer};
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{PacketFlags, PacketHeader};

/// The readings of both clocks that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stamp {
    pub(crate) time: Time,
    tsval: Seq,
    pub(crate) sender: Sender,
}

/// One end of one flow: TSvals of different flows begin anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    flow_hash: u64,
    is_uplink: bool,
}

impl Stamp {
    pub(crate) fn write(&self, to: &mut Writer) {
        to.time(Some(self.time));
        to.u64(u64::from(self.tsval.raw()) << 1 | u64::from(self.sender.is_uplink));
        to.u64(self.sender.flow_hash);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Stamp> {
        let time = from.time()??;
        let word = from.u64()?;
        Some(Stamp {
            time,
            tsval: Seq::new((word >> 1) as u32),
            sender: Sender {
                is_uplink: word & 1 == 1,
                flow_hash: from.u64()?,
            },
        })
    }

    pub(crate) fn write_all(stamps: &[Stamp], to: &mut Writer) {
        to.u64(stamps.len() as u64);
        stamps.iter().for_each(|stamp| stamp.write(to));
    }

    pub(crate) fn read_all(from: &mut Reader<'_>) -> Option<Vec<Stamp>> {
        let count = from.count()?;
        (0..count).map(|_| Stamp::read(from)).collect()
    }

    pub(crate) fn earlier_by(self, step: Delta) -> Stamp {
        Stamp {
            time: self.time - step,
            ..self
        }
    }
}

/// The stamps among some packets.
pub(crate) fn stamps<'a>(
    headers: impl Iterator<Item = &'a PacketHeader>,
) -> impl Iterator<Item = Stamp> {
    let stamped = headers.filter(|h| h.flags.has(PacketFlags::TIMESTAMPS) && !h.tcp_flags.rst());
    stamped.map(|h| Stamp {
        time: h.time,
        tsval: h.tsval,
        sender: Sender {
            flow_hash: h.flow_hash,
            is_uplink: h.is_uplink(),
        },
    })
}

/// How the capture clock stands to one sender's clock before and after a jump of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) is_uplink: bool,
    /// What the capture clock moved on more than the sender's.
    pub(crate) shift: Delta,
    /// What the sender's clock moved on meanwhile.
    pub(crate) across: Delta,
    /// It stays there: packets that were held until the jump would come closer together than
    /// they were sent.
    pub(crate) is_steady: bool,
    tick: Delta,
}

impl Compared {
    /// Less than `smallest`, or than a tick that was told wrong makes of a silence: see [`tick`].
    pub(crate) fn is_no_step(self, smallest: Delta) -> bool {
        self.size() < smallest || self.size() * 10 < self.across * 4
    }

    /// Both ends of the jump may be a tick off.
    pub(crate) fn is_fine_enough(self) -> bool {
        self.size() > self.tick * 2
    }

    fn size(self) -> Delta {
        self.shift.max(Delta::ZERO - self.shift)
    }

    /// Queues in one direction move its packets by some milliseconds meanwhile.
    pub(crate) fn agrees_on(self, step: Delta) -> bool {
        let tolerance = Delta::ms(10) + self.tick * 2;
        let off = self.shift - step;
        off <= tolerance && off >= Delta::ZERO - tolerance
    }
}

/// `None` where the sender's packets are too few to tell its tick.
pub(crate) fn compare(before: &[Stamp], after: &[Stamp], sender: Sender) -> Option<Compared> {
    let of_sender = |stamps: &[Stamp]| -> Vec<Stamp> {
        let own = stamps.iter().filter(|s| s.sender == sender);
        own.copied().collect()
    };
    let (before, after) = (of_sender(before), of_sender(after));
    let (last, first) = (*before.last()?, *after.first()?);
    let tick = tick(&before, &after)?;
    let late = |stamp: &Stamp| {
        let ticks = i64::from(stamp.tsval.since(last.tsval));
        within(stamp.time.since(last.time) - tick * ticks, tick)
    };
    let latest = before.len().saturating_sub(NEAR);
    let shift =
        median(after.iter().take(NEAR).map(late)) - median(before[latest..].iter().map(late));
    let tolerance = Delta::ms(2) + tick * 2;
    // Each later packet: how much later it was sent than the first, and how its delay differs.
    let later = after.iter().map(|stamp| {
        let advance = tick * i64::from(stamp.tsval.since(first.tsval));
        (advance, late(stamp) - late(&first))
    });
    let mut near = Vec::new();
    for (advance, drift) in later {
        near.push((advance, drift));
        if advance > tolerance * 8 {
            break;
        }
    }
    let size = shift.max(Delta::ZERO - shift);
    let stays = |(advance, drift): &(Delta, Delta)| {
        let bound = tolerance.max(size.min(*advance) / 2);
        *drift <= bound && *drift >= Delta::ZERO - bound
    };
    let is_long = near.iter().any(|(advance, _)| *advance >= tolerance * 3);
    Some(Compared {
        is_uplink: sender.is_uplink,
        shift,
        across: tick * i64::from(first.tsval.since(last.tsval)),
        is_steady: is_long && near.iter().all(stays),
        tick,
    })
}

/// A difference of two clocks, one of which begins anew after 2^32 ticks: after 71 minutes where a tick is a microsecond.
fn within(difference: Delta, tick: Delta) -> Delta {
    let round = i128::from(tick.as_ns()) << 32;
    let ns = i128::from(difference.as_ns());
    let rest = (ns + round / 2).rem_euclid(round.max(1)) - round / 2;
    i64::try_from(rest).map_or(difference, Delta::ns)
}

/// Packets next to a jump, whose median delay counts.
const NEAR: usize = 5;

fn median(delays: impl Iterator<Item = Delta>) -> Delta {
    let mut delays: Vec<Delta> = delays.collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).copied().unwrap_or_default()
}

/// Ticks of hosts: Linux with `tcp_usec_ts`, most of today's, Linux at 250 Hz, at 100 Hz, very old Windows.
const TICKS: [Delta; 5] = [
    Delta::us(1),
    Delta::ms(1),
    Delta::ms(4),
    Delta::ms(10),
    Delta::ms(100),
];

/// The tick that the packets before and after the jump, each on their own, agree with. The next is 2.5
/// times as long, so that delays may make up 40 % of a span, and other ticks (Linux at 300 Hz, macOS at
/// up to 1.1 ms) are off by as much.
fn tick(before: &[Stamp], after: &[Stamp]) -> Option<Delta> {
    let spans = [span(before), span(after)];
    let fits = |tick: &Delta| {
        let mut usable = spans
            .iter()
            .filter(|(time, ticks)| *ticks >= 3 && *time >= Delta::ms(8))
            .peekable();
        let is_any = usable.peek().is_some();
        is_any
            && usable.all(|&(time, ticks)| {
                let ratio = time.as_secs() / (*tick * ticks).as_secs();
                (0.6..1.4).contains(&ratio)
            })
    };
    TICKS.into_iter().find(fits)
}

/// Time and ticks from the first to the last stamp.
fn span(stamps: &[Stamp]) -> (Delta, i64) {
    let ends = stamps.first().zip(stamps.last());
    ends.map_or((Delta::ZERO, 0), |(first, last)| {
        let ticks = i64::from(last.tsval.since(first.tsval));
        (last.time.since(first.time), ticks)
    })
}
