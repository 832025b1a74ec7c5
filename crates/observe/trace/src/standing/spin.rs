//! Round trips by the latency spin bit of QUIC.
//!
//! # Idea
//! The server repeats the bit of the newest packet that it has, the client inverts it (RFC 9000 §17.4), so an edge
//! circles the path. Where both directions are captured, the time from an edge to the other host's answer is a loop
//! from the capture point to that host and back: the same delay that data and its acknowledgment show of TCP. A host
//! that holds the edge back holds its packets back, so its wait is bounded as any other. An edge that is lost comes again
//! with the sender's next packet, so long silences of the sender are taken off, too: probes after losses double their
//! waits.
//!
//! Edges count only in turn: client, server, client. Packets that were reordered across an edge carry the value
//! of before, which is nobody's turn.
//!
//! # References
//! RFC 9000 §17.4; RFC 9312 §3.8.2 (what limits the signal).
//!
//! # Where we differ
//! RFC 9312 takes the time between two edges of one direction for a round trip and leaves out those that an
//! application made. We take the two halves apart, which tells how long each host can have waited, so nothing is left out.
//! One-sided captures give no halves and so no samples. Connections may carry random bits instead (RFC 9000 §17.4): we
//! discard a connection whose edges come faster than its handshake allows.

use super::Facts;
use super::recorder::{Recorder, Spun};
use crate::params::Params;
use crate::standing::Load;
use unbloat_units::{Both, Delta, Direction, Time};
use unbloat_wire::{PacketFlags, PacketHeader};

/// Delays of one QUIC connection.
#[derive(Clone, Default)]
pub(crate) struct Spin {
    recorder: Recorder,
    handshake: Handshake,
    /// By host: its last packet, the bit in it, and when that last changed in turn.
    last: Both<Option<Time>>,
    bits: Both<Option<bool>>,
    edges: Both<Option<Time>>,
    turn: Option<Turn>,
    least_period: Option<Delta>,
    periods: u32,
    /// Those that no path can have made.
    impossible: u32,
}

/// The edge that comes next.
#[derive(Clone, Copy)]
struct Turn {
    side: Direction,
    bit: bool,
    /// When the one passed that it answers.
    since: Time,
    /// The longest times since then that who sent that one was silent.
    silences: [Delta; 4],
}

impl Turn {
    fn add_silence(&mut self, silence: Delta) {
        let least = self.silences.iter_mut().min();
        if let Some(least) = least.filter(|least| **least < silence) {
            *least = silence;
        }
    }

    /// How much of its time until `now` may have gone by because the edge was lost and came again with a later packet:
    /// silences of a quarter of it and more, of which there are no more than four.
    fn maybe_lost(&self, now: Time) -> Delta {
        let quarter = now.since_bounded(self.since) / 4;
        let long = self.silences.iter().filter(|silence| **silence >= quarter);
        long.fold(Delta::ZERO, |sum, silence| sum + *silence)
    }
}

/// Packets with long headers: the client's first, the server's answer, the client's answer to that.
#[derive(Clone, Copy, Default)]
struct Handshake {
    begun: Option<Time>,
    answered: Option<Time>,
    round_trip: Option<Delta>,
}

impl Handshake {
    fn on_packet(&mut self, side: Direction, now: Time) {
        match (side, self.begun, self.answered) {
            (Direction::Up, None, _) => self.begun = Some(now),
            (Direction::Down, Some(_), None) => self.answered = Some(now),
            (Direction::Up, Some(begun), Some(_)) if self.round_trip.is_none() => {
                self.round_trip = Some(now.since_bounded(begun));
            }
            _ => {}
        }
    }
}

impl Spin {
    /// A connection that was silent for so long spins anew.
    const STALE: Delta = Delta::secs(5);

    /// Whether the packet begins a connection that may spin.
    pub(crate) fn begins(header: &PacketHeader) -> bool {
        header.flags.has(PacketFlags::QUIC_LONG)
    }

    /// Takes in a packet. Returns whether the windows are due to be judged.
    pub(crate) fn on_packet(
        &mut self,
        side: Direction,
        header: &PacketHeader,
        origin: Time,
        load: &mut Load,
    ) -> bool {
        let now = header.time;
        let gap = self.last[side].map(|last| now.since_bounded(last));
        self.last[side] = Some(now);
        if let (Some(turn), Some(gap)) = (&mut self.turn, gap)
            && turn.side != side
        {
            turn.add_silence(gap);
        }
        if header.flags.has(PacketFlags::QUIC_LONG) {
            self.handshake.on_packet(side, now);
        }
        let is_short = header.flags.has(PacketFlags::QUIC_SHORT);
        let edge = is_short.then(|| self.edge(side, header.flags.has(PacketFlags::SPIN), now));
        let sample = edge.flatten().map(|answered| Spun {
            leg: side.reverse(),
            since: answered.since,
            held: gap.map(|gap| gap.max(answered.maybe_lost(now))),
        });
        self.recorder.on_spun(side, header, sample, (origin, load))
    }

    /// The turn that this packet ends, if it answers an edge.
    fn edge(&mut self, side: Direction, bit: bool, now: Time) -> Option<Turn> {
        let before = self.bits[side].replace(bit);
        let turn = self
            .turn
            .filter(|turn| now.since_bounded(turn.since) <= Self::STALE);
        let is_edge = match turn {
            Some(turn) => (turn.side, turn.bit) == (side, bit),
            // The client's next one.
            None => side == Direction::Up && before == Some(!bit),
        };
        if !is_edge {
            return None;
        }
        let ended = turn.map(|mut turn| {
            let silent = self.last[side.reverse()].map(|last| now.since_bounded(last));
            turn.add_silence(silent.unwrap_or_default());
            turn
        });
        self.turn = Some(Turn {
            side: side.reverse(),
            bit: bit == (side == Direction::Up),
            since: now,
            silences: [Delta::ZERO; 4],
        });
        if let Some(last) = self.edges[side].replace(now) {
            self.on_period(now.since_bounded(last));
        }
        ended
    }

    fn on_period(&mut self, period: Delta) {
        self.periods += 1;
        let handshake = self.handshake.round_trip;
        self.impossible += u32::from(handshake.is_none_or(|trip| period * 2 < trip));
        self.least_period = Some(self.least_period.map_or(period, |least| least.min(period)));
    }

    /// One in five periods that cannot be, and it is no spin bit.
    pub(crate) fn is_spinning(&self) -> bool {
        self.periods > 0 && 5 * self.impossible <= self.periods
    }

    pub(crate) fn facts(&self, is_over: bool, params: &Params) -> Facts {
        let trips = [self.least_period, self.handshake.round_trip];
        Facts {
            rtt_floor: trips.into_iter().flatten().min(),
            is_begin_seen: self.handshake.round_trip.is_some(),
            is_over,
            is_told_always: params.standing_of_all_flows,
            felt: params.bloat_threshold / 2,
        }
    }

    pub(crate) fn has_windows(&self) -> bool {
        self.recorder.has_windows()
    }

    pub(crate) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::{Evidence, evidence};

    /// Packets of a connection as they pass the capture point, in the middle of the path or at the client.
    struct Connection {
        spin: Spin,
        load: Load,
    }

    impl Connection {
        fn begun() -> Connection {
            let mut connection = Connection {
                spin: Spin::default(),
                load: Load::default(),
            };
            for (ms, side) in [
                (0.0, Direction::Up),
                (30.0, Direction::Down),
                (40.0, Direction::Up),
            ] {
                connection.packet(ms, side, PacketFlags::QUIC_LONG);
            }
            connection
        }

        fn packet(&mut self, ms: f64, side: Direction, flags: u16) {
            let header = PacketHeader {
                time: Time::from_ns((ms * 1e6) as i64),
                wire_len: 1_200,
                flags: PacketFlags(flags),
                ..PacketHeader::default()
            };
            let origin = Time::default();
            self.spin.on_packet(side, &header, origin, &mut self.load);
        }

        fn short(&mut self, ms: f64, side: Direction, bit: bool) {
            let spin = if bit { PacketFlags::SPIN } else { 0 };
            self.packet(ms, side, PacketFlags::QUIC_SHORT | spin);
        }

        fn found(mut self) -> Vec<Evidence> {
            let facts = self.spin.facts(true, &Params::default());
            evidence(self.spin.recorder(), &facts, &self.load)
        }
    }

    /// Both hosts send every `every_ms` for ten seconds; from the capture point it is 15 ms to the server and back and,
    /// once `queue_ms` stands, so much more to the client and back than 10 ms. `passes` says which packets of the
    /// client get to the server.
    fn download(
        every_ms: f64,
        queue_ms: impl Fn(f64) -> f64,
        passes: impl Fn(f64) -> bool,
    ) -> Connection {
        let mut connection = Connection::begun();
        let bits = |edges: &[(f64, bool)], ms: f64| {
            let passed = edges.iter().rev().find(|(at, _)| *at <= ms);
            passed.is_some_and(|(_, bit)| *bit)
        };
        // What the hosts have seen, as of when their packets pass the capture point.
        let (mut up, mut down) = (vec![(0.0, true)], vec![(0.0, false)]);
        let mut ms = 100.0;
        while ms < 10_000.0 {
            let (client, server) = (bits(&up, ms), bits(&down, ms));
            connection.short(ms, Direction::Up, client);
            connection.short(ms + 0.1, Direction::Down, server);
            if passes(ms) && down.last().is_some_and(|(_, bit)| *bit != client) {
                down.push((ms + 15.0, client));
            }
            if up.last().is_some_and(|(_, bit)| *bit == server) {
                up.push((ms + 10.0 + queue_ms(ms), !server));
            }
            ms += every_ms;
        }
        connection
    }

    fn stood(found: &[Evidence], side: Direction) -> Option<(u32, f64)> {
        let of = found.iter().find(|one| one.leg == side)?;
        of.standing
            .map(|standing| (standing.windows, standing.p50_ms))
    }

    #[test]
    fn a_queue_stands_in_the_loop_that_it_is_in() {
        for queued_ms in [60.0, 180.0, 700.0] {
            let queue = |ms| if ms < 2_000.0 { 0.0 } else { queued_ms };
            let connection = download(2.0, queue, |_| true);
            assert!(connection.spin.is_spinning());
            let found = connection.found();
            let (windows, p50_ms) = stood(&found, Direction::Down).unwrap();
            assert!(windows >= 16, "{queued_ms}: {windows}");
            let off = p50_ms - queued_ms;
            assert!((-6.0..=2.1).contains(&off), "{queued_ms}: {p50_ms}");
            assert_eq!(stood(&found, Direction::Up), None);
        }
    }

    #[test]
    fn what_the_answering_host_may_have_held_is_no_queue() {
        // A packet in 200 ms: nothing is known but that.
        let found = download(200.0, |_| 0.0, |_| true).found();
        assert_eq!(stood(&found, Direction::Down), None);
        assert_eq!(stood(&found, Direction::Up), None);
    }

    #[test]
    fn edges_that_are_lost_until_the_sender_probes_again_are_no_queue() {
        // The client speaks twice a second, and of its packets two in three are lost.
        let mut connection = Connection::begun();
        let (mut server, mut client, mut heard) = (false, true, 0);
        for n in 0..20_000 {
            let ms = 100.0 + f64::from(n);
            if n % 500 == 0 {
                connection.short(ms, Direction::Up, client);
                heard += 1;
                if heard % 3 == 0 {
                    server = client;
                }
            }
            connection.short(ms + 0.1, Direction::Down, server);
            client = !server;
        }
        assert_eq!(stood(&connection.found(), Direction::Up), None);
    }

    #[test]
    fn packets_that_were_reordered_across_an_edge_make_none() {
        let mut connection = Connection::begun();
        for n in 0..400_u32 {
            let ms = 100.0 + f64::from(n) * 25.0;
            let bit = n % 2 == 0;
            connection.short(ms, Direction::Up, bit);
            connection.short(ms + 1.0, Direction::Up, !bit);
            connection.short(ms + 2.0, Direction::Up, bit);
            connection.short(ms + 15.0, Direction::Down, bit);
            connection.short(ms + 16.0, Direction::Down, !bit);
            connection.short(ms + 17.0, Direction::Down, bit);
        }
        assert_eq!(connection.spin.least_period, Some(Delta::ms(25)));
    }

    #[test]
    fn bits_at_random_and_bits_that_never_change_are_no_spin() {
        let mut random = Connection::begun();
        let mut still = Connection::begun();
        let mut state = 9_u32;
        for n in 0..5_000_u32 {
            for (side, after) in [(Direction::Up, 0.0), (Direction::Down, 0.5)] {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let ms = 100.0 + f64::from(n) + after;
                random.short(ms, side, state >> 31 == 1);
                still.short(ms, side, true);
            }
        }
        assert!(!random.spin.is_spinning());
        assert!(!still.spin.is_spinning());
    }
}
