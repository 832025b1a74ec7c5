//! What a value does over time, in bounded memory: bins whose width doubles when the run turns out to be longer.

use unbloat_stats::LogHistogram;

/// Width of the first bins, in ns.
const FIRST_WIDTH: i64 = 10_000_000;

/// Points of a curve.
const POINTS: usize = 1_000;

/// Blocks of time, after the last doubling at least half as many.
const BLOCKS: usize = 32;

/// Values at times from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) all: LogHistogram,
    blocks: Bins<Block>,
    largest: Bins<f64>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) values: LogHistogram,
    pub(crate) sum: f64,
}

impl Course {
    pub(crate) fn new() -> Course {
        Course {
            all: LogHistogram::new(),
            blocks: Bins::new(BLOCKS),
            largest: Bins::new(POINTS),
        }
    }

    /// A value that stands for `times` samples. Before `warm_ns` it is drawn and not counted.
    pub(crate) fn push(&mut self, at_ns: i64, value: f64, times: u64, warm_ns: i64) {
        if at_ns < 0 || times == 0 {
            return;
        }
        let point = self.largest.at(at_ns, |to, from| *to = to.max(from));
        *point = Some(point.map_or(value, |old: f64| old.max(value)));
        if at_ns < warm_ns {
            return;
        }
        self.all.record_n(value, times);
        let block = self.blocks.at(at_ns, Block::add);
        let block = block.get_or_insert_default();
        block.values.record_n(value, times);
        block.sum += value * times as f64;
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.bins.iter().flatten()
    }

    /// The largest value between each two points, with the point's time in s.
    pub(crate) fn points(&self) -> (Vec<f64>, Vec<f64>) {
        let width = self.largest.width as f64 / 1e9;
        let bins = self.largest.bins.iter().enumerate();
        bins.filter_map(|(bin, value)| Some((bin as f64 * width, (*value)?)))
            .unzip()
    }
}

impl Block {
    fn add(&mut self, other: Block) {
        self.values.merge(&other.values);
        self.sum += other.sum;
    }
}

#[derive(Clone, Debug)]
struct Bins<T> {
    width: i64,
    most: usize,
    bins: Vec<Option<T>>,
}

impl<T> Bins<T> {
    fn new(most: usize) -> Bins<T> {
        Bins {
            width: FIRST_WIDTH,
            most,
            bins: Vec::new(),
        }
    }

    /// The bin of a time; bins are put together in pairs until there are few enough.
    fn at(&mut self, at_ns: i64, add: impl Fn(&mut T, T)) -> &mut Option<T> {
        while at_ns / self.width >= self.most as i64 {
            self.width *= 2;
            let mut old = std::mem::take(&mut self.bins).into_iter();
            while let Some(first) = old.next() {
                let second = old.next().flatten();
                self.bins.push(match (first, second) {
                    (Some(mut first), Some(second)) => {
                        add(&mut first, second);
                        Some(first)
                    }
                    (first, second) => first.or(second),
                });
            }
        }
        let bin = (at_ns / self.width) as usize;
        if self.bins.len() <= bin {
            self.bins.resize_with(bin + 1, || None);
        }
        &mut self.bins[bin]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_samples_does_not_matter() {
        let samples: Vec<(i64, f64)> = (0..5_000)
            .map(|i| (i * 7_000_001, (i % 83) as f64))
            .collect();
        let of = |order: &mut dyn Iterator<Item = &(i64, f64)>| {
            let mut course = Course::new();
            order.for_each(|(at, value)| course.push(*at, *value, 1, 0));
            course
        };
        let (forth, back) = (of(&mut samples.iter()), of(&mut samples.iter().rev()));
        assert_eq!(forth.points(), back.points());
        let sums = |course: &Course| course.blocks().map(|block| block.sum).collect::<Vec<_>>();
        assert_eq!(sums(&forth), sums(&back));
        assert!(
            (16..=32).contains(&sums(&forth).len()),
            "{}",
            sums(&forth).len()
        );
    }

    #[test]
    fn a_run_of_centuries_takes_no_more_memory() {
        let mut course = Course::new();
        for at in [-5, 0, 1, i64::MAX / 2, i64::MAX] {
            course.push(at, 1.0, 1, 0);
        }
        assert_eq!(course.all.count(), 4);
        assert!(course.largest.bins.len() <= POINTS);
    }

    #[test]
    fn the_warm_up_is_drawn_and_not_counted() {
        let mut course = Course::new();
        course.push(0, 5.0, 1, 1_000);
        course.push(1_000, 3.0, 1, 1_000);
        assert_eq!(course.all.count(), 1);
        assert_eq!(course.points().1, [5.0]);
    }
}
