//! What is known of each flow, within bounds.

use std::collections::BTreeMap;
use unbloat_units::Time;

/// Flows beyond these are not looked at; the one that was silent for longest gives way.
pub(crate) const FLOWS: usize = 4_096;

/// One `T` for each flow.
pub(crate) struct Flows<T> {
    /// With when it was seen last.
    all: BTreeMap<u64, (Time, T)>,
}

impl<T> Default for Flows<T> {
    fn default() -> Flows<T> {
        Flows {
            all: BTreeMap::new(),
        }
    }
}

impl<T> Flows<T> {
    /// What is known of a flow that is seen now; `new` where nothing is.
    pub(crate) fn see(&mut self, key: u64, now: Time, new: impl FnOnce() -> T) -> &mut T {
        if !self.all.contains_key(&key) && self.all.len() >= FLOWS {
            let oldest = self.all.iter().min_by_key(|(_, (seen, _))| *seen);
            if let Some(silent) = oldest.map(|(other, _)| *other) {
                self.all.remove(&silent);
            }
        }
        let (seen, flow) = self.all.entry(key).or_insert_with(|| (now, new()));
        *seen = now;
        flow
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Delta;

    #[test]
    fn the_flow_that_was_silent_for_longest_gives_way() {
        let mut flows = Flows::default();
        let at = |ms| Time::from_ns(0) + Delta::ms(ms);
        for key in 0..FLOWS as u64 {
            *flows.see(key, at(key as i64), || 0) = key;
        }
        flows.see(0, at(5_000), || 0);
        flows.see(u64::MAX, at(5_001), || 0);
        assert_eq!(flows.len(), FLOWS);
        assert_eq!(*flows.see(2, at(5_002), || u64::MAX), 2, "seen later");
        assert_eq!(*flows.see(1, at(5_003), || u64::MAX), u64::MAX, "forgotten");
    }
}
