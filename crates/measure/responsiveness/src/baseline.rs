//! Whether the idle path was idle: a queue that others keep filled before a test begins hides in its baseline.
//!
//! A queue that stands delays nearly every packet, jitter only some of them and by little. So lower quartile and median of the idle stage are
//! compared with the lowest delay of the whole test: the stages and the pauses after them drain the queue of others now and then. Where they never do, the floor
//! is not seen, and the delays are at least what is told.

use unbloat_stats::quantile;
use unbloat_units::Delta;

/// Above the floor by less is jitter of radio or of this machine: of three quarters of packets, and of half of them.
const JITTER: [Delta; 2] = [Delta::ms(10), Delta::ms(25)];

/// The median above the floor, if that is more than jitter.
pub fn standing(idle: &mut [Delta], floor: Delta) -> Option<Delta> {
    let [quartile, median] = [0.25, 0.5].map(|share| quantile(idle, share));
    let above = [quartile? - floor, median? - floor];
    let stands = above
        .iter()
        .zip(JITTER)
        .any(|(late, jitter)| *late > jitter);
    stands.then_some(above[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_stands_is_told_from_jitter_and_bursts() {
        let ms = |values: &[i64]| values.iter().copied().map(Delta::ms).collect::<Vec<_>>();
        let floor = Delta::ms(30);
        let stands = standing(&mut ms(&[190, 205, 196, 31, 201]), floor);
        assert_eq!(stands, Some(Delta::ms(166)));
        // Radio: up to 25 ms late, evenly.
        let mut radio: Vec<Delta> = (0..100).map(|k| Delta::ms(30 + k / 4)).collect();
        assert_eq!(standing(&mut radio, floor), None);
        // A page that loads: a third of the time.
        assert_eq!(standing(&mut ms(&[30, 31, 30, 32, 180, 150]), floor), None);
        let half = standing(&mut ms(&[30, 31, 240, 240, 250]), floor);
        assert_eq!(half, Some(Delta::ms(210)));
        assert_eq!(standing(&mut [], floor), None);
    }
}
