//! Means over repeats, with the interval in which the true mean lies with 95 % confidence.

use super::campaign::{Campaign, Run};
use std::collections::BTreeMap;

/// One result of one point over its repeats.
pub struct Average {
    /// Number of the point.
    pub point: usize,
    /// As in table `averages`.
    pub subject: String,
    /// Name of the result, with its unit.
    pub metric: String,
    /// Repeats that have the result.
    pub runs: u64,
    /// Mean over them.
    pub mean: f64,
    /// Half the width of the interval; none from a single run.
    pub ci95: Option<f64>,
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub most: f64,
}

/// In the order of points and of their results. A result that only some repeats have is averaged over those.
pub fn averages(campaign: &Campaign) -> Vec<Average> {
    let mut points: BTreeMap<usize, Vec<&Run>> = BTreeMap::new();
    for run in &campaign.runs {
        points.entry(run.point).or_default().push(run);
    }
    points
        .iter()
        .flat_map(|(point, runs)| of_point(*point, runs))
        .collect()
}

fn of_point(point: usize, runs: &[&Run]) -> Vec<Average> {
    let mut order = Vec::new();
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for result in runs.iter().flat_map(|run| &run.results) {
        let key = (result.subject.as_str(), result.metric.as_str());
        let of_key = values.entry(key).or_default();
        if of_key.is_empty() {
            order.push(key);
        }
        of_key.push(result.value);
    }
    order
        .iter()
        .map(|key| {
            let values = &values[key];
            let (mean, ci95) = mean_and_interval(values);
            Average {
                point,
                subject: key.0.to_owned(),
                metric: key.1.to_owned(),
                runs: values.len() as u64,
                mean,
                ci95,
                least: values.iter().copied().fold(f64::INFINITY, f64::min),
                most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            }
        })
        .collect()
}

/// Mean and half width by Student's t, as for independent normal values.
pub fn mean_and_interval(values: &[f64]) -> (f64, Option<f64>) {
    use statrs::distribution::{ContinuousCDF, StudentsT};
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, None);
    }
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0);
    let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("at least one degree of freedom");
    (
        mean,
        Some(student.inverse_cdf(0.975) * (variance / count).sqrt()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_students_t() {
        // t(0.975; 4) is 2.776; the standard deviation of 1..5 is 1.5811.
        let (mean, ci95) = mean_and_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(mean, 3.0);
        assert!((ci95.unwrap() - 2.776 * 1.5811 / 5_f64.sqrt()).abs() < 1e-3);
        assert_eq!(mean_and_interval(&[7.0]), (7.0, None));
    }
}
