//! Rank correlation of small samples.

use unbloat_stats::Correlation;

/// Spearman's rank correlation, ties at their mean rank; `None` where one of the two never varies.
pub(super) fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let mut ranked = Correlation::new();
    let x = ranks(pairs.iter().map(|p| p.0));
    let y = ranks(pairs.iter().map(|p| p.1));
    x.iter().zip(&y).for_each(|(&a, &b)| ranked.record(a, b));
    ranked.coefficient()
}

fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let equal = |&&i: &&usize| values[i] == values[order[from]];
        let until = from + order[from..].iter().take_while(equal).count();
        let mean = (from + until - 1) as f64 / 2.0;
        order[from..until].iter().for_each(|&i| ranks[i] = mean);
        from = until;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate_whatever_the_shape() {
        let rising: Vec<(f64, f64)> = (1..20)
            .map(|i| (f64::from(i), f64::from(i).exp()))
            .collect();
        assert!((rank_correlation(&rising).unwrap() - 1.0).abs() < 1e-12);
        let falling: Vec<(f64, f64)> = rising.iter().map(|&(x, y)| (x, -y)).collect();
        assert!((rank_correlation(&falling).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(rank_correlation(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(ranks([5.0, 1.0, 5.0].into_iter()), [1.5, 0.0, 1.5]);
    }
}
