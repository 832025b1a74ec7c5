//! Measures cells with tests of the live path.

use super::measure::{Came, Measure};
use super::readings::readings;
use super::settings::options;
use crate::confine::speak;
use crate::exit::Failure;
use crate::loadtest::{announce, kept};
use serde_json::json;
use std::error::Error;
use std::sync::atomic::AtomicBool;
use unbloat_campaign::{Campaign, Cell};
use unbloat_loadtest::{Options, Rule, findings, measure, tables};
use unbloat_units::Delta;

/// Time between stages for queues to drain.
const BETWEEN_STAGES: Delta = Delta::secs(1);

/// The test options of every cell. They are read before the first run, so errors in the last cell show at once.
pub struct Live {
    options: Vec<Options>,
}

impl Live {
    pub fn new(campaign: &Campaign, token: Option<String>) -> Result<Live, Failure> {
        let of_cell = |cell: Cell| {
            let options = options(&cell.settings, token.clone());
            options.map_err(|error| format!("{cell}: {error}", cell = cell.title()))
        };
        let options = campaign.cells().into_iter().map(of_cell);
        Ok(Live {
            options: options.collect::<Result<_, _>>()?,
        })
    }

    /// Says what servers of others learn, before anything is sent to them. The user must have agreed to what is published.
    pub fn announce(&self) -> Result<(), Failure> {
        let mut all = self.options.iter();
        all.try_for_each(|options| announce(&options.target))
    }
}

impl Measure for Live {
    fn lasts(&self, cell: &Cell) -> Delta {
        let plan = &self.options[cell.index].plan;
        plan.lasts() + BETWEEN_STAGES * plan.stages.len() as i64
    }

    fn measure(
        &mut self,
        cell: &Cell,
        stop: &AtomicBool,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Option<Came>, Box<dyn Error + Send + Sync>> {
        let mut progress = |at: &unbloat_loadtest::Progress| {
            let rtt = at.rtt.map_or(String::new(), |rtt| {
                format!(", round trip {:.0} ms", rtt.as_ms())
            });
            let (load, down, up) = (at.load.name(), at.down, at.up);
            tell(&format!(
                "{load} {:.0} s, down {down}, up {up}{rtt}",
                at.elapsed.as_secs()
            ));
        };
        let options = &self.options[cell.index];
        let measured = speak(kept(options), || measure(options, stop, &mut progress));
        let measured = match measured {
            Err(unbloat_loadtest::TestError::Stopped) => return Ok(None),
            measured => measured?,
        };
        if measured.is_cut {
            return Ok(None);
        }
        let found = findings(&measured, Rule::default());
        let distrust = found.distrust.iter().map(ToString::to_string);
        let of_apps = measured.apps.iter().flat_map(|app| {
            let load = measured
                .stages
                .get(app.stage)
                .map_or("", |stage| stage.load.name());
            let name = app.report.name.as_str();
            app.report
                .notes
                .iter()
                .map(move |note| format!("{name} during {load}: {note}"))
        });
        let notes = distrust
            .chain(measured.limitations.iter().cloned())
            .chain(of_apps);
        Ok(Some(Came {
            readings: readings(&measured, &found),
            notes: notes.collect(),
            tables: tables::rows(&measured, &found),
            verdict: json!(found.verdict),
        }))
    }
}
