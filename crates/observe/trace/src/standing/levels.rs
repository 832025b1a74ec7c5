//! Levels of the least delays: a path that becomes longer or shorter moves all delays at once, and for good.
//!
//! Hosts' waits and bursts leave some samples low, so least delays over two seconds lie on the path's own level; a
//! queue's drift as it grows and drains.

use super::delays::Delays;
use super::window::{WINDOW, Window};
use unbloat_units::Delta;

/// Windows of which the least delay is taken: two seconds.
const SPAN: u32 = (Delta::secs(2).as_ns() / WINDOW.as_ns()) as u32;
/// So many spans make a level.
pub(super) const LEAST_SPANS: usize = 3;

/// A level of the least delays.
#[derive(Clone, Copy)]
struct Level {
    /// First and last span.
    from: u32,
    until: u32,
    us: i64,
}

/// The largest step between two levels that follow each other, in microseconds; no less than twice what
/// delays on a level differ by.
pub(super) fn step_us(windows: &[Window], delays: &[Delays], tolerance: Delta) -> Option<i64> {
    let levels = levels(&least(windows, delays), tolerance.as_us());
    // One span may lie across the step.
    let pairs = levels
        .windows(2)
        .filter(|two| two[1].from - two[0].until <= 2);
    let steps = pairs.map(|two| (two[1].us - two[0].us).abs());
    steps.max().filter(|&step| step >= 2 * tolerance.as_us())
}

/// The least delay of each span that has one.
fn least(windows: &[Window], delays: &[Delays]) -> Vec<(u32, i64)> {
    let mut least: Vec<(u32, i64)> = Vec::new();
    for (window, delay) in windows.iter().zip(delays).filter(|(_, d)| d.samples > 0) {
        let span = window.index / SPAN;
        match least.last_mut() {
            Some((last, us)) if *last == span => *us = delay.upper.min(*us),
            _ => least.push((span, delay.upper)),
        }
    }
    least
}

fn levels(least: &[(u32, i64)], tolerance_us: i64) -> Vec<Level> {
    let mut levels = Vec::new();
    let mut begin = 0;
    while begin < least.len() {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        let is_same = |&&(_, us): &&(u32, i64)| {
            (low, high) = (low.min(us), high.max(us));
            high - low <= tolerance_us
        };
        let length = least[begin..].iter().take_while(is_same).count();
        let of_level = &least[begin..begin + length];
        if length >= LEAST_SPANS {
            levels.push(Level {
                from: of_level[0].0,
                until: of_level[length - 1].0,
                us: of_level.iter().map(|&(_, us)| us).sum::<i64>() / length as i64,
            });
            begin += length;
        } else {
            begin += 1;
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a minute of windows whose least delay is told by the second.
    fn step_ms(delay_ms: impl Fn(f64) -> f64) -> Option<i64> {
        let seconds = |index: u32| f64::from(index) * WINDOW.as_secs();
        let windows: Vec<Window> = (0..120)
            .map(|index| Window {
                index,
                ..Window::default()
            })
            .collect();
        let delays: Vec<Delays> = (0..120)
            .map(|index| {
                let upper = (delay_ms(seconds(index)) * 1e3) as i64;
                Delays {
                    upper,
                    lower: upper,
                    usual: [upper; 2],
                    held: 0,
                    samples: 1,
                    sharp: 0,
                }
            })
            .collect();
        step_us(&windows, &delays, Delta::ms(8)).map(|us| us / 1_000)
    }

    #[test]
    fn a_longer_way_is_a_step_and_a_shorter_one_too() {
        assert_eq!(step_ms(|s| if s < 9.0 { 1.0 } else { 61.0 }), Some(60));
        assert_eq!(step_ms(|s| if s < 15.0 { 90.0 } else { 40.0 }), Some(50));
    }

    #[test]
    fn a_queue_that_fills_and_drains_has_no_levels() {
        assert_eq!(step_ms(|s| (s - 9.0).max(0.0) * 20.0), None);
        assert_eq!(
            step_ms(|s| if s < 9.0 { 0.0 } else { 60.0 + s % 4.0 * 15.0 }),
            None
        );
        assert_eq!(
            step_ms(|s| if (9.0..12.0).contains(&s) { 100.0 } else { 0.0 }),
            None
        );
    }
}
