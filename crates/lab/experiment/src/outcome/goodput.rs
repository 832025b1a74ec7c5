//! Bytes in total and by intervals, in memory that does not grow with the run unless a series is kept.

use super::spread::rsd;
use unbloat_units::{Bytes, Delta, Rate, Time};

/// What an application reads in one direction, or what passes a layer. Intervals begin with the run.
#[derive(Clone, Debug, Default)]
pub struct Goodput {
    interval: Delta,
    /// From here on it counts: the end of the warm-up, or the start of the flow.
    from: Time,
    total: Bytes,
    /// Number of the interval that was read in last, its end, and the bytes of it.
    number: i64,
    until: Time,
    bytes: u64,
    /// Over the complete intervals since `from`.
    sum: f64,
    squares: f64,
    /// By the number of the interval, the warm-up included.
    series: Option<Vec<u64>>,
}

impl Goodput {
    pub fn new(interval: Delta, from: Time, keeps_series: bool) -> Goodput {
        Goodput {
            interval,
            from,
            until: Time::from_ns(0) + interval,
            series: keeps_series.then(Vec::new),
            ..Goodput::default()
        }
    }

    #[inline]
    pub fn read(&mut self, at: Time, bytes: Bytes) {
        if at >= self.from {
            self.total += bytes;
        }
        if at >= self.until {
            self.close(at);
        }
        self.bytes += bytes.as_u64();
    }

    /// Ends the interval that is open, and begins the one in which `at` lies.
    #[inline(never)]
    fn close(&mut self, at: Time) {
        if self.interval <= Delta::ZERO {
            return;
        }
        if self.start(self.number) >= self.from {
            self.sum += self.bytes as f64;
            self.squares += (self.bytes as f64).powi(2);
        }
        if let Some(series) = &mut self.series {
            series.resize(self.number as usize, 0);
            series.push(self.bytes);
        }
        self.number = at.as_ns() / self.interval.as_ns();
        self.until = self.start(self.number + 1);
        self.bytes = 0;
    }

    fn start(&self, number: i64) -> Time {
        Time::from_ns(0) + self.interval * number
    }

    /// Bytes since the end of the warm-up, or the start of the flow.
    pub fn total(&self) -> Bytes {
        self.total
    }

    /// Adds the total of another.
    pub fn add_total(&mut self, other: &Goodput) {
        self.total += other.total;
    }

    /// Standard deviation of the intervals that lie between `from` and `end`, by their mean. None without two intervals or data.
    pub fn rsd(&self, end: Time) -> Option<f64> {
        if self.interval <= Delta::ZERO {
            return None;
        }
        let (mut sum, mut squares) = (self.sum, self.squares);
        if self.until <= end && self.start(self.number) >= self.from {
            sum += self.bytes as f64;
            squares += (self.bytes as f64).powi(2);
        }
        let interval_ns = self.interval.as_ns();
        let first = (self.from.as_ns().max(0) + interval_ns - 1) / interval_ns;
        let count = end.as_ns() / interval_ns - first;
        rsd(count.max(0) as u64, sum, squares)
    }

    /// Starts of all complete intervals until `end` since the first in which something was read, and the bytes of each.
    pub fn intervals(&self, end: Time) -> impl Iterator<Item = (Time, Bytes)> {
        let mut closed = self.clone();
        if self.interval > Delta::ZERO {
            closed.close(end);
        }
        let count = end.as_ns().checked_div(self.interval.as_ns()).unwrap_or(0);
        let mut series = closed.series.take().unwrap_or_default();
        if series.iter().any(|bytes| *bytes > 0) {
            series.resize(count.max(0) as usize, 0);
        } else {
            series.clear();
        }
        let numbered = series.into_iter().zip(0..);
        numbered
            .skip_while(|(bytes, _)| *bytes == 0)
            .map(move |(bytes, number)| (closed.start(number), Bytes::new(bytes)))
    }

    /// The same as rates.
    pub fn series(&self, end: Time) -> impl Iterator<Item = (Time, Rate)> {
        let interval = self.interval;
        let intervals = self.intervals(end);
        intervals.filter_map(move |(start, bytes)| Some((start, bytes.over(interval)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    /// 1000, 0, 3000 and 2000 bytes in four intervals of 100 ms, and something in an incomplete fifth.
    fn read(from_ms: i64, keeps_series: bool) -> Goodput {
        let mut goodput = Goodput::new(Delta::ms(100), at_ms(from_ms), keeps_series);
        for (ms, bytes) in [
            (10, 400),
            (99, 600),
            (200, 1_000),
            (250, 2_000),
            (399, 2_000),
            (401, 9),
        ] {
            goodput.read(at_ms(ms), Bytes::new(bytes));
        }
        goodput
    }

    #[test]
    fn deviation_is_that_of_complete_intervals() {
        // Mean 1500; deviations -500, -1500, 1500, 500: 5e6 / 4 is the variance of the four.
        let expected = (5e6_f64 / 4.0).sqrt() / 1_500.0;
        for keeps_series in [false, true] {
            let rsd = read(0, keeps_series).rsd(at_ms(450)).unwrap();
            assert!((rsd - expected).abs() < 1e-12, "{rsd}");
        }
        // From 150 ms on those that begin at 200 and 300 ms: mean 2500, deviations 500.
        let rsd = read(150, false).rsd(at_ms(450)).unwrap();
        assert!((rsd - 0.2).abs() < 1e-12, "{rsd}");
        assert_eq!(read(150, false).total(), Bytes::new(5_009));
        // Nothing is read in the sixth to tenth: they count.
        let longer = read(0, false).rsd(at_ms(1_000)).unwrap();
        let squares = [1e3_f64, 0.0, 3e3, 2e3, 9.0].map(|bytes| bytes * bytes);
        let mean = 6_009.0 / 10.0;
        let variance = squares.iter().sum::<f64>() / 10.0 - mean * mean;
        assert!((longer - variance.sqrt() / mean).abs() < 1e-9, "{longer}");
        assert_eq!(read(0, false).rsd(at_ms(150)), None);
    }

    #[test]
    fn a_series_has_every_complete_interval() {
        let series: Vec<_> = read(0, true).series(at_ms(450)).collect();
        let rates = [80_000, 0, 240_000, 160_000].map(Rate::bps);
        let starts = [0, 100, 200, 300].map(at_ms);
        assert_eq!(series, starts.into_iter().zip(rates).collect::<Vec<_>>());
        assert_eq!(read(0, true).series(at_ms(1_000)).count(), 10);
        assert_eq!(read(0, false).series(at_ms(450)).count(), 0);
    }
}
