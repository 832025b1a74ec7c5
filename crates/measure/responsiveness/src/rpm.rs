//! Round trips per minute.

use crate::fields::{ms, ms_or_null};
use crate::params::Params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unbloat_units::{Delta, named};

/// Round trips per minute: how many one after the other fit into one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rpm(f64);

named! {
    /// What a number of round trips per minute is called (draft-09, section 4.4; thresholds are 200, 60 and 10 ms).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Class {
        Poor = "poor",
        Fair = "fair",
        Good = "good",
        Excellent = "excellent",
    }
}

named! {
    /// How far a run came (draft-09, section 4.2.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Confidence {
        /// Fewer intervals than an average is over.
        Low = "low",
        /// As many, but goodput or responsiveness was not stable.
        Medium = "medium",
        /// Both were stable.
        High = "high",
    }
}

impl Rpm {
    pub fn new(rpm: f64) -> Rpm {
        Rpm(rpm)
    }

    /// None for no delay at all, or less.
    pub fn of_delay(delay: Delta) -> Option<Rpm> {
        (delay > Delta::ZERO).then(|| Rpm(60.0 / delay.as_secs()))
    }

    pub fn as_f64(self) -> f64 {
        self.0
    }

    /// The round trip that corresponds to it.
    pub fn delay(self) -> Delta {
        Delta::from_secs_f64(60.0 / self.0)
    }

    pub fn class(self) -> Class {
        match self.0 {
            6000.0.. => Class::Excellent,
            1000.0.. => Class::Good,
            300.0.. => Class::Fair,
            _ => Class::Poor,
        }
    }
}

impl fmt::Display for Rpm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} RPM", self.0)
    }
}

/// A probe on a connection of its own: it shares the path with the load, and no socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignProbe {
    /// TCP's handshake.
    pub tcp: Delta,
    /// None of plain HTTP.
    pub tls: Option<Tls>,
    /// From request to the end of the answer of one byte.
    pub http: Delta,
}

/// A handshake of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    pub took: Delta,
    /// 1 in TLS 1.3, 2 in TLS 1.2. QUIC's handshake holds that of TLS: count it as `tcp`, and nothing here.
    pub round_trips: u8,
}

/// The probes that responsiveness is of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    pub foreign: Vec<ForeignProbe>,
    /// On load connections: from request to the end of the answer of one byte ("self probes").
    pub own: Vec<Delta>,
}

/// Trimmed means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Means {
    #[serde(rename = "tcp_f_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub tcp: Delta,
    /// Of one round trip.
    #[serde(rename = "tls_f_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub tls: Option<Delta>,
    #[serde(rename = "http_f_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub http: Delta,
    #[serde(rename = "http_l_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub own: Delta,
}

/// The mean of that share of the least of them, at least one (draft-09, section 4.3.2: the worst are dropped, the best are not).
pub fn trimmed_mean(values: impl IntoIterator<Item = Delta>, keep: f64) -> Option<Delta> {
    let mut values: Vec<Delta> = values.into_iter().collect();
    values.sort_unstable();
    let kept = (values.len() as f64 * keep).floor().max(1.0) as usize;
    let kept = values.get(..kept.min(values.len()))?;
    let sum: i128 = kept.iter().map(|d| i128::from(d.as_ns())).sum();
    let count = i128::try_from(kept.len()).ok().filter(|&n| n > 0)?;
    Some(Delta::ns((sum / count) as i64))
}

impl Probes {
    /// None unless there are both kinds.
    pub fn means(&self, params: &Params) -> Option<Means> {
        let foreign = self.foreign.iter();
        let tls = foreign.clone().filter_map(|p| p.tls);
        Some(Means {
            tcp: trimmed_mean(foreign.clone().map(|p| p.tcp), params.trim)?,
            tls: trimmed_mean(
                tls.map(|t| t.took / i64::from(t.round_trips.max(1))),
                params.trim,
            ),
            http: trimmed_mean(foreign.map(|p| p.http), params.trim)?,
            own: trimmed_mean(self.own.iter().copied(), params.trim)?,
        })
    }

    /// As draft-09, section 4.3.2: the mean of two numbers of round trips per minute, those of foreign and of own probes.
    ///
    /// So own probes of 2 s cost no more than half of the number, and own probes of 20 s no more than that.
    pub fn responsiveness(&self, params: &Params) -> Option<Rpm> {
        self.means(params)?.responsiveness()
    }

    /// As goresponsiveness (2024-01) and drafts before -05: the number of round trips per minute of the mean of two delays.
    ///
    /// A foreign probe counts as three round trips of a third each, whatever its version of TLS. Not comparable with
    /// [`Probes::responsiveness`]: it is at most that, and for own probes of seconds a tenth.
    pub fn legacy(&self, params: &Params) -> Option<Rpm> {
        let thirds = self.foreign.iter().map(|p| {
            let tls = p.tls.map_or(Delta::ZERO, |t| t.took);
            (p.tcp + tls + p.http) / 3
        });
        let foreign = trimmed_mean(thirds, params.trim)?;
        let own = trimmed_mean(self.own.iter().copied(), params.trim)?;
        Rpm::of_delay((foreign + own) / 2)
    }
}

impl Means {
    /// One round trip of a foreign probe: the mean of its parts.
    pub fn foreign(&self) -> Delta {
        match self.tls {
            Some(tls) => (self.tcp + tls + self.http) / 3,
            None => (self.tcp + self.http) / 2,
        }
    }

    fn responsiveness(&self) -> Option<Rpm> {
        let foreign = Rpm::of_delay(self.foreign())?;
        let own = Rpm::of_delay(self.own)?;
        Some(Rpm((foreign.0 + own.0) / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(foreign_ms: i64, own_ms: i64) -> Probes {
        let foreign = ForeignProbe {
            tcp: Delta::ms(foreign_ms),
            tls: Some(Tls {
                took: Delta::ms(foreign_ms),
                round_trips: 1,
            }),
            http: Delta::ms(foreign_ms),
        };
        Probes {
            foreign: vec![foreign; 20],
            own: vec![Delta::ms(own_ms); 20],
        }
    }

    fn rounded(rpm: Option<Rpm>) -> i64 {
        rpm.unwrap().as_f64().round() as i64
    }

    #[test]
    fn the_two_formulas_are_a_factor_of_ten_apart_where_own_probes_take_seconds() {
        let params = Params::default();
        let probes = probes(40, 1700);
        assert_eq!(rounded(probes.responsiveness(&params)), 768);
        assert_eq!(rounded(probes.legacy(&params)), 69);
    }

    #[test]
    fn the_formulas_agree_where_all_probes_do() {
        let params = Params::default();
        let probes = probes(60, 60);
        assert_eq!(rounded(probes.responsiveness(&params)), 1000);
        assert_eq!(rounded(probes.legacy(&params)), 1000);
    }

    #[test]
    fn a_handshake_of_two_round_trips_counts_as_one() {
        let mut of_two = probes(40, 40);
        for probe in &mut of_two.foreign {
            probe.tls = Some(Tls {
                took: Delta::ms(80),
                round_trips: 2,
            });
        }
        let params = Params::default();
        assert_eq!(
            of_two.responsiveness(&params),
            probes(40, 40).responsiveness(&params)
        );
        assert!(of_two.legacy(&params) < probes(40, 40).legacy(&params));
    }

    #[test]
    fn plain_http_is_the_mean_of_two_parts() {
        let mut plain = probes(40, 80);
        for probe in &mut plain.foreign {
            probe.tls = None;
            probe.http = Delta::ms(80);
        }
        // 60000 / 60 and 60000 / 80.
        assert_eq!(rounded(plain.responsiveness(&Params::default())), 875);
    }

    #[test]
    fn only_the_worst_twentieth_is_dropped() {
        let of = |worst: i64| {
            let values = (0..95).map(|_| 10).chain([worst; 5]);
            trimmed_mean(values.map(Delta::ms), 0.95).unwrap()
        };
        assert_eq!(of(100_000), Delta::ms(10));
        let fewer_dropped = (0..94).map(|_| 10).chain([105; 6]).map(Delta::ms);
        assert_eq!(trimmed_mean(fewer_dropped, 0.95), Some(Delta::ms(11)));
        assert_eq!(trimmed_mean([Delta::ms(7)], 0.95), Some(Delta::ms(7)));
        assert_eq!(trimmed_mean([], 0.95), None);
    }

    #[test]
    fn no_number_without_both_kinds_of_probes() {
        let mut probes = probes(40, 40);
        probes.own.clear();
        assert_eq!(probes.responsiveness(&Params::default()), None);
        assert_eq!(probes.legacy(&Params::default()), None);
        assert_eq!(Rpm::of_delay(Delta::ZERO), None);
    }

    #[test]
    fn classes_begin_where_the_draft_says() {
        for (rpm, class) in [
            (299.0, Class::Poor),
            (300.0, Class::Fair),
            (1000.0, Class::Good),
            (5999.0, Class::Good),
            (6000.0, Class::Excellent),
        ] {
            assert_eq!(Rpm::new(rpm).class(), class, "{rpm}");
        }
        assert_eq!(Rpm::new(300.0).delay(), Delta::ms(200));
    }
}
