//! What each value of a sweep changes: every point against the one that differs from it in one key, which there has its first value.

use super::averages::Average;
use std::collections::BTreeMap;
use unbloat_experiment::scenario::Sweep;
use unbloat_table::columns;

columns! {
    pub struct ChangeRow<'a>: changes = "one row per point of a sweep, key in which it differs from the key's first value, and result: the change against the point that has that value" {
        point: usize = "number of the point",
        reference: usize = "number of the point with which it is compared: all other keys are the same",
        key: &'a str = "path of the key that differs",
        subject: &'a str = "as in `averages`",
        metric: &'a str = "as in `averages`",
        mean: f64 = "mean of the point",
        reference_mean: f64 = "mean of the point with which it is compared",
        change_percent: Option<f64> = "difference of the means, by that of the reference; null if that is 0",
    }
}

pub fn rows<'a>(sweep: &'a Sweep, found: &'a [Average]) -> Vec<ChangeRow<'a>> {
    let key = |one: &Average, point| (point, one.subject.clone(), one.metric.clone());
    let means: BTreeMap<_, _> = found
        .iter()
        .map(|one| (key(one, one.point), one.mean))
        .collect();
    let mut rows = Vec::new();
    for one in found {
        for (axis, reference) in references(sweep, one.point) {
            let Some(&before) = means.get(&key(one, reference)) else {
                continue;
            };
            rows.push(ChangeRow {
                point: one.point,
                reference,
                key: &sweep.axes[axis].key,
                subject: &one.subject,
                metric: &one.metric,
                mean: one.mean,
                reference_mean: before,
                change_percent: (before != 0.0).then(|| (one.mean - before) / before.abs() * 100.0),
            });
        }
    }
    rows
}

/// Axes on which the point does not have the first value, each with the point that has it and is the same otherwise. The last axis
/// varies fastest.
fn references(sweep: &Sweep, point: usize) -> Vec<(usize, usize)> {
    let mut stride = 1;
    let mut references = Vec::new();
    for (axis, found) in sweep.axes.iter().enumerate().rev() {
        let place = point / stride % found.values.len();
        if place > 0 {
            references.push((axis, point - place * stride));
        }
        stride *= found.values.len();
    }
    references.reverse();
    references
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_experiment::scenario::toml::Node;

    fn sweep() -> Sweep {
        let text = "[sweep]\na = [1, 2]\nb = [10, 20, 30]";
        Sweep::take(&mut Node::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn a_point_is_compared_along_each_key_by_itself() {
        // Points 0 to 5 are (1, 10), (1, 20), (1, 30), (2, 10), (2, 20), (2, 30).
        let sweep = sweep();
        assert_eq!(references(&sweep, 0), []);
        assert_eq!(references(&sweep, 2), [(1, 0)]);
        assert_eq!(references(&sweep, 3), [(0, 0)]);
        assert_eq!(references(&sweep, 5), [(0, 2), (1, 3)]);
        for point in 0..sweep.points() {
            for (axis, reference) in references(&sweep, point) {
                let [one, other] = [point, reference].map(|index| sweep.point(index).values);
                for (index, (a, b)) in one.iter().zip(&other).enumerate() {
                    assert_eq!(a.1 == b.1, index != axis);
                    assert!(index != axis || b.1 == sweep.axes[axis].values[0]);
                }
            }
        }
    }

    #[test]
    fn changes_are_percents_of_the_reference() {
        let average = |point, mean| Average {
            point,
            subject: "download".into(),
            metric: "goodput_bps".into(),
            runs: 1,
            mean,
            ci95: None,
            least: mean,
            most: mean,
        };
        let found: Vec<_> = [4.0, 1.0, 0.0, 8.0, 3.0, 5.0]
            .into_iter()
            .zip(0..)
            .map(|(mean, point)| average(point, mean))
            .collect();
        let sweep = sweep();
        let rows = rows(&sweep, &found);
        let percents: Vec<_> = rows.iter().map(|row| row.change_percent).collect();
        // 1: 1 of 4. 2: 0 of 4. 3: 8 of 4. 4: 3 of 1 along a, 3 of 8 along b. 5: 5 of 0, 5 of 8.
        let expected = [
            Some(-75.0),
            Some(-100.0),
            Some(100.0),
            Some(200.0),
            Some(-62.5),
            None,
            Some(-37.5),
        ];
        assert_eq!(percents, expected);
    }
}
