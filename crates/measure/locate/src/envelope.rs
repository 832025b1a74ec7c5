//! From the delay that load adds at each hop to what the path adds before each hop.

/// No hop can have less of the path's wait than one before it, and answers of a slow hop only have more:
/// what the path has added before a hop is no more than the least of what it and all later hops show.
pub(crate) fn envelope(added: &[f64]) -> Vec<f64> {
    let mut least = f64::INFINITY;
    let mut path: Vec<f64> = added
        .iter()
        .rev()
        .map(|&here| {
            least = least.min(here);
            least.max(0.0)
        })
        .collect();
    path.reverse();
    path
}

/// What the path adds between each hop and the one before it.
pub(crate) fn steps(path: &[f64]) -> impl Iterator<Item = f64> {
    let before = std::iter::once(0.0).chain(path.iter().copied());
    path.iter().zip(before).map(|(here, before)| here - before)
}

/// The place of the largest step; the first of equals.
pub(crate) fn largest(steps: impl Iterator<Item = f64>) -> Option<usize> {
    let best = |best: Option<(usize, f64)>, (at, step)| match best {
        Some((_, most)) if step <= most => best,
        _ => Some((at, step)),
    };
    steps.enumerate().fold(None, best).map(|(at, _)| at)
}

/// A hop whose delay is far below that of the hop before it and of all behind it, which agree: its answers do
/// not come back through the queue. The last hop is never meant, since nothing contradicts it.
pub(crate) fn dip(added: &[f64], at_least: f64) -> Option<usize> {
    const AGREE: f64 = 0.25;
    const LOW: f64 = 0.3;
    (1..added.len().saturating_sub(1)).find(|&at| {
        let before = added[at - 1];
        let behind = added[at + 1..]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let agrees = (before - behind).abs() < AGREE * behind;
        agrees && behind > at_least && added[at] < LOW * behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_later_hops_do_not_have_is_the_hops_own() {
        let path = envelope(&[0.1, 90.0, 0.2, 50.0, 51.0]);
        assert_eq!(path, [0.1, 0.2, 0.2, 50.0, 51.0]);
        assert_eq!(largest(steps(&path)), Some(3));
        assert_eq!(largest(steps(&envelope(&[]))), None);
    }

    #[test]
    fn delays_below_idle_are_no_delays() {
        assert_eq!(envelope(&[-3.0, -1.0, 4.0]), [0.0, 0.0, 4.0]);
    }

    #[test]
    fn a_hop_far_below_its_neighbours_stands_out_unless_it_is_the_last() {
        assert_eq!(dip(&[50.0, 1.0, 52.0, 51.0], 3.0), Some(1));
        assert_eq!(dip(&[1.0, 50.0, 52.0, 2.0], 3.0), None);
        assert_eq!(dip(&[0.0, 20.0, 1.0, 50.0], 3.0), None);
    }
}
