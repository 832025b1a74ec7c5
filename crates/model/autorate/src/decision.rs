//! A change of a rate, with why.

use unbloat_units::{Delta, Direction, Rate, Time, named};

named! {
    /// Why a rate was changed. The words are the same in logs, tables and tests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Reason {
        /// Packets wait on the line: it is full, and carries what it can carry.
        Full = "full",
        /// The queue on the line is gone: back to what the line carried when it was full.
        Drained = "drained",
        /// A delay that was taken for a queue stands although less came: the path is longer, and the rate is what it was before.
        Moved = "moved",
        /// No load for seconds: what the line carries is not known any more, and nothing is shaped.
        Idle = "idle",
        /// The shaper is in the way and nothing waits on the line: perhaps it carries more.
        Pressed = "pressed",
        /// cake-autorate: more than half of the last samples were late.
        Bloat = "bloat",
        /// cake-autorate: most of the rate is used, and samples are in time.
        HighLoad = "high_load",
        /// cake-autorate: little of the rate is used: a step back to the base rate.
        Decay = "decay",
        /// cake-autorate: nobody answers any more: the least rate.
        Silence = "silence",
    }
}

/// What a decision was made by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// How long packets waited on the line beyond their least delay, if anything said so lately.
    pub delay: Option<Delta>,
    /// Beyond which that is too long.
    pub threshold: Delta,
    /// What the line delivered of late; while packets wait too long, what it delivers when it is busy.
    pub carried: Rate,
    /// What went through the shaper of late, as a share of its rate.
    pub load: f64,
    /// What was let in and did not come back yet, if a flow tells.
    pub under_way: Option<UnderWay>,
}

/// What was let onto the line (for the downlink: what acknowledgements called for) since the packet left whose answer is the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// At IP level.
    pub bytes: u64,
    /// Whether they are known one by one: sent up, not called for.
    pub is_counted: bool,
    /// Round trip in which nothing waits.
    pub least: Delta,
}

impl UnderWay {
    /// How long the last of it waits on a line of this rate: what delays of packets that have come through tell only later.
    pub fn wait(&self, line: Rate) -> Delta {
        let bps = line.as_bps_f64().max(MUTE_BPS);
        Delta::from_secs_f64((self.bytes as f64 * 8.0 / bps).min(MOST_SECS)) - self.least
    }
}

/// A line that carries less than this is taken to carry so much, and nothing to wait for longer.
const MUTE_BPS: f64 = 10_000.0;
const MOST_SECS: f64 = 10.0;

/// A rate was changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub at: Time,
    pub direction: Direction,
    /// None: not shaped yet.
    pub before: Option<Rate>,
    pub after: Rate,
    pub reason: Reason,
    pub evidence: Evidence,
}
