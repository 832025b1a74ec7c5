//! A figure with all that was made of it.

use crate::curve::Drawn;
use crate::figure::Figure;
use crate::judge::{Judged, Verdict};
use crate::paper::Paper;

pub struct Made<'a> {
    pub paper: &'a Paper,
    pub figure: &'a Figure,
    /// By panel, in order.
    pub drawn: Vec<Drawn>,
    pub judged: Judged,
    /// What casts doubt on its runs, one sentence each.
    pub notes: Vec<String>,
    /// Its runs that were not possible, by their names in the recipe.
    pub left_out: Vec<String>,
}

impl Made<'_> {
    /// Why it is not made, or why it does not agree, if the recipe says so.
    pub fn because(&self) -> Option<&str> {
        match self.judged.verdict {
            Verdict::NotMade => self.figure.not_made.as_deref(),
            Verdict::Differs | Verdict::ShapeAgrees => self.figure.because.as_deref(),
            Verdict::Agrees | Verdict::Drawn | Verdict::NotRun => None,
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
