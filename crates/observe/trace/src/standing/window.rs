//! A quarter of a second of one flow: what its delays were at least and at most, and what was sent.

use unbloat_units::{Both, Delta, Direction, Time};

/// How long a window lasts. All flows share one grid, so that windows of several can be compared.
pub(crate) const WINDOW: Delta = Delta::ms(250);

/// Which window of the trace a time lies in.
#[inline]
pub(crate) fn index_of(now: Time, origin: Time) -> u32 {
    let since = now.since_bounded(origin).as_ns() / WINDOW.as_ns();
    u32::try_from(since.max(0)).unwrap_or(u32::MAX)
}

/// A series of delays of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// The whole path in the direction of the side, by both hosts' clocks.
    Path(Direction),
    /// From the sender of the side's data to the capture point, by the sender's clock.
    OneWay(Direction),
    /// From the capture point to the receiver of the side's data and back, by the capture clock.
    Loop(Direction),
}

impl Series {
    pub(crate) const COUNT: usize = 6;
    pub(crate) const ALL: [Series; Series::COUNT] = [
        Series::Path(Direction::Down),
        Series::Path(Direction::Up),
        Series::OneWay(Direction::Down),
        Series::OneWay(Direction::Up),
        Series::Loop(Direction::Down),
        Series::Loop(Direction::Up),
    ];

    /// Measured by timestamps, so only as well as their ticks are known.
    pub(super) const fn is_by_clocks(self) -> bool {
        !matches!(self, Series::Loop(_))
    }

    /// As in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Series::Path(_) => "path",
            Series::OneWay(_) => "one_way",
            Series::Loop(_) => "loop",
        }
    }

    /// The direction of the data: for loops that of the data that was acknowledged.
    pub(crate) const fn side(self) -> Direction {
        match self {
            Series::Path(side) | Series::OneWay(side) | Series::Loop(side) => side,
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Series::Path(side) => side as usize,
            Series::OneWay(side) => 2 + side as usize,
            Series::Loop(side) => 4 + side as usize,
        }
    }
}

/// Delays of one series in a window, in microseconds over an arbitrary zero of the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The least sample: what the path delays is no more than this.
    pub(super) upper: i32,
    /// The least lower end of the samples that convict: it is no less than this.
    pub(super) lower: i32,
    pub(super) samples: u16,
    /// Samples whose host cannot have waited long.
    pub(super) sharp: u16,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell {
            upper: i32::MAX,
            lower: i32::MAX,
            samples: 0,
            sharp: 0,
        }
    }
}

impl Cell {
    /// Beyond this a gap leaves a sample nothing to say of a queue.
    const SHARP_US: i64 = 100_000;

    #[inline]
    pub(super) fn add(&mut self, us: i64, gap_us: Option<i64>) {
        let bounded = |x: i64| x.clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX) - 1) as i32;
        self.upper = self.upper.min(bounded(us));
        self.samples = self.samples.saturating_add(1);
        if let Some(gap) = gap_us.filter(|&gap| gap <= Self::SHARP_US) {
            self.lower = self.lower.min(bounded(us - gap));
            self.sharp = self.sharp.saturating_add(1);
        }
    }
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
    pub(super) cells: [Cell; Series::COUNT],
    pub(super) carried: Both<Carried>,
}

impl Window {
    pub(super) fn cell(&self, series: Series) -> &Cell {
        &self.cells[series.index()]
    }
}
