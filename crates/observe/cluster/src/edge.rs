//! What is remembered where one slice ends and the next begins.

use serde::{Deserialize, Serialize};
use unbloat_analyze::Batches;
use unbloat_health::State;
use unbloat_units::Time;

/// Two of them stand for the same if all but their times is equal, and the times differ by one and the same shift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Edge {
    digest: String,
    latest_ns: i64,
    correction_ns: i64,
    /// The latest time so far, of packets that could not be read as well; `None` before the first packet.
    watermark_ns: Option<i64>,
}

/// The same, with all that is needed to go on from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) state: State,
    pub(crate) watermark_ns: Option<i64>,
}

impl Remembered {
    pub(crate) fn of(batches: &mut Batches<'_>) -> Remembered {
        let watermark = batches.watermark();
        Remembered {
            state: batches.watch().state(),
            watermark_ns: (watermark != Time::MIN).then(|| watermark.as_ns()),
        }
    }

    pub(crate) fn edge(&self) -> Edge {
        Edge {
            digest: blake3::hash(&self.state.remembered).to_hex().to_string(),
            latest_ns: self.state.latest_ns,
            correction_ns: self.state.correction_ns,
            watermark_ns: self.watermark_ns,
        }
    }

    pub(crate) fn watermark(&self) -> Time {
        self.watermark_ns.map_or(Time::MIN, Time::from_ns)
    }
}

impl Edge {
    /// What must be added to the times of the slice that begins here, if the slice before ended with `before` and
    /// `shift_ns` must be added to its times. `None` if the slice assumed something else.
    pub(crate) fn shift_from(&self, before: &Edge, shift_ns: i64) -> Option<i64> {
        let shift = before.latest_ns - self.latest_ns + shift_ns;
        let later = |own: i64| own + shift - shift_ns;
        let is_same = self.digest == before.digest
            && later(self.correction_ns) == before.correction_ns
            && self.watermark_ns.map(later) == before.watermark_ns;
        is_same.then_some(shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(latest_ns: i64) -> Edge {
        Edge {
            digest: "d".to_owned(),
            latest_ns,
            correction_ns: latest_ns - 100,
            watermark_ns: Some(latest_ns + 5),
        }
    }

    #[test]
    fn shifts_add_up_and_other_differences_are_refused() {
        assert_eq!(edge(1000).shift_from(&edge(1000), 0), Some(0));
        assert_eq!(edge(1000).shift_from(&edge(700), 0), Some(-300));
        assert_eq!(edge(1000).shift_from(&edge(700), -50), Some(-350));
        let watermark = Edge {
            watermark_ns: Some(1),
            ..edge(1000)
        };
        assert_eq!(watermark.shift_from(&edge(1000), 0), None);
        let digest = Edge {
            digest: "e".to_owned(),
            ..edge(1000)
        };
        assert_eq!(digest.shift_from(&edge(1000), 0), None);
    }
}
