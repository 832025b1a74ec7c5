//! A campaign as its file says it.

use crate::axis::{Axis, Hooks, axes, hooks};
use crate::cell::Cell;
use crate::setting::Settings;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use unbloat_experiment::scenario::toml::{Error, Keys, Node};
use unbloat_params::Settings as _;
use unbloat_units::Delta;

/// More runs than this are years.
const MOST_RUNS: usize = 100_000;
const REPEATS: RangeInclusive<u32> = 1..=10_000;
const PAUSE: RangeInclusive<Delta> = Delta::ZERO..=Delta::secs(86_400);

#[derive(Clone, Debug, PartialEq)]
pub struct Campaign {
    pub name: String,
    pub about: String,
    /// In force unless a value says otherwise.
    pub settings: Settings,
    /// Slowest first.
    pub axes: Vec<Axis>,
    pub repeats: u32,
    /// Of the order, and of what is random in workloads.
    pub seed: u64,
    /// Each round of repeats in an order of its own.
    pub is_shuffled: bool,
    /// Between runs.
    pub pause: Delta,
    /// Around every run.
    pub hooks: Hooks,
    /// Metrics that the report shows; empty: the usual ones.
    pub show: Vec<String>,
}

impl Campaign {
    /// Reads a whole file.
    pub fn parse(text: &str) -> Result<Campaign, Error> {
        let node = Node::parse(text)?;
        let mut keys = Keys::of(&node, "")?;
        let (of_axes, of_labels) = (keys.take("axes"), keys.take("labels"));
        let campaign = Campaign {
            name: keys.or("name", String::new())?,
            about: keys.or("about", String::new())?,
            axes: axes(of_axes, of_labels)?,
            repeats: keys.within("repeats", 1, &REPEATS)?,
            seed: keys.or("seed", 1)?,
            is_shuffled: keys.or("shuffle", true)?,
            pause: keys.within("pause", Delta::secs(5), &PAUSE)?,
            hooks: hooks(&mut keys)?,
            show: keys.or("show", Vec::new())?,
            settings: Settings::take(&mut keys)?,
        };
        campaign.check(&keys)?;
        keys.end()?;
        Ok(campaign)
    }

    fn check(&self, keys: &Keys) -> Result<(), Error> {
        let factors = self.axes.iter().map(|axis| axis.values.len());
        let runs = factors
            .chain([self.repeats as usize])
            .try_fold(1_usize, usize::checked_mul);
        if runs.is_none_or(|runs| runs > MOST_RUNS) {
            return Err(keys.fault(format!(
                "its axes and repeats make more than {MOST_RUNS} runs, which is the most"
            )));
        }
        let cells = self.cells();
        if cells.iter().any(|cell| cell.settings.server.is_none()) {
            return Err(keys.fault(
                "\"server\" is missing: at the top, under [axes], or with every value of a label",
            ));
        }
        let ids: BTreeSet<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
        match ids.len() == cells.len() {
            true => Ok(()),
            false => Err(keys.fault("two combinations cannot be told apart by their names")),
        }
    }

    /// All combinations of values, the last axis varying fastest.
    pub fn cells(&self) -> Vec<Cell> {
        let count: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|index| self.cell(index)).collect()
    }

    fn cell(&self, index: usize) -> Cell {
        let mut rest = index;
        let mut chosen = Vec::new();
        for axis in self.axes.iter().rev() {
            chosen.push((axis, &axis.values[rest % axis.values.len()]));
            rest /= axis.values.len();
        }
        chosen.reverse();
        Cell::new(index, &chosen, &self.settings, &self.hooks)
    }

    pub fn runs(&self) -> usize {
        self.cells().len() * self.repeats as usize
    }
}
