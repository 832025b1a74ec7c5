//! What packets say of a line, one by one: which of them answer which, and what they acknowledge.
//!
//! This is what has to be done for every packet, so whoever sees packets elsewhere may do it there (`unbloat autorate` does it in
//! the kernel) and hand on what came of it: [`Tally`] and [`Heard`].

use crate::autorate::Seen;
use crate::flows::Flows;
use std::collections::VecDeque;
use std::ops::AddAssign;
use unbloat_units::{Seq, Time};
use unbloat_wire::{PacketFlags, PacketHeader, protocol};

/// What the header of a TCP packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// TSval.
    pub value: u32,
    /// TSecr; 0 for none.
    pub echo: u32,
    pub ack: u32,
    pub payload: u32,
}

impl Stamps {
    /// None: no TCP, or without timestamps.
    pub fn of(header: &PacketHeader) -> Option<Stamps> {
        let has = header.protocol == protocol::TCP && header.flags.has(PacketFlags::TIMESTAMPS);
        has.then(|| Stamps {
            value: header.tsval.raw(),
            echo: header.tsecr.raw(),
            ack: header.ack.raw(),
            payload: header.payload_len,
        })
    }
}

/// Bytes that passed, of all flows together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// From the line.
    pub came: u64,
    /// To the line.
    pub left: u64,
    /// Of those that left, what nobody acknowledges to our eyes.
    pub unanswered: u64,
    /// Payload that packets to the line acknowledged, which calls for as much.
    pub called_for: u64,
    /// Payload that packets from the line acknowledged.
    pub acked: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Tally) {
        self.came += more.came;
        self.left += more.left;
        self.unanswered += more.unanswered;
        self.called_for += more.called_for;
        self.acked += more.acked;
    }
}

/// A packet of TCP from the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The same as long as the flow is known.
    pub flow: u64,
    /// TSval.
    pub value: u32,
    /// When the packet left that is answered now, if none that left later was answered before.
    pub sent: Option<Time>,
}

/// Clock values of a flow that were sent and not yet echoed.
const SENT: usize = 512;

/// Pairs packets of both directions.
#[derive(Default)]
pub struct Pairing {
    flows: Flows<Flow>,
}

#[derive(Default)]
struct Flow {
    sent: VecDeque<(Time, Seq)>,
    echoed: Option<Seq>,
    /// What the other end has.
    acked: Progress,
    /// What this end has.
    taken: Progress,
}

impl Pairing {
    /// A packet leaves for the line.
    pub fn outgoing(&mut self, now: Time, seen: &Seen) -> Tally {
        let left = u64::from(seen.bytes);
        let Some(stamps) = &seen.stamps else {
            return Tally {
                left,
                unanswered: left,
                ..Tally::default()
            };
        };
        Tally {
            left,
            called_for: self
                .flows
                .see(seen.flow, now, Flow::default)
                .outgoing(now, stamps)
                .into(),
            ..Tally::default()
        }
    }

    /// A packet comes from the line.
    pub fn incoming(&mut self, now: Time, seen: &Seen) -> (Tally, Option<Heard>) {
        let mut tally = Tally {
            came: seen.bytes.into(),
            ..Tally::default()
        };
        let Some(stamps) = &seen.stamps else {
            return (tally, None);
        };
        let flow = self.flows.see(seen.flow, now, Flow::default);
        tally.acked = flow.acked.more(stamps).into();
        let heard = Heard {
            flow: seen.flow,
            value: stamps.value,
            sent: flow.answered(Seq::new(stamps.echo)),
        };
        (tally, Some(heard))
    }
}

impl Flow {
    /// How many payload bytes it acknowledges.
    fn outgoing(&mut self, now: Time, stamps: &Stamps) -> u32 {
        let value = Seq::new(stamps.value);
        if self.sent.back().is_none_or(|(_, last)| value.after(*last)) {
            if self.sent.len() == SENT {
                self.sent.pop_front();
            }
            self.sent.push_back((now, value));
        }
        self.taken.advance(stamps.ack).unwrap_or(0)
    }

    fn answered(&mut self, echo: Seq) -> Option<Time> {
        if echo.raw() == 0 || self.echoed.is_some_and(|last| !echo.after(last)) {
            return None;
        }
        let is_older = |(_, value): &(Time, Seq)| value.before(echo);
        while self.sent.front().is_some_and(is_older) {
            self.sent.pop_front();
        }
        let (sent, _) = *self.sent.front().filter(|(_, value)| *value == echo)?;
        self.echoed = Some(echo);
        Some(sent)
    }
}

/// How much of a flow's data came to its end, as acknowledgements tell.
#[derive(Default)]
struct Progress {
    ack: Option<Seq>,
    /// What came behind a hole: told by acknowledgements that acknowledge no more than those before.
    early: u32,
}

/// Payload of a full packet.
const FULL: u32 = 1_448;

impl Progress {
    /// Takes an acknowledgement in: how many more bytes have come, those behind a hole with it. While a packet is missing the next ones are
    /// acknowledged one by one with the same number (RFC 5681, section 4.2), each taken for a full one; what the number says once the hole
    /// is filled came before.
    fn more(&mut self, stamps: &Stamps) -> u32 {
        let is_first = self.ack.is_none();
        match self.advance(stamps.ack) {
            Some(0) if stamps.payload == 0 && !is_first => {
                self.early = self.early.saturating_add(FULL);
                FULL
            }
            Some(more) => {
                let new = more.saturating_sub(self.early);
                self.early = self.early.saturating_sub(more);
                new
            }
            None => 0,
        }
    }

    /// How many more bytes an acknowledgement acknowledges; none for an old one. As large a step is no progress: a SYN
    /// acknowledges nothing and says zero, and ports are used again.
    fn advance(&mut self, ack: u32) -> Option<u32> {
        const IMPLAUSIBLE: i32 = 1 << 24;
        let ack = Seq::new(ack);
        let more = self.ack.map_or(0, |last| ack.since(last));
        if self.ack.is_none() || more > 0 || more <= -IMPLAUSIBLE {
            self.ack = Some(ack);
        }
        (0..IMPLAUSIBLE).contains(&more).then_some(more as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::FLOWS;
    use unbloat_units::Delta;

    fn at(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    fn seen(flow: u64, value: u32, echo: u32, ack: u32) -> Seen {
        let payload = 1_448;
        Seen {
            flow,
            bytes: 1_514,
            stamps: Some(Stamps {
                value,
                echo,
                ack,
                payload,
            }),
        }
    }

    #[test]
    fn an_echo_answers_the_first_packet_with_its_value_and_only_once() {
        let mut pairing = Pairing::default();
        for (ms, value) in [(0, 10), (3, 10), (5, 11), (7, 14)] {
            pairing.outgoing(at(ms), &seen(1, value, 0, 0));
        }
        let mut sent = |echo| pairing.incoming(at(50), &seen(1, 900, echo, 0)).1;
        let mut answered = |echo| sent(echo).and_then(|heard| heard.sent);
        assert_eq!(answered(10), Some(at(0)));
        assert_eq!(answered(10), None, "again");
        assert_eq!(answered(13), None, "never sent");
        assert_eq!(answered(14), Some(at(7)));
        assert_eq!(answered(11), None, "older than what was answered");
    }

    #[test]
    fn what_is_acknowledged_is_counted_once_over_the_wrap() {
        let mut pairing = Pairing::default();
        let mut acked = |ms, ack| pairing.incoming(at(ms), &seen(1, 0, 0, ack)).0.acked;
        assert_eq!(acked(0, u32::MAX - 999), 0);
        assert_eq!(acked(1, 500), 1_500);
        assert_eq!(acked(2, 0), 0, "an old one");
        assert_eq!(acked(3, 700), 200);
    }

    #[test]
    fn what_comes_behind_a_hole_is_counted_when_it_comes_and_not_again() {
        let mut pairing = Pairing::default();
        let mut acked = |ms, ack| {
            let mut bare = seen(1, 0, 0, ack);
            if let Some(stamps) = &mut bare.stamps {
                stamps.payload = 0;
            }
            pairing.incoming(at(ms), &bare).0.acked as u32
        };
        acked(0, 1_000);
        assert_eq!([acked(1, 1_000), acked(2, 1_000)], [FULL; 2]);
        // The hole is filled: the missing packet is new, the two behind it are not.
        assert_eq!(acked(3, 1_000 + 3 * FULL), FULL);
        assert_eq!(acked(4, 1_000 + 4 * FULL), FULL);
    }

    #[test]
    fn a_connection_begins_with_an_acknowledgement_of_nothing() {
        let mut pairing = Pairing::default();
        let mut called_for = |ms, ack| pairing.outgoing(at(ms), &seen(1, 0, 0, ack)).called_for;
        assert_eq!(called_for(0, 0), 0, "SYN");
        assert_eq!(called_for(1, 3 << 30), 0, "as far behind as before");
        assert_eq!(called_for(2, (3 << 30) + 1_448), 1_448);
    }

    #[test]
    fn what_carries_no_stamps_is_never_answered() {
        let mut pairing = Pairing::default();
        let bare = Seen {
            stamps: None,
            ..seen(1, 0, 0, 0)
        };
        assert_eq!(pairing.outgoing(at(0), &bare).unanswered, 1_514);
        assert_eq!(pairing.incoming(at(1), &bare).1, None);
        assert_eq!(pairing.flows.len(), 0);
    }

    #[test]
    fn memory_is_bounded_however_many_flows_come() {
        let mut pairing = Pairing::default();
        for key in 0..10_000 {
            pairing.outgoing(at(key as i64), &seen(key, 1, 0, 0));
        }
        assert_eq!(pairing.flows.len(), FLOWS);
    }
}
