//! A figure with all that was made of it.

use crate::curve::Drawn;
use crate::figure::Figure;
use crate::judge::{Judged, Verdict};
use crate::paper::Paper;

/// Why the kernel cannot run it.
const OF_TRACE: &str =
    "It is made from a synthetic trace of an LTE network, whose hosts are simulated.";

pub struct Made<'a> {
    pub paper: &'a Paper,
    pub figure: &'a Figure,
    /// Its scenarios were run with the kernel's TCP.
    pub is_of_kernel: bool,
    /// By panel, in order.
    pub drawn: Vec<Drawn>,
    pub judged: Judged,
    /// What casts doubt on its runs, one sentence each.
    pub notes: Vec<String>,
    /// Its runs that were not possible, by their names in the recipe.
    pub left_out: Vec<String>,
}

impl Made<'_> {
    /// Why it is not made or not run, or why it does not agree, if the recipe says so.
    pub fn because(&self) -> Option<&str> {
        let figure = self.figure;
        let is_whole = self.left_out.is_empty();
        let is_of_trace = || figure.runs.values().all(|run| run.lte_trace.is_some());
        match self.judged.verdict {
            Verdict::NotMade => figure.not_made.as_deref(),
            Verdict::NotRun if figure.kernel_because.is_none() && is_of_trace() => Some(OF_TRACE),
            Verdict::Agrees | Verdict::Drawn if is_whole => None,
            Verdict::Agrees | Verdict::Drawn | Verdict::NotRun => figure.kernel_because.as_deref(),
            Verdict::Differs | Verdict::ShapeAgrees => {
                let of_kernel = figure.kernel_because.as_deref();
                of_kernel
                    .filter(|_| self.is_of_kernel)
                    .or(figure.because.as_deref())
            }
        }
    }

    /// Claims that hold, of those that could be checked.
    pub fn held(&self) -> (usize, usize) {
        let checked = self.judged.claims.iter().filter_map(|claim| claim.holds);
        let checked: Vec<bool> = checked.collect();
        let held = checked.iter().filter(|holds| **holds).count();
        (held, checked.len())
    }
}
