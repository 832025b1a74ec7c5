//! A quarter of a second of one flow: what its delays were at least and at most, and what was sent.

use unbloat_units::{Both, Delta, Seq, Time};

/// How long a window lasts. All flows share one grid, so that windows of several can be compared.
pub(crate) const WINDOW: Delta = Delta::ms(250);

/// Which window of the trace a time lies in.
#[inline]
pub(crate) fn index_of(now: Time, origin: Time) -> u32 {
    let since = now.since_bounded(origin).as_ns() / WINDOW.as_ns();
    u32::try_from(since.max(0)).unwrap_or(u32::MAX)
}

/// Loops of one side of the capture point in a window, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The least sample: what the path delays is no more than this.
    pub(super) upper: u32,
    /// Of each half of the window the sample that says most: least, and of a host that waited least.
    halves: [Told; 2],
    /// The least lower end of the samples that have one: the path delays no less than this.
    pub(super) lower: Option<u32>,
    pub(super) samples: u16,
    /// Samples whose host cannot have waited long.
    pub(super) sharp: u16,
    /// Of the packet that ended the least sample.
    pub(super) answer: Option<Answered>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    trip_us: u32,
    /// What its host may have held back of it.
    held_us: u32,
}

/// When an answer passed, by two clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Answered {
    /// In microseconds of the flow's life, wrapping.
    pub(super) now_us: u32,
    /// The timestamp of the host that answers.
    pub(super) stamp: Seq,
}

impl Default for Cell {
    fn default() -> Cell {
        let none = Told {
            trip_us: u32::MAX,
            held_us: 0,
        };
        Cell {
            upper: u32::MAX,
            halves: [none; 2],
            lower: None,
            samples: 0,
            sharp: 0,
            answer: None,
        }
    }
}

impl Cell {
    /// Beyond this a host's wait leaves a sample nothing to say of a queue.
    const SHARP: Delta = Delta::ms(250);

    /// What the path delayed in each half as far as the sample that says most tells: in the middle between its ends. A half
    /// without one was as the other.
    pub(super) fn usual(&self) -> [i64; 2] {
        let middle = |told: Told| i64::from(told.trip_us) - i64::from(told.held_us) / 2;
        let known = self
            .halves
            .map(|told| (told.trip_us < u32::MAX).then(|| middle(told)));
        let one = known[0].or(known[1]).unwrap_or_default();
        [one, known[1].unwrap_or(one)]
    }

    /// What the host may have held back of those, at most.
    pub(super) fn held(&self) -> i64 {
        let known = self.halves.iter().filter(|told| told.trip_us < u32::MAX);
        known.map(|told| i64::from(told.held_us)).max().unwrap_or(0)
    }

    /// A round trip of which the host may have held back `held`, in the first or in the second half of the window.
    #[inline]
    pub(super) fn add(
        &mut self,
        is_late: bool,
        trip: Delta,
        held: Option<Delta>,
        answer: Option<Answered>,
    ) {
        let held = held.filter(|&held| held <= Self::SHARP);
        self.sharp = self.sharp.saturating_add(u16::from(held.is_some()));
        self.measure(is_late, trip, held, answer);
    }

    /// A round trip of a packet that came while others were missing. It measures a queue but does not convict one, because the
    /// losses may just be draining it.
    pub(super) fn add_sacked(&mut self, is_late: bool, trip: Delta, answer: Option<Answered>) {
        self.measure(is_late, trip, Some(Delta::ZERO), answer);
    }

    fn measure(
        &mut self,
        is_late: bool,
        trip: Delta,
        held: Option<Delta>,
        answer: Option<Answered>,
    ) {
        let micros = |delta: Delta| u32::try_from(delta.as_us().max(0)).unwrap_or(u32::MAX);
        let trip_us = micros(trip);
        let held_us = micros(held.unwrap_or(Self::SHARP)).min(trip_us);
        if trip_us < self.upper {
            (self.upper, self.answer) = (trip_us, answer);
        }
        let told = &mut self.halves[usize::from(is_late)];
        if trip_us.saturating_add(held_us) < told.trip_us.saturating_add(told.held_us) {
            *told = Told { trip_us, held_us };
        }
        self.samples = self.samples.saturating_add(1);
        if held.is_some() {
            let lower = trip_us - held_us;
            self.lower = Some(self.lower.map_or(lower, |least| least.min(lower)));
        }
    }
}

/// Whether a time lies in the second half of its window.
#[inline]
pub(super) fn is_late(now: Time, origin: Time) -> bool {
    2 * (now.since_bounded(origin).as_ns() % WINDOW.as_ns()) >= WINDOW.as_ns()
}

/// What one direction carried in a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// Bytes of the flow on the wire or, where only acknowledgments are captured, acknowledged.
    pub(crate) own_bytes: u32,
    /// Bytes of all flows of the user on the wire, any protocol.
    pub(crate) user_bytes: u32,
    /// The most that the flow, and that the user's flows together, had unacknowledged.
    pub(crate) own_in_flight: u32,
    pub(crate) user_in_flight: u32,
    /// Packets that show a loss: copies, and what fills a gap after one.
    pub(crate) lost: u16,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub(super) index: u32,
    /// By leg: of `Down` the loops between capture point and client, of `Up` those between it and the server.
    pub(super) cells: Both<Cell>,
    pub(super) carried: Both<Carried>,
}
