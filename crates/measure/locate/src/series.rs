//! The answers of one hop that may be compared: those of one address, by round.

use crate::evidence::{Phase, Probe};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Round and round-trip time in ms.
pub(crate) type Sample = (u32, f64);

/// What one hop answered in one phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) sent: usize,
    by_address: BTreeMap<IpAddr, Vec<Sample>>,
}

/// One hop, idle and under one load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) hop: u8,
    pub(crate) idle: Answers,
    pub(crate) loaded: Answers,
}

impl Answers {
    pub(crate) fn answered(&self) -> usize {
        self.by_address.values().map(Vec::len).sum()
    }

    fn of(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).map_or(0, Vec::len)
    }

    /// The rounds that anybody answered, in order.
    pub(crate) fn rounds(&self) -> Vec<u32> {
        let mut rounds: Vec<u32> = self.by_address.values().flatten().map(|s| s.0).collect();
        rounds.sort_unstable();
        rounds
    }

    pub(crate) fn samples(&self, address: IpAddr) -> &[Sample] {
        self.by_address.get(&address).map_or(&[], |all| all)
    }

    fn add(&mut self, probe: &Probe) {
        self.sent += 1;
        if let Some((address, rtt)) = probe.answer {
            let samples = self.by_address.entry(address).or_default();
            samples.push((probe.round, rtt.as_ms()));
        }
    }
}

impl Series {
    /// All hops that were asked, in their order.
    pub(crate) fn all(probes: &[Probe], load: Phase) -> Vec<Series> {
        let mut hops: BTreeMap<u8, Series> = BTreeMap::new();
        for probe in probes {
            let series = hops.entry(probe.hop).or_default();
            series.hop = probe.hop;
            match probe.phase {
                Phase::Idle => series.idle.add(probe),
                phase if phase == load => series.loaded.add(probe),
                _ => {}
            }
        }
        hops.into_values().collect()
    }

    /// Everybody who answered, who did so most often first.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        let both = [&self.idle, &self.loaded];
        let mut all: Vec<IpAddr> = both
            .iter()
            .flat_map(|a| a.by_address.keys())
            .copied()
            .collect();
        all.sort_unstable();
        all.dedup();
        all.sort_by_key(|&address| {
            std::cmp::Reverse(self.idle.of(address) + self.loaded.of(address))
        });
        all
    }

    /// Who answered most often in the phase in which it answered less.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let all = self.addresses();
        let fewer = |address: &IpAddr| self.idle.of(*address).min(self.loaded.of(*address));
        // The first of equals, so not `max_by_key`.
        let most = all.iter().map(fewer).max()?;
        all.iter().copied().find(|address| fewer(address) == most)
    }
}
