//! What was found, over the repeats of each combination.

use std::collections::BTreeMap;

/// One number of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// During which load; idle: without any.
    pub load: String,
    /// A direction, an application by its name, or all.
    pub subject: String,
    /// With its unit as suffix.
    pub metric: String,
    pub value: f64,
}

/// One finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub cell: usize,
    pub repeat: u32,
    pub readings: Vec<Reading>,
    /// Why it may not be believed, a sentence each.
    pub notes: Vec<String>,
}

/// One number over the repeats of its combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub cell: usize,
    pub load: String,
    pub subject: String,
    pub metric: String,
    /// Of each repeat that has it, least first. Never empty.
    pub values: Vec<f64>,
}

impl Finding {
    /// Of an even number of runs, the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        let count = self.values.len();
        (self.values[(count - 1) / 2] + self.values[count / 2]) / 2.0
    }

    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Standard deviation over runs; none of a single one.
    pub fn deviation(&self) -> Option<f64> {
        let (count, mean) = (self.values.len() as f64, self.mean());
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (self.values.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
    }

    pub fn least(&self) -> f64 {
        self.values[0]
    }

    pub fn most(&self) -> f64 {
        self.values[self.values.len() - 1]
    }
}

/// In the order of cells, then of loads, subjects and metrics as runs have them.
pub fn table1(runs: &[Run]) -> Vec<Finding> {
    let mut cells: BTreeMap<usize, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        cells.entry(run.cell).or_default().push(run);
    }
    let each = cells.into_iter();
    each.flat_map(|(cell, repeats)| of_cell(cell, &repeats))
        .collect()
}

fn of_cell(cell: usize, runs: &[&Run]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut places: BTreeMap<[&str; 3], usize> = BTreeMap::new();
    for reading in runs.iter().flat_map(|run| &run.readings) {
        let Reading {
            load,
            subject,
            metric,
            value,
        } = reading;
        let place = *places.entry([load, subject, metric]).or_insert(found.len());
        if place == found.len() {
            found.push(Finding {
                cell,
                load: load.clone(),
                subject: subject.clone(),
                metric: metric.clone(),
                values: Vec::new(),
            });
        }
        found[place].values.push(*value);
    }
    for finding in &mut found {
        finding.values.sort_by(f64::total_cmp);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cell: usize, repeat: u32, values: &[(&str, f64)]) -> Run {
        let reading = |(metric, value): &(&str, f64)| Reading {
            load: "up".to_owned(),
            subject: "all".to_owned(),
            metric: (*metric).to_owned(),
            value: *value,
        };
        Run {
            cell,
            repeat,
            readings: values.iter().map(reading).collect(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn medians_and_spread_are_over_the_runs_of_a_cell_that_have_the_number() {
        let runs = [
            run(1, 0, &[("b_ms", 9.0), ("a_ms", 1.0)]),
            run(0, 0, &[("a_ms", 5.0)]),
            run(1, 1, &[("b_ms", 3.0)]),
            run(1, 2, &[("b_ms", 4.0), ("a_ms", 2.0)]),
        ];
        let found: Vec<_> = table1(&runs)
            .into_iter()
            .map(|f| {
                (
                    f.cell,
                    f.metric.clone(),
                    f.values.len(),
                    f.median(),
                    f.least(),
                    f.most(),
                )
            })
            .collect();
        let expected = [
            (0, "a_ms".to_owned(), 1, 5.0, 5.0, 5.0),
            (1, "b_ms".to_owned(), 3, 4.0, 3.0, 9.0),
            (1, "a_ms".to_owned(), 2, 1.5, 1.0, 2.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn deviation_needs_two_runs() {
        let one = table1(&[run(0, 0, &[("a", 5.0)])]);
        assert_eq!(one[0].deviation(), None);
        let two = table1(&[run(0, 0, &[("a", 1.0)]), run(0, 1, &[("a", 3.0)])]);
        assert!((two[0].deviation().unwrap() - 2_f64.sqrt()).abs() < 1e-12);
    }
}
