//! Quantiles of any number of positive values in little memory.
//!
//! # References
//! Masson, Rim, Lee: DDSketch (VLDB 2019) for the guarantee (relative error of a quantile's value,
//! mergeable); HdrHistogram for buckets that are cut out of a number's binary form, so that
//! recording needs no logarithm.
//!
//! # Where we differ
//! Up to [`LogHistogram::EXACT`] values are kept as they are: most flows have few samples, and 64
//! values need less memory than any set of buckets. Only the range of buckets in use is stored.

use crate::values::Values;

/// The values up to this one are counted as zero.
const SMALLEST: f64 = 1.0 / (1u64 << 30) as f64;
/// Values from this one on are counted as this one.
const LARGEST: f64 = 1.8e19;
/// 2^6 buckets for each doubling.
const SUB_BITS: u32 = 6;
const SHIFT: u32 = 52 - SUB_BITS;

/// A quantile sketch over non-negative numbers.
///
/// Quantiles are nearest-rank (the smallest value that at least `q` of all values do not exceed).
/// Up to 64 values they are exact to the precision of `f32` (6e-8). Beyond, the value returned is
/// within 0.8 % of the exact one ([`LogHistogram::RELATIVE_ERROR`]), for values between 2^-30 and
/// 1.8e19; smaller and negative ones count as zero, NaN is not recorded. A bucket counts to
/// 4,294,967,295 and stays there.
#[derive(Clone, Debug, Default)]
pub struct LogHistogram {
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Exact(Values),
    Buckets(Box<Buckets>),
}

#[derive(Clone, Debug)]
struct Buckets {
    /// The bucket that `counts[0]` counts.
    first: u16,
    counts: Vec<u32>,
    min: f32,
    max: f32,
}

impl Default for Form {
    fn default() -> Form {
        Form::Exact(Values::default())
    }
}

impl LogHistogram {
    /// So many values are kept as they are.
    pub const EXACT: usize = 64;
    /// Bound on the relative error of a quantile: half a bucket, 1/128.
    pub const RELATIVE_ERROR: f64 = 1.0 / (1u64 << (SUB_BITS + 1)) as f64;

    pub fn new() -> LogHistogram {
        LogHistogram::default()
    }

    #[inline]
    pub fn record(&mut self, value: f64) {
        if value < LARGEST
            && let Form::Buckets(buckets) = &mut self.form
            && buckets.add_within(if value > SMALLEST { value as f32 } else { 0.0 })
        {
            return;
        }
        self.record_one(value);
    }

    /// Of few values, and of those that the buckets in use do not reach.
    #[inline(never)]
    fn record_one(&mut self, value: f64) {
        match &mut self.form {
            Form::Exact(values)
                if value > SMALLEST && value < LARGEST && values.len() < Self::EXACT =>
            {
                values.push(value as f32);
            }
            _ => self.record_n(value, 1),
        }
    }

    /// Records `value` as if it had been seen `times` times.
    pub fn record_n(&mut self, value: f64, times: u64) {
        if value.is_nan() || times == 0 {
            return;
        }
        let value = if value <= SMALLEST {
            0.0
        } else {
            value.min(LARGEST)
        };
        if let Form::Exact(values) = &mut self.form {
            if values.len() as u64 + times <= Self::EXACT as u64 {
                (0..times).for_each(|_| values.push(value as f32));
                return;
            }
            self.form = Form::Buckets(Box::new(Buckets::of(values)));
        }
        if let Form::Buckets(buckets) = &mut self.form {
            // Through f32 like the exact values, so that the form never depends on the order.
            buckets.add(value as f32, times.min(u64::from(u32::MAX)) as u32);
        }
    }

    /// Adds everything that `other` recorded.
    pub fn merge(&mut self, other: &LogHistogram) {
        match &other.form {
            Form::Exact(values) => values.iter().for_each(|&v| self.record(f64::from(v))),
            Form::Buckets(theirs) => {
                if let Form::Exact(values) = &self.form {
                    self.form = Form::Buckets(Box::new(Buckets::of(values)));
                }
                if let Form::Buckets(ours) = &mut self.form {
                    ours.merge(theirs);
                }
            }
        }
    }

    pub fn count(&self) -> u64 {
        match &self.form {
            Form::Exact(values) => values.len() as u64,
            Form::Buckets(b) => b.counts.iter().map(|&n| u64::from(n)).sum(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub fn min(&self) -> Option<f64> {
        match &self.form {
            Form::Exact(values) => values.iter().copied().reduce(f32::min).map(f64::from),
            Form::Buckets(b) => Some(f64::from(b.min)),
        }
    }

    pub fn max(&self) -> Option<f64> {
        match &self.form {
            Form::Exact(values) => values.iter().copied().reduce(f32::max).map(f64::from),
            Form::Buckets(b) => Some(f64::from(b.max)),
        }
    }

    /// The smallest value that at least the share `q` of all values do not exceed.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// Several quantiles for the price of one.
    pub fn quantiles<const N: usize>(&self, qs: [f64; N]) -> Option<[f64; N]> {
        if let Form::Exact(values) = &self.form {
            return exact_quantiles(values, qs);
        }
        let steps = self.steps();
        let total = steps.last()?.1;
        Some(qs.map(|q| {
            let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
            let at = steps.partition_point(|&(_, cumulated)| cumulated < rank);
            steps[at].0
        }))
    }

    /// The share of values that are at most `x`. Values in the same bucket as `x` count as at
    /// most `x`, so the answer is exact for some number within 1.6 % above `x`.
    pub fn share_at_most(&self, x: f64) -> Option<f64> {
        let (below, total) = match &self.form {
            Form::Exact(values) => {
                let x = x as f32;
                (
                    values.iter().filter(|&&v| v <= x).count() as u64,
                    values.len() as u64,
                )
            }
            Form::Buckets(b) if x < f64::from(b.min) => (0, self.count()),
            Form::Buckets(b) => {
                let last = usize::from(bucket_of(x as f32).saturating_sub(b.first));
                let below = b.counts.iter().take(last + 1);
                (below.map(|&n| u64::from(n)).sum(), self.count())
            }
        };
        (total > 0).then(|| below as f64 / total as f64)
    }

    /// Distinct values in rising order, each with how many values do not exceed it.
    pub fn steps(&self) -> Vec<(f64, u64)> {
        let mut cumulated = 0;
        let mut steps: Vec<(f64, u64)> = Vec::new();
        let mut push = |value: f64, count: u64| {
            cumulated += count;
            match steps.last_mut() {
                Some(last) if last.0 == value => last.1 = cumulated,
                _ => steps.push((value, cumulated)),
            }
        };
        match &self.form {
            Form::Exact(values) => {
                let mut sorted = values.to_vec();
                sorted.sort_by(f32::total_cmp);
                sorted.iter().for_each(|&v| push(f64::from(v), 1));
            }
            Form::Buckets(b) => b.values().for_each(|(value, n)| push(value, n)),
        }
        steps
    }

    /// The memory held beside the struct itself.
    pub fn heap_bytes(&self) -> usize {
        match &self.form {
            Form::Exact(values) => values.heap_bytes(),
            Form::Buckets(b) => size_of::<Buckets>() + b.counts.capacity() * size_of::<u32>(),
        }
    }
}

impl Buckets {
    fn of(values: &[f32]) -> Buckets {
        let mut buckets = Buckets {
            first: 0,
            counts: Vec::new(),
            min: f32::MAX,
            max: 0.0,
        };
        values.iter().for_each(|&v| buckets.add(v, 1));
        buckets
    }

    fn add(&mut self, value: f32, times: u32) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let slot = self.slot(bucket_of(value));
        *slot = slot.saturating_add(times);
    }

    /// Adds a value if its bucket is within the range in use; says whether it was.
    #[inline]
    fn add_within(&mut self, value: f32) -> bool {
        let at = usize::from(bucket_of(value).wrapping_sub(self.first));
        let Some(count) = self.counts.get_mut(at) else {
            return false;
        };
        *count = count.saturating_add(1);
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
        true
    }

    fn merge(&mut self, other: &Buckets) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        for (bucket, &n) in (other.first..).zip(&other.counts).filter(|(_, n)| **n > 0) {
            let slot = self.slot(bucket);
            *slot = slot.saturating_add(n);
        }
    }

    fn slot(&mut self, bucket: u16) -> &mut u32 {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = usize::from(self.first - bucket);
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let at = usize::from(bucket - self.first);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        &mut self.counts[at]
    }

    /// The middle of each bucket in use, kept between the true extremes, and its count.
    fn values(&self) -> impl Iterator<Item = (f64, u64)> {
        let (min, max) = (f64::from(self.min), f64::from(self.max));
        (self.first..)
            .zip(&self.counts)
            .filter(|(_, n)| **n > 0)
            .map(move |(bucket, &n)| (middle_of(bucket).clamp(min, max), u64::from(n)))
    }
}

fn exact_quantiles<const N: usize>(values: &[f32], qs: [f64; N]) -> Option<[f64; N]> {
    if values.is_empty() {
        return None;
    }
    // None is negative, and such numbers sort as their bits do.
    let mut room = [0; LogHistogram::EXACT];
    let sorted = &mut room[..values.len()];
    for (bits, value) in sorted.iter_mut().zip(values) {
        *bits = value.to_bits();
    }
    sorted.sort_unstable();
    Some(qs.map(|q| {
        let rank = (q * sorted.len() as f64).ceil() as usize;
        f64::from(f32::from_bits(sorted[rank.clamp(1, sorted.len()) - 1]))
    }))
}

/// Bucket 0 is zero; then 64 buckets for each doubling from `SMALLEST` on.
#[inline]
fn bucket_of(value: f32) -> u16 {
    const SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - SUB_BITS;
    const FIRST: u32 = (SMALLEST as f32).to_bits() >> SHIFT;
    if value <= SMALLEST as f32 {
        return 0;
    }
    let raw = (value.min(LARGEST as f32).to_bits() >> SHIFT) - FIRST;
    raw as u16 + 1
}

fn middle_of(bucket: u16) -> f64 {
    if bucket == 0 {
        return 0.0;
    }
    let low = u64::from(bucket - 1) + (SMALLEST.to_bits() >> SHIFT);
    (f64::from_bits(low << SHIFT) + f64::from_bits((low + 1) << SHIFT)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values over nine decades, the same every time.
    fn values(n: u64) -> Vec<f64> {
        let spread =
            |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64;
        (1..=n).map(|i| 10f64.powf(9.0 * spread(i) - 3.0)).collect()
    }

    fn histogram(values: &[f64]) -> LogHistogram {
        let mut h = LogHistogram::new();
        values.iter().for_each(|&v| h.record(v));
        h
    }

    fn exact(values: &[f64], q: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[((q * sorted.len() as f64).ceil() as usize).max(1) - 1]
    }

    #[test]
    fn every_quantile_is_within_the_stated_error_of_an_exact_sort() {
        for n in [1, 2, 63, 64, 65, 1000, 20_000] {
            let values = values(n);
            let h = histogram(&values);
            assert_eq!(h.count(), n);
            for permille in 0..=1000 {
                let q = f64::from(permille) / 1000.0;
                let (got, want) = (h.quantile(q).unwrap(), exact(&values, q));
                let bound = LogHistogram::RELATIVE_ERROR + 1e-7;
                assert!(
                    (got / want - 1.0).abs() <= bound,
                    "n {n} q {q}: {got} for {want}"
                );
            }
        }
    }

    #[test]
    fn merged_parts_equal_the_whole_whatever_the_cut() {
        let values = values(500);
        let whole = histogram(&values);
        for cut in [0, 1, 30, 64, 65, 250, 499, 500] {
            let (mut a, b) = (histogram(&values[..cut]), histogram(&values[cut..]));
            a.merge(&b);
            assert_eq!(a.steps(), whole.steps(), "cut at {cut}");
            let (mut few, mut rest) = (histogram(&values[..20]), histogram(&values[20..40]));
            rest.merge(&few);
            few.merge(&histogram(&values[20..40]));
            assert_eq!(few.steps(), rest.steps());
        }
    }

    #[test]
    fn weights_count_like_repetition() {
        let (mut weighted, mut repeated) = (LogHistogram::new(), LogHistogram::new());
        for (value, times) in [(3.0, 40), (7.5, 30), (0.0, 5)] {
            weighted.record_n(value, times);
            (0..times).for_each(|_| repeated.record(value));
        }
        assert_eq!(weighted.steps(), repeated.steps());
    }

    #[test]
    fn zero_negative_infinite_and_nan_have_a_defined_place() {
        let mut h = histogram(&[0.0, -1.0, f64::INFINITY, f64::NAN]);
        assert_eq!((h.count(), h.quantile(0.5)), (3, Some(0.0)));
        h.record_n(1.0, 100);
        assert_eq!((h.count(), h.min()), (103, Some(0.0)));
        assert!((h.max().unwrap() / LARGEST - 1.0).abs() < 1e-6);
        assert_eq!(LogHistogram::new().quantile(0.5), None);
    }

    #[test]
    fn the_share_at_most_a_value_is_exact_at_the_end_of_its_bucket() {
        let values: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let h = histogram(&values);
        for x in [1.0, 99.0, 5_000.0, 10_000.0] {
            let share = h.share_at_most(x).unwrap();
            assert!(share >= x / 1e4 && share <= x * 1.016 / 1e4, "{x}: {share}");
        }
        assert_eq!(h.share_at_most(0.5), Some(0.0));
        assert_eq!(histogram(&[1.0, 2.0]).share_at_most(1.5), Some(0.5));
    }

    #[test]
    fn a_small_flow_and_a_large_one_stay_compact() {
        assert!(size_of::<LogHistogram>() <= 16);
        assert_eq!(
            histogram(&values(3)).heap_bytes(),
            0,
            "the first three are kept inline"
        );
        assert!(histogram(&values(64)).heap_bytes() <= 48 + 256);
        // 20 ms to 2 s, as the RTT of a bloated flow.
        let rtts: Vec<f64> = (0..100_000).map(|i| 20.0 + f64::from(i) * 0.0198).collect();
        assert!(histogram(&rtts).heap_bytes() < 4096);
    }
}
