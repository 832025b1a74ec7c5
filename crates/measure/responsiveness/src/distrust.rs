//! Why a run is not to be believed.

use crate::agreement::{Agreement, Heard, Odd};
use std::fmt;
use unbloat_units::{Both, Bytes, Delta, Direction, Rate};

/// Beyond, the load may have been this machine's.
const BUSY: f64 = 0.9;
/// Beyond, a hypervisor's other guests do.
const STOLEN: f64 = 0.05;
/// Of a stage, the part for which it has to be known what became of datagrams. Beside CPU hogs most runs below were wrong by more than 10 % and
/// most above right, however late datagrams had left: bench/live/trust.md.
const COVERED: f64 = 0.7;
/// So many are enough however many were sent.
const ENOUGH: usize = 100;
/// Of those sent, where they are few by the interval that was wanted or that a slow line allows: fewer are what got through, and no sample of the rest.
/// A queue that acknowledgments fill drops most: over 100/1 Mbit/s a quarter come back, with its delay (308 ms of 309).
const PART: usize = 8;
/// Fewer leave the 95th percentile to one of them.
const FEW: usize = 20;
/// Of the time that load was sent: beyond, a window or buffer held it back and not the network.
const HELD_BACK: f64 = 0.5;
/// Of a stage: what is left of it beyond is too little.
const STALLED: f64 = 0.4;
/// Of datagrams: beyond, those that came back are the luckier ones.
const LOST: f64 = 0.1;
/// Smaller doubt changes no verdict.
const CLOCK: Delta = Delta::ms(2);
/// From median to 95th percentile without load: beyond, something else loads the path.
const QUIET: Delta = Delta::ms(20);
/// And beyond, what load adds drowns in it.
const RESTLESS: Delta = Delta::ms(250);
/// A load that is there has a segment on its way at any time (1,448 bytes of TCP over Ethernet); with less than a tenth of one it stood still nearly
/// all the time.
const LEAST_ON_THE_WAY: Bytes = Bytes::new(145);
/// In the idle stage: less is what hosts always say to each other.
const FOREIGN: Rate = Rate::kbps(500);
/// A direction that carries less than this part of the other carries its acknowledgements.
const ACKS: u64 = 10;

/// What to look at. None is "not known", and no reason for distrust.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks {
    /// Share of all CPUs' time, in the busiest stage.
    pub cpu_busy: Option<f64>,
    /// Share that a hypervisor gave to others.
    pub cpu_stolen: Option<f64>,
    /// Of every stage that is judged, by name: the part for which it is known what became of datagrams.
    pub coverage: Vec<(&'static str, f64)>,
    /// How far one-way delays may be off by the clocks; the caller gives none where it uses none.
    pub clock_error: Option<Delta>,
    /// One-way delays were wanted and could not be had.
    pub clock_failed: bool,
    /// Of delay without load, from median to 95th percentile.
    pub idle_spread: Option<Delta>,
    /// What the test's own packets make a packet wait on an idle line, in its slower direction.
    pub idle_own: Option<Delta>,
    /// How late nearly all idle packets were: down and up, or of the round trip where one-way delays are unknown.
    pub idle_standing: Vec<(Option<Direction>, Delta)>,
    /// What passed this host's interface in the idle stage and was not the test's.
    pub foreign: Both<Option<Rate>>,
    /// Without load.
    pub idle_samples: Samples,
    /// Times of judged stages in which a program stood still.
    pub stalls: Vec<Stalled>,
    pub loads: Vec<LoadChecks>,
    /// Why no datagrams measure delay, where some should.
    pub echoless: Option<Echoless>,
    /// What stands for them where none are to be expected.
    pub standing_in: Option<Result<Agreement, Heard>>,
    /// Probes that say something else.
    pub odd: Vec<Odd>,
    /// Somebody stopped it.
    pub is_cut: bool,
    /// Or the server went away.
    pub gone: Option<ServerGone>,
}

/// Why a server that can echo datagrams did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echoless {
    /// Nothing came back from this UDP port.
    Silent { port: u16 },
    /// `unbloat serve` runs with `--no-echo`.
    Off,
}

/// Datagrams that tell a delay, of those that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    pub back: usize,
    pub sent: usize,
}

impl Samples {
    /// Nothing is said of their number.
    pub const UNCOUNTED: Samples = Samples {
        back: usize::MAX,
        sent: 0,
    };

    /// How many there have to be.
    fn needed(self) -> usize {
        (self.sent / PART).clamp(2, ENOUGH)
    }

    fn few(self, direction: Option<Direction>) -> Option<Distrust> {
        let needed = self.needed();
        (self.back < needed.max(FEW)).then_some(Distrust::FewSamples {
            direction,
            samples: self.back,
            needed,
        })
    }
}

/// A program stood still; that time is not judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalled {
    pub stage: &'static str,
    /// Since the test began.
    pub at: Delta,
    pub lasted: Delta,
    /// All such times, as a part of what is judged of the stage.
    pub share: f64,
    /// The server's; else this one.
    pub is_server: bool,
}

/// The server went away during the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerGone {
    /// Since the test began.
    pub at: Delta,
    pub how: Leaving,
    /// No loaded stage could be judged before.
    pub is_all: bool,
}

/// Of one direction's stage.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadChecks {
    pub direction: Direction,
    /// Goodput became stable.
    pub is_saturated: bool,
    /// Responsiveness did too. None where it was not measured.
    pub is_stable: Option<bool>,
    pub flows: usize,
    /// Those that ended before the stage.
    pub failed: usize,
    /// By Little's law: delivered rate times round trip under load.
    pub on_the_way: Option<Bytes>,
    /// Under load.
    pub samples: Samples,
    /// Share of datagrams that was lost in the loaded direction.
    pub lost: Option<f64>,
    /// Share of the time for which load was there that windows and buffers of the end hosts held it back.
    pub held_back: Option<f64>,
}

/// How a server ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// Nothing answers.
    Silent,
    /// Its host refuses connections.
    Refused,
    /// It wants no more of this client's requests: 429 or 503 (RFC 6585, 4; RFC 9110, 15.6.4).
    Asked { status: u16 },
}

/// One reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distrust {
    Cut {
        /// Before any load.
        is_all: bool,
    },
    ServerGone(ServerGone),
    Echoless(Echoless),
    StandingIn(Agreement),
    Disagreement(Heard),
    Odd(Odd),
    /// No fault by itself: load of a fast path takes whole CPUs.
    CpuBusy {
        busy: f64,
    },
    CpuStolen {
        stolen: f64,
    },
    /// For the rest of a stage nothing is known: this machine or the server did not get to send or answer datagrams.
    Gaps {
        stage: &'static str,
        coverage: f64,
    },
    Stalled(Stalled),
    DatagramsLost {
        direction: Direction,
        share: f64,
    },
    NoLoad {
        direction: Direction,
    },
    FlowsFailed {
        direction: Direction,
        failed: usize,
        of: usize,
    },
    NotSaturated {
        direction: Direction,
    },
    HeldBack {
        direction: Direction,
        share: f64,
    },
    Unstable {
        direction: Direction,
    },
    /// Without load where there is no direction.
    FewSamples {
        direction: Option<Direction>,
        samples: usize,
        needed: usize,
    },
    ClockFailed,
    ClockUnsure {
        error: Delta,
    },
    IdleNotQuiet {
        spread: Delta,
    },
    /// The path was loaded before the test began.
    IdleLoaded {
        direction: Option<Direction>,
        standing: Delta,
    },
    /// Of other programs of this host, or of those behind it.
    ForeignTraffic {
        direction: Direction,
        rate: Rate,
    },
}

impl Distrust {
    /// The numbers of this run mean nothing; otherwise they are only less sure.
    pub fn is_fatal(&self) -> bool {
        match self {
            Distrust::ServerGone(gone) => gone.is_all,
            Distrust::Cut { is_all } => *is_all,
            Distrust::Echoless(_)
            | Distrust::Disagreement(_)
            | Distrust::NoLoad { .. }
            | Distrust::Gaps { .. } => true,
            Distrust::Stalled(stalled) => stalled.share > STALLED,
            Distrust::FewSamples {
                samples, needed, ..
            } => samples < needed,
            Distrust::FlowsFailed { failed, of, .. } => failed == of,
            Distrust::IdleNotQuiet { spread } => *spread > RESTLESS,
            _ => false,
        }
    }
}

/// All reasons that there are, the fatal ones first.
pub fn distrust(checks: &Checks) -> Vec<Distrust> {
    let mut reasons = Vec::new();
    let is_all = checks.loads.is_empty();
    reasons.extend(checks.is_cut.then_some(Distrust::Cut { is_all }));
    reasons.extend(checks.gone.map(Distrust::ServerGone));
    reasons.extend(checks.echoless.map(Distrust::Echoless));
    reasons.extend(checks.standing_in.map(|told| match told {
        Ok(agreement) => Distrust::StandingIn(agreement),
        Err(heard) => Distrust::Disagreement(heard),
    }));
    reasons.extend(checks.odd.iter().copied().map(Distrust::Odd));
    let busy = checks.cpu_busy.filter(|&busy| busy > BUSY);
    reasons.extend(busy.map(|busy| Distrust::CpuBusy { busy }));
    let stolen = checks.cpu_stolen.filter(|&stolen| stolen > STOLEN);
    reasons.extend(stolen.map(|stolen| Distrust::CpuStolen { stolen }));
    let gaps = checks.coverage.iter();
    let gaps = gaps.filter(|(_, coverage)| *coverage < COVERED);
    reasons.extend(gaps.map(|&(stage, coverage)| Distrust::Gaps { stage, coverage }));
    reasons.extend(checks.stalls.iter().copied().map(Distrust::Stalled));
    reasons.extend(checks.idle_samples.few(None));
    reasons.extend(checks.loads.iter().flat_map(of_load));
    reasons.extend(checks.clock_failed.then_some(Distrust::ClockFailed));
    let error = checks.clock_error.filter(|&error| error > CLOCK);
    reasons.extend(error.map(|error| Distrust::ClockUnsure { error }));
    let standing = checks.idle_standing.iter();
    reasons.extend(standing.map(|&(direction, standing)| Distrust::IdleLoaded {
        direction,
        standing,
    }));
    reasons.extend(foreign(checks.foreign));
    // A path that is loaded varies as well.
    let is_loaded = !checks.idle_standing.is_empty();
    let spread = checks.idle_spread;
    let quiet = checks.idle_own.map_or(QUIET, |own| own.max(QUIET));
    let spread = spread.filter(|&spread| spread > quiet && !is_loaded);
    reasons.extend(spread.map(|spread| Distrust::IdleNotQuiet { spread }));
    reasons.sort_by_key(|reason| !reason.is_fatal());
    // A load that ran with both kinds of stack may give the same reason twice.
    let mut once: Vec<Distrust> = Vec::new();
    for reason in reasons {
        if !once.contains(&reason) {
            once.push(reason);
        }
    }
    once
}

/// Traffic of others; what is only its acknowledgements goes without saying.
fn foreign(rates: Both<Option<Rate>>) -> impl Iterator<Item = Distrust> {
    let most = rates.into_iter().flatten().max().unwrap_or(Rate::ZERO);
    let least = FOREIGN.max(Rate::bps(most.as_bps() / ACKS));
    let both = Direction::BOTH.into_iter().zip(rates);
    both.filter_map(move |(direction, rate)| {
        let rate = rate.filter(|&rate| rate > least)?;
        Some(Distrust::ForeignTraffic { direction, rate })
    })
}

fn of_load(load: &LoadChecks) -> Vec<Distrust> {
    let direction = load.direction;
    let stood_still = load
        .on_the_way
        .is_some_and(|bytes| bytes < LEAST_ON_THE_WAY);
    if load.flows == 0 || stood_still {
        return vec![Distrust::NoLoad { direction }];
    }
    let mut reasons = Vec::new();
    if load.failed > 0 {
        let (failed, of) = (load.failed, load.flows);
        reasons.push(Distrust::FlowsFailed {
            direction,
            failed,
            of,
        });
    }
    reasons.extend(load.samples.few(Some(direction)));
    if !load.is_saturated {
        reasons.push(Distrust::NotSaturated { direction });
    } else if load.is_stable == Some(false) {
        reasons.push(Distrust::Unstable { direction });
    }
    let lost = load.lost.filter(|&share| share > LOST);
    reasons.extend(lost.map(|share| Distrust::DatagramsLost { direction, share }));
    let held = load.held_back.filter(|&share| share > HELD_BACK);
    reasons.extend(held.map(|share| Distrust::HeldBack { direction, share }));
    reasons
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Distrust::Cut { .. } => write!(f, "the test was stopped before its end"),
            Distrust::ServerGone(ServerGone { at, how, .. }) => {
                let what = match how {
                    Leaving::Silent | Leaving::Refused => "the server went away",
                    Leaving::Asked { .. } => "the server wants no more requests,",
                };
                write!(f, "{what} {:.1} s into the test (", at.as_secs())?;
                match how {
                    Leaving::Silent => f.write_str("nothing answers any more"),
                    Leaving::Refused => f.write_str("its host refuses connections"),
                    Leaving::Asked { status } => {
                        write!(f, "it answered {status}; test again later")
                    }
                }?;
                f.write_str("); later stages were not run")
            }
            Distrust::StandingIn(agreement) => agreement.fmt(f),
            Distrust::Disagreement(heard) => heard.fmt(f),
            Distrust::Odd(odd) => odd.fmt(f),
            Distrust::Echoless(echoless) => {
                match echoless {
                    Echoless::Silent { port } => write!(
                        f,
                        "UDP port {port} of the server gives no answer; open it in the firewalls there and on the way"
                    ),
                    Echoless::Off => write!(
                        f,
                        "the server echoes no datagrams; start `unbloat serve` without --no-echo"
                    ),
                }?;
                write!(
                    f,
                    ", or add an irtt server with --echo HOST:PORT: without datagrams, added delay, its direction and loss are not known"
                )
            }
            Distrust::CpuBusy { busy } => write!(
                f,
                "this machine's CPUs were {} busy and may have limited the load",
                percent(busy)
            ),
            Distrust::CpuStolen { stolen } => write!(
                f,
                "the hypervisor gave {} of this machine's CPU time to other guests: they may have caused the delays",
                percent(stolen)
            ),
            Distrust::Gaps { stage, coverage } => write!(
                f,
                "delays are known for only {} of the stage {stage}: this machine or the server was too busy to send or answer datagrams; close other programs, or test from or against another machine",
                percent(coverage)
            ),
            Distrust::Stalled(Stalled {
                stage,
                at,
                lasted,
                is_server,
                share,
            }) => {
                let (who, how) = match is_server {
                    true => (
                        "the server answered",
                        ", though its kernel did, and then everything at once",
                    ),
                    false => ("this machine sent", ""),
                };
                let left = match share > STALLED {
                    true => "too little of the stage is left; test again",
                    false => "that time is left out of delays and rates",
                };
                write!(
                    f,
                    "{who} nothing for {:.1} s, {:.1} s into the test (stage {stage}){how}; {left}",
                    lasted.as_secs(),
                    at.as_secs()
                )
            }
            Distrust::DatagramsLost { direction, share } => write!(
                f,
                "{} of the datagrams were lost during the {}: those that came back may have waited less",
                percent(share),
                direction.load()
            ),
            Distrust::NoLoad { direction } => {
                write!(
                    f,
                    "the {} carried next to nothing: there is no result for it",
                    direction.load()
                )
            }
            Distrust::FlowsFailed {
                direction,
                failed,
                of,
            } => write!(
                f,
                "{failed} of {of} connections of the {} ended early: the load was lower than intended",
                direction.load()
            ),
            Distrust::NotSaturated { direction } => write!(
                f,
                "the {} was still growing at the end: delay may be higher under full load; use longer stages",
                direction.load()
            ),
            Distrust::HeldBack { direction, share } => write!(
                f,
                "windows and buffers of the end hosts limited the {} for {} of its time: the path may not have been full",
                direction.load(),
                percent(share)
            ),
            Distrust::Unstable { direction } => write!(
                f,
                "responsiveness during the {} did not stabilise: use longer stages",
                direction.load()
            ),
            Distrust::FewSamples {
                direction,
                samples,
                needed,
            } => {
                let when = match direction {
                    Some(direction) => format!("during the {}", direction.load()),
                    None => "without load".to_owned(),
                };
                match samples < needed {
                    true => write!(
                        f,
                        "{samples} delay samples {when} are too few: {needed} are needed"
                    ),
                    false => write!(
                        f,
                        "there are only {samples} delay samples {when}, so the 95th percentile is one of them; use longer stages or a shorter --probe-interval"
                    ),
                }
            }
            Distrust::ClockFailed => write!(
                f,
                "the server reports no timestamps: directions are distinguished only by which one was loaded"
            ),
            Distrust::ClockUnsure { error } => write!(
                f,
                "the clocks of both ends could be compared only to within {error}: no direction was idle for long enough"
            ),
            Distrust::IdleLoaded {
                direction,
                standing,
            } => {
                let on_the_way = match direction {
                    Some(Direction::Down) => "downstream ",
                    Some(Direction::Up) => "upstream ",
                    None => "",
                };
                write!(
                    f,
                    "the path was loaded before the test began: idle packets waited {:.0} ms {on_the_way}(median); added delay is relative to the minimum of the whole test, so it includes delay caused by other traffic",
                    standing.as_ms()
                )
            }
            Distrust::ForeignTraffic { direction, rate } => write!(
                f,
                "{rate} of other traffic passed this host's interface {} in the idle stage: it loads the path as well; stop it and test again",
                match direction {
                    Direction::Down => "downstream",
                    Direction::Up => "upstream",
                }
            ),
            Distrust::IdleNotQuiet { spread } => write!(
                f,
                "idle delay varied by {spread}: other traffic uses the path; stop it, or treat the added delay as a minimum"
            ),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Checks {
        Checks {
            cpu_busy: Some(0.3),
            idle_samples: Samples {
                back: 300,
                sent: 300,
            },
            loads: vec![LoadChecks {
                direction: Direction::Up,
                is_saturated: true,
                is_stable: Some(true),
                flows: 4,
                failed: 0,
                on_the_way: Some(Bytes::new(60_000)),
                samples: Samples {
                    back: 1_000,
                    sent: 1_000,
                },
                lost: None,
                held_back: Some(0.1),
            }],
            ..Checks::default()
        }
    }

    #[test]
    fn a_good_run_is_trusted_and_what_is_unknown_is_no_reason() {
        assert_eq!(distrust(&good()), []);
        let unknown = Checks {
            cpu_busy: None,
            ..good()
        };
        assert_eq!(distrust(&unknown), []);
    }

    #[test]
    fn a_load_that_ran_with_both_kinds_of_stack_says_a_reason_once() {
        let mut both = good();
        both.loads[0].is_stable = Some(false);
        both.loads.push(both.loads[0].clone());
        assert_eq!(distrust(&both).len(), 1);
    }

    #[test]
    fn each_fault_has_its_reason_and_fatal_ones_come_first() {
        let mut bad = good();
        bad.idle_spread = Some(Delta::ms(80));
        bad.clock_error = Some(Delta::ms(30));
        bad.coverage = vec![("down", 0.3)];
        bad.cpu_stolen = Some(0.2);
        bad.cpu_busy = Some(0.99);
        let load = &mut bad.loads[0];
        (load.is_saturated, load.failed, load.samples.back) = (false, 4, 20);
        load.held_back = Some(0.9);
        let reasons = distrust(&bad);
        assert_eq!(reasons.len(), 9);
        let fatal: Vec<bool> = reasons.iter().map(Distrust::is_fatal).collect();
        assert_eq!(fatal[..3], [true; 3]);
        assert_eq!(fatal[3..], [false; 6]);
    }

    #[test]
    fn a_test_that_was_stopped_before_any_load_says_so_and_no_more() {
        let stopped = Checks {
            is_cut: true,
            loads: Vec::new(),
            ..good()
        };
        let reasons = distrust(&stopped);
        assert_eq!(reasons[0], Distrust::Cut { is_all: true });
        assert!(reasons[0].is_fatal());
        let later = Checks {
            is_cut: true,
            ..good()
        };
        assert!(!distrust(&later)[0].is_fatal());
    }

    #[test]
    fn a_busy_machine_is_a_warning_until_nothing_is_known_for_much_of_a_stage() {
        let of = |coverage| Checks {
            cpu_busy: Some(0.97),
            coverage: vec![("idle", 1.0), ("up", coverage)],
            ..good()
        };
        let known = distrust(&of(0.95));
        assert_eq!(known, [Distrust::CpuBusy { busy: 0.97 }]);
        assert!(!known[0].is_fatal());
        let unknown = distrust(&of(0.4));
        assert!(unknown[0].is_fatal());
        let told = unknown[0].to_string();
        assert!(told.contains("40 %") && told.contains("stage up"), "{told}");
    }

    #[test]
    fn a_loaded_path_is_told_once_and_traffic_of_others_without_its_acknowledgements() {
        let loaded = Checks {
            idle_standing: vec![(Some(Direction::Down), Delta::ms(160))],
            idle_spread: Some(Delta::ms(30)),
            foreign: Both::new(Some(Rate::mbps(30)), Some(Rate::kbps(700))),
            ..good()
        };
        let reasons = distrust(&loaded);
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        let told: Vec<String> = reasons.iter().map(Distrust::to_string).collect();
        assert!(told[0].contains("160 ms downstream (median)"), "{told:?}");
        assert!(told[1].contains("30.00 Mbit/s"), "{told:?}");
        assert!(!reasons.iter().any(Distrust::is_fatal));
        let up = Both::new(Some(Rate::kbps(10)), Some(Rate::mbps(5)));
        let direction = Direction::Up;
        let rate = Rate::mbps(5);
        let of_up = Distrust::ForeignTraffic { direction, rate };
        assert_eq!(foreign(up).collect::<Vec<_>>(), [of_up]);
    }

    #[test]
    fn on_a_slow_line_the_test_s_own_packets_are_no_other_traffic() {
        let of = |own| Checks {
            idle_spread: Some(Delta::ms(260)),
            idle_own: own,
            ..good()
        };
        assert!(distrust(&of(Some(Delta::ms(36))))[0].is_fatal());
        // At 100 kbit/s.
        assert_eq!(distrust(&of(Some(Delta::ms(360)))), []);
    }

    #[test]
    fn a_wide_interval_needs_fewer_samples_and_says_so_where_they_are_a_handful() {
        let of = |back, sent| {
            let mut wide = good();
            wide.idle_samples = Samples { back, sent };
            distrust(&wide)
        };
        // 3 s every 50 ms, every 100 ms.
        assert_eq!((of(60, 60), of(28, 30)), (vec![], vec![]));
        let [handful] = of(3, 3)[..] else {
            panic!("one reason");
        };
        assert!(
            !handful.is_fatal() && handful.to_string().contains("only 3"),
            "{handful}"
        );
        // What little came back of many is no sample of the others.
        for (back, sent) in [(35, 300), (2, 30), (0, 0), (1, 3)] {
            assert!(of(back, sent)[0].is_fatal(), "{back} of {sent}");
        }
    }

    #[test]
    fn a_quarter_of_the_datagrams_through_a_full_queue_is_a_doubt_only() {
        let mut full = good();
        let load = &mut full.loads[0];
        load.samples = Samples {
            back: 46,
            sent: 188,
        };
        load.lost = Some(0.75);
        let reasons = distrust(&full);
        assert!(
            matches!(reasons[..], [Distrust::DatagramsLost { .. }]) && !reasons[0].is_fatal(),
            "{reasons:?}"
        );
    }

    #[test]
    fn a_flow_that_fails_among_others_is_doubt_only() {
        let mut one = good();
        one.loads[0].failed = 1;
        let reasons = distrust(&one);
        assert_eq!(reasons.len(), 1);
        assert!(!reasons[0].is_fatal());
        assert!(reasons[0].to_string().contains("1 of 4"), "{}", reasons[0]);
    }

    #[test]
    fn a_blocked_port_is_named_and_leaves_no_verdict() {
        for (echoless, told) in [
            (Echoless::Silent { port: 2112 }, "UDP port 2112"),
            (Echoless::Off, "without --no-echo"),
        ] {
            let blocked = Checks {
                echoless: Some(echoless),
                ..good()
            };
            let reasons = distrust(&blocked);
            assert_eq!(reasons, [Distrust::Echoless(echoless)]);
            let said = reasons[0].to_string();
            assert!(reasons[0].is_fatal() && said.contains(told), "{said}");
            assert!(said.contains("loss are not known"), "{said}");
        }
    }

    #[test]
    fn a_load_that_never_ran_says_only_that() {
        let mut none = good();
        none.loads[0].flows = 0;
        let direction = Direction::Up;
        assert_eq!(distrust(&none), [Distrust::NoLoad { direction }]);
        let carried = |rate: Rate, rtt| {
            let mut load = good();
            load.loads[0].on_the_way = Some(rate * rtt);
            distrust(&load)
        };
        // A server that sends nothing behind its heads, in the room and far away.
        let still = [Delta::us(300), Delta::ms(50)].map(|rtt| carried(Rate::kbps(12), rtt));
        assert_eq!(still, [[Distrust::NoLoad { direction }]; 2]);
        // Lines that are slow, whose packets wait for each other: fair queueing, 56 kbit/s.
        assert_eq!(carried(Rate::kbps(56), Delta::ms(110)), []);
    }
}
