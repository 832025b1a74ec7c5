//! Applications beside the load.

use super::Test;
use crate::apps::Apps;
use crate::measured::AppRun;
use crate::plan::Load;

/// What workloads draw is the same in every stage: what differs is the load.
const SEED: u64 = 1;

impl Test<'_> {
    /// Applications speak what only our servers do; elsewhere there are none.
    pub(super) fn check_apps(&mut self) {
        if !self.options.apps.is_empty() && self.server_of_apps().is_none() {
            self.limitations
                .push("applications: they need `unbloat serve` at the other end".to_owned());
        }
    }

    fn server_of_apps(&self) -> Option<crate::apps::Server> {
        let carrier = self
            .carrier
            .as_ref()
            .filter(|_| !self.options.apps.is_empty())?;
        let service = &carrier.service;
        service.session.as_ref()?;
        Some(
            carrier
                .dialer
                .for_apps(service.token.as_deref(), self.server.echo),
        )
    }

    /// Before the stage's load: clocks are set while the path is at rest.
    pub(super) fn start_apps(&mut self, run: usize, load: Load) -> Option<Apps> {
        if run == 0 && load == Load::Idle {
            return None;
        }
        let server = self.server_of_apps()?;
        match tokio::task::block_in_place(|| Apps::start(&server, &self.options.apps, SEED)) {
            Ok(apps) => Some(apps),
            Err(error) => {
                self.limitations.push(format!("applications: {error}"));
                None
            }
        }
    }

    pub(super) fn end_apps(&mut self, stage: usize, apps: Option<Apps>) {
        let reports = apps.map_or_else(Vec::new, |apps| {
            tokio::task::block_in_place(|| apps.finish())
        });
        let runs = reports.into_iter().map(|report| AppRun { stage, report });
        self.apps.extend(runs);
    }
}
