//! Whether the idle path was idle: a queue that others keep filled before a test begins hides in its baseline.
//!
//! A queue that stands delays nearly every packet, jitter only some of them. So the lower quartile of the idle stage is compared with the
//! lowest delay of the whole test: the stages and the pauses after them drain the queue of others now and then. Where they never do, the floor
//! is not seen, and the delays are at least what is told.

use crate::quantile::quantile;
use unbloat_units::Delta;

/// Above the floor by less is jitter of radio or of this machine.
const JITTER: Delta = Delta::ms(10);

/// By how much nearly all idle packets were later than the floor, if that is more than jitter.
pub fn standing(idle: &mut [Delta], floor: Delta) -> Option<Delta> {
    let standing = quantile(idle, 0.25)? - floor;
    (standing > JITTER).then_some(standing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_stands_is_told_from_jitter_and_bursts() {
        let ms = |values: &[i64]| values.iter().copied().map(Delta::ms).collect::<Vec<_>>();
        let floor = Delta::ms(30);
        let stands = standing(&mut ms(&[190, 205, 196, 31, 201]), floor);
        assert_eq!(stands, Some(Delta::ms(160)));
        // Radio: up to 25 ms late, evenly.
        let mut radio: Vec<Delta> = (0..100).map(|k| Delta::ms(30 + k / 4)).collect();
        assert_eq!(standing(&mut radio, floor), None);
        // A page that loads: a third of the time.
        assert_eq!(standing(&mut ms(&[30, 31, 30, 32, 180, 150]), floor), None);
        assert_eq!(standing(&mut [], floor), None);
    }
}
