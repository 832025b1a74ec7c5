//! Counts over two numbers at once, in bins that grow with the numbers.

use std::collections::BTreeMap;

/// Bins beyond these many doublings from 1 are counted in the outermost.
const DOUBLINGS: f64 = 64.0;

/// Counts over a plane with logarithmic bins on both axes.
///
/// A bin's edges are 2^(k/bins_per_doubling); values that are not positive are left out. Memory
/// is one entry for each bin in use, at most (128 * bins_per_doubling)^2.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram2d {
    bins_per_doubling: u8,
    counts: BTreeMap<(i16, i16), u64>,
}

/// One bin: its centre on each (logarithmic) axis and its count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub x: f64,
    pub y: f64,
    pub count: u64,
}

impl Histogram2d {
    pub fn new(bins_per_doubling: u8) -> Histogram2d {
        Histogram2d {
            bins_per_doubling: bins_per_doubling.max(1),
            counts: BTreeMap::new(),
        }
    }

    pub fn record(&mut self, x: f64, y: f64) {
        if let (Some(x), Some(y)) = (self.bin(x), self.bin(y)) {
            *self.counts.entry((x, y)).or_default() += 1;
        }
    }

    /// Adds the counts of `other`, which has the same bins.
    pub fn merge(&mut self, other: &Histogram2d) {
        debug_assert_eq!(self.bins_per_doubling, other.bins_per_doubling);
        for (&bin, &count) in &other.counts {
            *self.counts.entry(bin).or_default() += count;
        }
    }

    /// The bins in use, by x then y.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.counts.iter().map(|(&(x, y), &count)| Cell {
            x: self.centre(x),
            y: self.centre(y),
            count,
        })
    }

    /// For each x in use, the centre of the bin in which the `q`-quantile of y lies (nearest rank).
    pub fn quantile_by_x(&self, q: f64) -> Vec<(f64, f64)> {
        let mut columns: BTreeMap<i16, Vec<(i16, u64)>> = BTreeMap::new();
        for (&(x, y), &count) in &self.counts {
            columns.entry(x).or_default().push((y, count));
        }
        let quantile = |column: Vec<(i16, u64)>| {
            let total: u64 = column.iter().map(|c| c.1).sum();
            let rank = ((q * total as f64).ceil() as u64).max(1);
            let mut cumulated = 0;
            let reached = column.iter().find(|&&(_, count)| {
                cumulated += count;
                cumulated >= rank
            });
            reached.map(|&(y, _)| self.centre(y))
        };
        let points = columns.into_iter();
        points
            .filter_map(|(x, column)| Some((self.centre(x), quantile(column)?)))
            .collect()
    }

    fn bin(&self, value: f64) -> Option<i16> {
        let doublings = value.log2().clamp(-DOUBLINGS, DOUBLINGS);
        (value > 0.0).then(|| (doublings * f64::from(self.bins_per_doubling)).floor() as i16)
    }

    fn centre(&self, bin: i16) -> f64 {
        ((f64::from(bin) + 0.5) / f64::from(self.bins_per_doubling)).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_within_half_a_bin_of_its_cell() {
        for value in [1e-6, 0.3, 1.0, 1.4, 1500.0, 3e9] {
            let mut h = Histogram2d::new(4);
            h.record(value, value * 2.0);
            let cell = h.cells().next().unwrap();
            let bound = 2f64.powf(0.125) + 1e-9;
            assert!(
                cell.x / value <= bound && value / cell.x <= bound,
                "{cell:?}"
            );
            assert!((cell.y / cell.x - 2.0).abs() < 1e-9);
        }
    }

    #[test]
    fn quantiles_by_x_follow_the_column() {
        let mut h = Histogram2d::new(8);
        for i in 1..=1000 {
            h.record(100.0, f64::from(i));
            h.record(1e6, 5.0);
        }
        let medians = h.quantile_by_x(0.5);
        assert_eq!(medians.len(), 2);
        assert!((medians[0].1 / 500.0 - 1.0).abs() < 0.1, "{medians:?}");
        assert!((medians[1].1 / 5.0 - 1.0).abs() < 0.1, "{medians:?}");
    }

    #[test]
    fn merging_adds_and_what_is_not_positive_is_left_out() {
        let mut a = Histogram2d::new(2);
        a.record(0.0, 1.0);
        a.record(1.0, f64::NAN);
        assert_eq!(a.cells().count(), 0);
        a.record(f64::INFINITY, 1.0);
        let b = a.clone();
        a.merge(&b);
        assert_eq!(a.cells().map(|c| c.count).sum::<u64>(), 2);
    }
}
