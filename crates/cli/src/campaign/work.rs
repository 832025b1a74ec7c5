//! Measures the missing runs.

use super::folder::Folder;
use super::hooks;
use super::measure::{Came, Measure};
use crate::events::bar_target;
use crate::exit::Failure;
use crate::print::note;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::{IsTerminal, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unbloat_campaign::{Campaign, Cell, Job, Only};
use unbloat_run::{Clock, RunInfo};

const NAP: Duration = Duration::from_millis(50);

pub struct Work<'a> {
    pub campaign: &'a Campaign,
    pub folder: &'a Folder,
    pub only: &'a [Only],
    pub is_quiet: bool,
    pub stop: &'a AtomicBool,
}

impl Work<'_> {
    /// Measures all jobs; returns whether it was stopped early. A stopped run is not kept; it is measured again next time.
    pub fn all(&self, jobs: &[Job], measure: &mut impl Measure) -> Result<bool, Failure> {
        let cells = self.campaign.cells();
        let bar = self.bar(jobs.len() as u64);
        let mut at_hand: Vec<(String, String)> = Vec::new();
        for (number, job) in jobs.iter().enumerate() {
            let cell = &cells[job.cell];
            self.change_by_hand(cell, &mut at_hand, &bar)?;
            if number > 0 {
                self.rest(self.campaign.pause.as_secs(), &bar);
            }
            if self.stop.load(Ordering::Relaxed) {
                bar.finish_and_clear();
                return Ok(true);
            }
            match self.one(cell, measure, &bar)? {
                Some(came) => {
                    let name = cell.run_name(job.repeat);
                    self.folder.keep(&name, &self.info(cell, &came), &came)?;
                    bar.inc(1);
                }
                None => {
                    bar.finish_and_clear();
                    return Ok(true);
                }
            }
        }
        bar.finish_and_clear();
        Ok(false)
    }

    /// Measures one run between the user's commands. The `after` commands run even if the measurement fails.
    fn one(
        &self,
        cell: &Cell,
        measure: &mut impl Measure,
        bar: &ProgressBar,
    ) -> Result<Option<Came>, Failure> {
        bar.set_message(cell.title());
        hooks::before(cell)?;
        let mut tell = |words: &str| bar.set_message(format!("{}: {words}", cell.title()));
        let came = measure.measure(cell, self.stop, &mut tell);
        let undone = hooks::after(cell);
        let came = came.map_err(|error| {
            format!(
                "{run}: {error}; finished runs are kept: run the same command again to continue",
                run = cell.title()
            )
        })?;
        undone.and(Ok(came))
    }

    /// Asks the user to change manual labels, unless --only already fixes them.
    fn change_by_hand(
        &self,
        cell: &Cell,
        at_hand: &mut Vec<(String, String)>,
        bar: &ProgressBar,
    ) -> Result<(), Failure> {
        let axes = self.campaign.axes.iter().filter(|axis| axis.is_manual);
        let wanted: Vec<(String, String)> = axes
            .filter(|axis| self.only.iter().all(|only| only.axis != axis.name))
            .filter_map(|axis| Some((axis.name.clone(), cell.value(&axis.name)?.to_owned())))
            .collect();
        if wanted == *at_hand {
            return Ok(());
        }
        let words: Vec<String> = wanted
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let words = words.join(" ");
        if !stdin().is_terminal() {
            return Err(format!("the next run needs {words}, and standard input is not a terminal for the prompt; set this up, then run again with --only NAME=VALUE for each").into());
        }
        bar.suspend(|| {
            note!("Next: {words}. Set this up, then press Enter (Ctrl-C: continue later).");
            // Any input counts, also the end of input. The caller checks for Ctrl-C.
            let _ = stdin().read_line(&mut String::new());
        });
        *at_hand = wanted;
        Ok(())
    }

    fn rest(&self, seconds: f64, bar: &ProgressBar) {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        bar.set_message("pause");
        while Instant::now() < end && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(NAP.min(end.saturating_duration_since(Instant::now())));
        }
    }

    fn bar(&self, runs: u64) -> ProgressBar {
        let style = ProgressStyle::with_template(
            "{elapsed_precise} run {pos} of {len} done, {eta} left  {wide_msg}",
        );
        let bar = ProgressBar::with_draw_target(Some(runs), bar_target(self.is_quiet));
        bar.set_style(style.expect("the template is ours"));
        bar
    }

    fn info(&self, cell: &Cell, came: &Came) -> RunInfo {
        let command = std::env::args().collect();
        let mut info = RunInfo::new("unbloat campaign", env!("CARGO_PKG_VERSION"), command);
        info.clock = Clock::Real;
        info.seed = Some(self.campaign.seed);
        info.left_out.clone_from(&came.notes);
        info.verdict.clone_from(&came.verdict);
        let values = cell
            .values
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)));
        info.options.extend(values);
        let settings = cell.settings.pairs().into_iter();
        info.options
            .extend(settings.map(|(name, value)| (name.to_owned(), json!(value))));
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use unbloat_campaign::Reading;
    use unbloat_units::Delta;

    /// Finds the index of its cell, and is stopped or fails at the run of a number.
    struct Fake<'a> {
        runs: usize,
        stop_at: usize,
        fail_at: usize,
        stop: &'a AtomicBool,
    }

    impl Measure for Fake<'_> {
        fn lasts(&self, _: &Cell) -> Delta {
            Delta::ZERO
        }

        fn measure(
            &mut self,
            cell: &Cell,
            _: &AtomicBool,
            _: &mut (dyn FnMut(&str) + Send),
        ) -> Result<Option<Came>, Box<dyn std::error::Error + Send + Sync>> {
            self.runs += 1;
            if self.runs == self.fail_at {
                return Err("no path".into());
            }
            if self.runs == self.stop_at {
                self.stop.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            let reading = Reading {
                load: "up".to_owned(),
                subject: "all".to_owned(),
                metric: "rpm".to_owned(),
                value: cell.index as f64,
            };
            Ok(Some(Came {
                readings: vec![reading],
                notes: vec!["noisy".to_owned()],
                tables: Vec::new(),
                verdict: json!(null),
            }))
        }
    }

    #[test]
    fn however_often_it_ends_each_run_is_made_once() {
        let place = tempfile::tempdir().unwrap();
        let campaign = Campaign::parse(
            "server = \"box\"\nrepeats = 3\npause = \"0 s\"\naxes.http = [\"1.1\", \"2\"]",
        )
        .unwrap();
        let (mut made, mut ends) = (0, 0);
        loop {
            let stop = AtomicBool::new(false);
            let folder = Folder::open(place.path()).unwrap();
            let left = campaign.left(&folder.done().unwrap(), &[]);
            if left.is_empty() {
                break;
            }
            let work = Work {
                campaign: &campaign,
                folder: &folder,
                only: &[],
                is_quiet: true,
                stop: &stop,
            };
            let mut fake = Fake {
                runs: 0,
                stop_at: if ends % 2 == 0 { 3 } else { 0 },
                fail_at: if ends % 2 == 1 { 2 } else { 0 },
                stop: &stop,
            };
            let result = work.all(&left, &mut fake);
            let is_cut = match result {
                Ok(is_cut) => is_cut,
                Err(error) => error.to_string().contains("finished runs are kept"),
            };
            made += fake.runs - usize::from(is_cut);
            ends += 1;
            assert!(ends < 10, "it never ends");
        }
        assert_eq!(made, 6);
        let (runs, _) = Folder::open(place.path()).unwrap().runs(&campaign).unwrap();
        let found: BTreeSet<(usize, u32)> = runs.iter().map(|run| (run.cell, run.repeat)).collect();
        assert_eq!(found.len(), 6);
        assert!(
            runs.iter()
                .all(|run| run.readings[0].value == run.cell as f64 && run.notes == ["noisy"])
        );
    }
}
