//! Which run comes when, and which are left.

use crate::campaign::Campaign;
use crate::cell::{Cell, Only};
use fastrand::Rng;
use std::collections::BTreeSet;

/// One run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Index of its cell.
    pub cell: usize,
    /// From 0.
    pub repeat: u32,
}

impl Campaign {
    /// Every run once. What is changed by hand changes as seldom as can be; within that come rounds in which every cell comes once,
    /// each round shuffled by itself: what changes with the time of day meets all cells alike.
    pub fn jobs(&self) -> Vec<Job> {
        let cells = self.cells();
        let by_hand = |cell: &Cell| -> Vec<String> {
            let axes = self.axes.iter().filter(|axis| axis.is_manual);
            axes.filter_map(|axis| cell.value(&axis.name).map(str::to_owned))
                .collect()
        };
        let mut rng = Rng::with_seed(self.seed);
        let mut jobs = Vec::new();
        for block in cells.chunk_by(|a, b| by_hand(a) == by_hand(b)) {
            for repeat in 0..self.repeats {
                let mut round: Vec<Job> = block
                    .iter()
                    .map(|cell| Job {
                        cell: cell.index,
                        repeat,
                    })
                    .collect();
                if self.is_shuffled {
                    rng.shuffle(&mut round);
                }
                jobs.extend(round);
            }
        }
        jobs
    }

    /// Those whose runs are not there yet, of cells that all of `only` have.
    pub fn left(&self, done: &BTreeSet<String>, only: &[Only]) -> Vec<Job> {
        let cells = self.cells();
        let is_left = |job: &Job| {
            let cell = &cells[job.cell];
            !done.contains(&cell.run_name(job.repeat)) && only.iter().all(|only| only.has(cell))
        };
        self.jobs().into_iter().filter(is_left).collect()
    }
}
