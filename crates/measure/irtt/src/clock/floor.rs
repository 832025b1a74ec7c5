//! The lowest delays of one direction, and lines under them.

/// Blocks of which one of the lowest is kept, unless the test is so long that these would be more than [`MOST`].
const BLOCK_NS: f64 = 200e6;
const MOST: f64 = 512.0;
/// In a block of so many, one outlier is passed over.
const ROBUST: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Since the origin by the server's clock, ns.
    pub(super) t: f64,
    /// Relative to the first, ns.
    pub(super) delay: f64,
}

/// The low ones of all points.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    lows: Vec<Point>,
}

impl Floor {
    pub(super) fn of(mut points: Vec<Point>) -> Floor {
        points.sort_by(|a, b| a.t.total_cmp(&b.t));
        let (first, last) = (points[0].t, points[points.len() - 1].t);
        let block_ns = BLOCK_NS.max((last - first) / MOST);
        let block = |p: &Point| ((p.t - first) / block_ns).floor();
        let blocks = points.chunk_by_mut(|a, b| block(a) == block(b));
        Floor {
            lows: blocks.map(low).collect(),
        }
    }

    /// Where the highest line of that slope under all lows passes the origin.
    pub(super) fn intercept(&self, slope: f64) -> f64 {
        let intercepts = self.lows.iter().map(|p| p.delay - slope * p.t);
        intercepts.fold(f64::INFINITY, f64::min)
    }

    /// How many lows lie within `near` of that line.
    pub(super) fn support(&self, slope: f64, near: f64) -> usize {
        let limit = self.intercept(slope) + near;
        let touches = |p: &&Point| p.delay - slope * p.t <= limit;
        self.lows.iter().filter(touches).count()
    }

    /// How far lows lie from the middle of their neighbours, each.
    pub(super) fn bends(&self) -> impl Iterator<Item = f64> {
        self.lows
            .windows(3)
            .map(|w| (w[0].delay + w[2].delay - 2.0 * w[1].delay).abs() / 2.0)
    }
}

/// The lowest, or the one above it if there are many.
fn low(block: &mut [Point]) -> Point {
    let nth = usize::from(block.len() >= ROBUST);
    *block
        .select_nth_unstable_by(nth, |a, b| a.delay.total_cmp(&b.delay))
        .1
}
