//! From what ran beside the stages to what was measured.

use super::Test;
use crate::account::Account;
use crate::echo::Echoed;
use crate::http;
use crate::measured::{
    Beside, Clocks, Count, Echo, Fate, FlowRun, KernelSample, Passed, Probe, ProbeKind, StageRun,
};
use crate::sampler::sample;
use crate::upload::Body;
use hyper::Method;
use std::time::Duration;
use unbloat_irtt::clock::Correction;
use unbloat_os::lock::lock;
use unbloat_units::{Delta, Time};

/// For the server to forget a session.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct Collected {
    pub(super) flows: Vec<FlowRun>,
    pub(super) echoes: Vec<Echo>,
    pub(super) paces: Vec<(Time, Delta)>,
    pub(super) clocks: Option<Clocks>,
    pub(super) probes: Vec<Probe>,
    pub(super) counts: Vec<Count>,
    pub(super) beside: Vec<Beside>,
    pub(super) interface: Option<Passed>,
    pub(super) kernel: Vec<KernelSample>,
}

impl Test<'_> {
    pub(super) async fn collect(&mut self, stages: &mut [StageRun]) -> Collected {
        let mut collected = Collected::default();
        if let Some(echoing) = self.echoing.take() {
            let echoed = tokio::task::block_in_place(|| echoing.end());
            self.take_echoes(echoed, stages, &mut collected);
        }
        if let Some(sampler) = self.sampler.take() {
            let samples = tokio::task::block_in_place(|| sampler.end());
            collected.counts = samples.counts;
            collected.kernel = samples.kernel;
            collected.beside = samples.beside;
            collected.interface = samples.interface;
        }
        collected.probes = self
            .prober
            .as_ref()
            .map_or_else(Vec::new, |prober| prober.take());
        if let Some(pinging) = self.pinging.take() {
            let pings = tokio::task::block_in_place(|| pinging.end());
            self.take_pings(pings, &mut collected);
        }
        if let Some((account, task)) = self.account.take() {
            task.abort();
            let account = std::mem::replace(&mut *lock(&account), Account::new(self.clock.now()));
            if let Some(failure) = &account.failure {
                self.limitations
                    .push(format!("the server's account ended early: {failure}"));
            }
            let way = self.least_rtt(&collected).unwrap_or(Delta::ZERO) / 2;
            let (counts, kernel) = account.by_our_clock(way);
            collected.counts.extend(counts);
            collected.kernel.extend(kernel);
        }
        if let Some(carrier) = &self.carrier {
            collected.flows = carrier.flows.runs(self.clock.now());
            let lasts = carrier.flows.lasts().into_iter();
            let lasts = lasts.map(|(flow, at, info)| sample(&flow, at, &info));
            collected.kernel.extend(lasts);
            if let Some(notes) = &carrier.ndt7 {
                let notes = std::mem::take(&mut *lock(notes));
                collected.counts.extend(notes.counts);
                collected.kernel.extend(notes.kernel);
            }
        }
        collected
            .counts
            .sort_by_key(|count| (count.at, count.flow, count.counter));
        collected
            .kernel
            .sort_by_key(|sample| (sample.at, sample.flow, sample.side));
        let _ = tokio::time::timeout(PATIENCE, self.forget()).await;
        collected
    }

    fn take_pings(&mut self, pings: Vec<Probe>, into: &mut Collected) {
        if !pings.is_empty() && pings.iter().all(|ping| ping.answer.is_none()) {
            self.limitations
                .push("ICMP: the server answers no echo requests".to_owned());
        }
        into.probes.extend(pings);
        into.probes.sort_by_key(|probe| (probe.sent, probe.kind));
    }

    /// Of whatever went to the server itself and back.
    fn least_rtt(&self, collected: &Collected) -> Option<Delta> {
        let is_own_echo = self.options.echo.is_none();
        let echoes = collected.echoes.iter().filter(|_| is_own_echo);
        let connects = collected.probes.iter().filter_map(|probe| probe.tcp);
        let pings = collected.probes.iter();
        let pings = pings.filter(|probe| probe.kind == ProbeKind::Icmp);
        echoes
            .filter_map(|echo| echo.rtt)
            .chain(connects)
            .chain(pings.filter_map(|ping| ping.answer))
            .min()
    }

    fn take_echoes(&mut self, echoed: Echoed, stages: &mut [StageRun], into: &mut Collected) {
        if let Some(failure) = echoed.failure {
            self.limitations
                .push(format!("datagrams ended early: {failure}"));
        }
        if !echoed.is_realtime {
            self.limitations.push(
                "no real-time class: datagrams may be sent late on a busy machine".to_owned(),
            );
        }
        for stage in stages {
            let is_within = |at: &Time| stage.begin <= *at && *at < stage.end;
            stage.host.late_sends = echoed.late.iter().filter(|at| is_within(at)).count() as u64;
            let sent = echoed
                .echoes
                .iter()
                .filter(|echo| is_within(&echo.sent.mono));
            stage.host.sends = sent.count() as u64;
        }
        let stamped = echoed
            .echoes
            .iter()
            .any(|echo| echo.server_received.mono.is_some());
        self.server.echo_has_stamps = stamped;
        let correction = Correction::of(&echoed.echoes);
        into.clocks = correction.map(|correction| Clocks {
            drift_ppm: correction.drift * 1e6,
            error: correction.error(),
            idle_rtt: correction.idle_rtt(),
        });
        into.paces = echoed.paces;
        into.echoes = echoes(&echoed.echoes, correction.as_ref());
    }

    /// Tells the server that the session is over; it would find out by itself.
    async fn forget(&self) -> Option<()> {
        let carrier = self.carrier.as_ref()?;
        let session = carrier.service.session.as_ref()?;
        let dialer = &carrier.dialer;
        let opened = dialer.open_beside(carrier.http).await.ok()?;
        let (mut sender, _) = opened.into_parts();
        let what = (Method::DELETE, &session.path()[..]);
        let token = carrier.service.token.as_deref();
        let request = http::request(&dialer.origin, what, token, Body::Empty).ok()?;
        sender.send(http::fit(request, &sender).ok()?).await.ok()?;
        Some(())
    }
}

fn echoes(all: &[unbloat_irtt::Echo], correction: Option<&Correction>) -> Vec<Echo> {
    let (overtaken_up, overtaken_down) = overtaken(all);
    let one = |(i, echo): (usize, &unbloat_irtt::Echo)| {
        let added = correction.and_then(|correction| correction.added(echo));
        let ways = correction.and_then(|correction| correction.one_way(echo));
        Echo {
            seq: u64::from(echo.seq),
            sent: echo.sent.mono,
            fate: match echo.fate {
                unbloat_irtt::Fate::Answered => Fate::Back,
                unbloat_irtt::Fate::LostUp => Fate::LostUp,
                unbloat_irtt::Fate::LostDown => Fate::LostDown,
                unbloat_irtt::Fate::Lost | unbloat_irtt::Fate::Pending => Fate::Lost,
            },
            rtt: echo.rtt(),
            added_up: added.map(|added| added.up),
            added_down: added.map(|added| added.down),
            turned: ways.map(|ways| echo.sent.mono + ways.up.max(Delta::ZERO)),
            reordered_up: overtaken_up[i],
            reordered_down: overtaken_down[i],
            duplicates: echo.duplicates_up + echo.duplicates_down,
        }
    };
    all.iter().enumerate().map(one).collect()
}

/// Which came after one that had left later, on each way.
fn overtaken(all: &[unbloat_irtt::Echo]) -> (Vec<bool>, Vec<bool>) {
    let times = |echo: &unbloat_irtt::Echo| {
        let up = echo.server_received.mono.map(|at| (echo.sent.mono, at));
        let down = echo
            .server_sent
            .mono
            .zip(echo.received.map(|clocks| clocks.mono));
        (up, down)
    };
    let (ups, downs): (Vec<_>, Vec<_>) = all.iter().map(times).unzip();
    (is_overtaken(&ups), is_overtaken(&downs))
}

fn is_overtaken(ways: &[Option<(Time, Time)>]) -> Vec<bool> {
    let mut by_sent: Vec<usize> = (0..ways.len()).filter(|&i| ways[i].is_some()).collect();
    by_sent.sort_by_key(|&i| ways[i]);
    let mut overtaken = vec![false; ways.len()];
    let mut earliest = Time::MAX;
    // From the last that was sent backwards: who arrived after a later one was overtaken by it.
    for i in by_sent.into_iter().rev() {
        let Some((_, arrived)) = ways[i] else {
            continue;
        };
        overtaken[i] = arrived > earliest;
        earliest = earliest.min(arrived);
    }
    overtaken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_arrives_after_a_later_one_was_overtaken() {
        let way = |sent, arrived| Some((Time::from_ns(sent), Time::from_ns(arrived)));
        let ways = [way(1, 11), way(2, 19), None, way(3, 13), way(4, 20)];
        assert_eq!(is_overtaken(&ways), [false, true, false, false, false]);
    }
}
