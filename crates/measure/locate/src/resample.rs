//! How much a result owes to chance: the same computation over rounds drawn anew.
//!
//! Rounds are drawn in blocks, for a queue of now is much like that of a moment ago, and the same rounds
//! for all hops: they saw the same queue, so its ups and downs cancel between them.

use crate::hop::{Compared, Hop};
use crate::series::Sample;
use fastrand::Rng;
use unbloat_stats::quantile_of_sorted;

/// Rounds of one phase drawn anew: how often each is in.
struct Draw(Vec<u16>);

impl Draw {
    fn new(rounds: usize, block: usize, rng: &mut Rng) -> Draw {
        let mut times = vec![0; rounds];
        for _ in 0..rounds.div_ceil(block) {
            let from = rng.usize(..rounds);
            (from..from + block).for_each(|round| times[round % rounds] += 1);
        }
        Draw(times)
    }

    /// A quantile of what is in; None if that is too little. The samples are in ascending order.
    fn quantile(&self, ascending: &[Sample], q: f64, buffer: &mut Vec<f64>) -> Option<f64> {
        const FEWEST: usize = 3;
        buffer.clear();
        for &(round, value) in ascending {
            let times = self.0.get(round as usize).copied().unwrap_or_default();
            buffer.extend(std::iter::repeat_n(value, times.into()));
        }
        (buffer.len() >= FEWEST)
            .then(|| quantile_of_sorted(buffer, q))
            .flatten()
    }
}

/// What load adds at each hop, in ms, for each of `replicates` drawings.
pub(crate) fn added(hops: &[&Hop], replicates: usize, block: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = Rng::with_seed(seed);
    let rounds = |of: fn(&Hop) -> &[Sample]| {
        let last = hops
            .iter()
            .flat_map(|hop| of(hop))
            .map(|s| s.0 as usize)
            .max();
        last.map_or(0, |last| last + 1)
    };
    let (idle, loaded) = (rounds(|hop| &hop.idle), rounds(|hop| &hop.loaded));
    if idle.min(loaded) == 0 {
        return Vec::new();
    }
    let ascending = |samples: &[Sample]| {
        let mut samples = samples.to_vec();
        samples.sort_by(|a, b| a.1.total_cmp(&b.1));
        samples
    };
    // Sorted once, not for each drawing.
    let sorted: Vec<[Vec<Sample>; 2]> = hops
        .iter()
        .map(|hop| [&hop.idle, &hop.loaded].map(|samples| ascending(samples)))
        .collect();
    let mut buffer = Vec::new();
    let mut one = |_| {
        let draws = [idle, loaded].map(|count| Draw::new(count, block, &mut rng));
        let mut at = |(hop, samples): (&&Hop, &[Vec<Sample>; 2])| {
            let q = hop.compared.quantile();
            let in_idle = draws[0].quantile(&samples[0], q, &mut buffer);
            let under_load = draws[1].quantile(&samples[1], q, &mut buffer);
            Some(under_load? - in_idle?)
        };
        let own: Vec<Option<f64>> = hops.iter().zip(&sorted).map(&mut at).collect();
        let steady = |number: u8| {
            let place = hops.iter().position(|hop| hop.report.hop == number);
            place.and_then(|place| own[place])
        };
        let with_base = |(hop, alone): (&&Hop, &Option<f64>)| {
            let base = match hop.compared {
                Compared::Beside(number, _) => steady(number),
                _ => Some(0.0),
            };
            let both = alone.zip(base).map(|(alone, base)| alone + base);
            both.unwrap_or_else(|| hop.added_ms())
        };
        hops.iter().zip(&own).map(with_base).collect()
    };
    (0..replicates).map(&mut one).collect()
}
