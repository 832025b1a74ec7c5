//! Causes that are no queue of the loaded direction: the server's program, a starved uplink, this host's CPU.
//!
//! | cause | what shows it |
//! |---|---|
//! | slow server | what its program answers is late, what its kernel answers (ICMP, TCP's handshake) on the same path is not |
//! | starved acknowledgements | during a download the uplink has a queue, or is full, though only acknowledgements use it; without one-way delays, only that they fill it |
//! | busy client | this host's CPUs, or the one of this program, had nothing left, and nothing shows that the path was full: no queue, not even one that the load has for itself, and no loss |

use crate::fields::{bps_or_null, ms, ms_or_null};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unbloat_units::{Both, Delta, Direction, Rate};

/// A program that answers later than its kernel by less is a program at work.
const SLOW: Delta = Delta::ms(50);
/// A queue of acknowledgements that is longer delays the download's feedback.
const STARVED: Delta = Delta::ms(20);
/// Share of the uplink that acknowledgements take, beyond which they fill it.
const FULL: f64 = 0.7;
/// The same where nothing else says that the queue is there: the upload's rate is of payload, so what fills the uplink exceeds it.
const FULL_ALONE: f64 = 0.95;
/// Share of all CPUs' time beyond which nothing is left.
const BUSY: f64 = 0.95;
/// Of one CPU that this program takes: its busiest thread has nothing left.
const BUSY_ALONE: f64 = 0.9;
/// The path had no queue: what loaded it was slower.
const NO_QUEUE: Delta = Delta::ms(5);
/// Nor did it lose: of the load's segments, beyond which a shaper, a policer or the line limits it.
const NO_LOSS: f64 = 0.001;

/// Median and 95th percentile of round trips under load less the idle median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    pub p50: Delta,
    pub p95: Delta,
}

/// Of one direction that was loaded alone. None is "not known", and no cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CauseFacts {
    pub direction: Option<Direction>,
    /// Answered by the server's program.
    pub program: Option<Late>,
    /// By its kernel: echo requests of ICMP, and TCP's handshakes.
    pub icmp: Option<Late>,
    pub handshake: Option<Late>,
    /// Median of what the load added.
    pub added: Both<Option<Delta>>,
    /// What this host sent meanwhile, all of it.
    pub sent: Option<Rate>,
    /// What the uplink delivers when it is loaded.
    pub uplink: Option<Rate>,
    /// The uplink was not idle before: its queue is no sign of acknowledgements.
    pub uplink_is_shared: bool,
    pub cpu_busy: Option<f64>,
    /// CPUs that this program took, 1 is a whole one.
    pub own_cpus: Option<f64>,
    /// Median of what the load's own segments waited.
    pub added_to_load: Option<Delta>,
    /// Share of them that was sent again.
    pub resent: Option<f64>,
}

/// What else than a queue in the loaded direction made delay, or kept load small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// The server's program or CPU, not the network.
    SlowServer {
        direction: Direction,
        #[serde(rename = "program_p95_ms", with = "ms")]
        #[schemars(with = "f64")]
        program: Delta,
        #[serde(rename = "kernel_p95_ms", with = "ms")]
        #[schemars(with = "f64")]
        kernel: Delta,
    },
    /// A download waits for its own acknowledgements in the uplink.
    StarvedAcks {
        /// Null without one-way delays: then the download's added delay is that of both directions.
        #[serde(rename = "added_up_p50_ms", with = "ms_or_null")]
        #[schemars(with = "Option<f64>")]
        added_up: Option<Delta>,
        /// What this host sent during the download, if that is known.
        #[serde(rename = "sent_bps", with = "bps_or_null")]
        #[schemars(with = "Option<u64>")]
        sent: Option<Rate>,
        #[serde(rename = "uplink_bps", with = "bps_or_null")]
        #[schemars(with = "Option<u64>")]
        uplink: Option<Rate>,
    },
    /// This host, or the CPU of this program (`own_cpus`), had no time left, and nothing shows that the path was full.
    BusyClient {
        direction: Direction,
        busy: f64,
        #[serde(default)]
        own_cpus: Option<f64>,
    },
}

/// All causes that the facts show.
pub fn causes(facts: &[CauseFacts]) -> Vec<Cause> {
    let of = |stage: &CauseFacts| {
        let direction = stage.direction?;
        let found = [
            slow_server(stage, direction),
            starved_acks(stage, direction),
            busy_client(stage, direction),
        ];
        Some(found.into_iter().flatten())
    };
    facts.iter().filter_map(of).flatten().collect()
}

impl Cause {
    /// Delays of the server's program are not the path's: nothing can be concluded from them.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Cause::SlowServer { .. })
    }
}

/// Of what the kernel answers the later: networks may let ICMP pass first, and a handshake waits behind nothing of the program.
fn slow_server(facts: &CauseFacts, direction: Direction) -> Option<Cause> {
    let kernel = facts.icmp?.p95.max(facts.handshake?.p95);
    let program = facts.program?.p95;
    let is_slow = program > kernel + SLOW && program > kernel * 2;
    is_slow.then_some(Cause::SlowServer {
        direction,
        program,
        kernel,
    })
}

fn starved_acks(facts: &CauseFacts, direction: Direction) -> Option<Cause> {
    let added_up = facts.added.up;
    let share = facts.sent.zip(facts.uplink);
    let share = share.map(|(sent, uplink)| sent.as_bps_f64() / uplink.as_bps_f64().max(1.0));
    let is_full = match added_up {
        Some(_) => share.is_none_or(|share| share > FULL),
        None => share.is_some_and(|share| share > FULL_ALONE),
    };
    let added = added_up.or(facts.program.map(|late| late.p50))?;
    let is_starved =
        direction == Direction::Down && added > STARVED && is_full && !facts.uplink_is_shared;
    is_starved.then_some(Cause::StarvedAcks {
        added_up,
        sent: facts.sent,
        uplink: facts.uplink,
    })
}

fn busy_client(facts: &CauseFacts, direction: Direction) -> Option<Cause> {
    let busy = facts.cpu_busy?;
    let is_busy = busy > BUSY || facts.own_cpus.is_some_and(|own| own > BUSY_ALONE);
    let queue = facts.added.down?.max(facts.added.up?);
    let queue = queue.max(facts.added_to_load.unwrap_or(Delta::ZERO));
    let is_full = queue >= NO_QUEUE || facts.resent.is_some_and(|share| share > NO_LOSS);
    (is_busy && !is_full).then_some(Cause::BusyClient {
        direction,
        busy,
        own_cpus: facts.own_cpus,
    })
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::SlowServer {
                direction,
                program,
                kernel,
            } => write!(
                f,
                "the server's program answered {:.0} ms late during the {} (p95), its kernel on the same path within {:.0} ms: the server is slow, not the network; test against another server",
                program.as_ms(),
                direction.load(),
                kernel.as_ms().max(0.0)
            ),
            Cause::StarvedAcks {
                added_up,
                sent,
                uplink,
            } => {
                f.write_str("the download waits for its own acknowledgements: they wait ")?;
                if let Some(added_up) = added_up {
                    write!(f, "{:.0} ms ", added_up.as_ms())?;
                }
                f.write_str("in the uplink")?;
                if let Some((sent, uplink)) = sent.zip(uplink) {
                    write!(
                        f,
                        ", which they fill ({sent} sent; the upload alone delivered {uplink})"
                    )?;
                }
                if added_up.is_none() {
                    f.write_str("; the delay that the download adds is that of both directions, which cannot be told apart")?;
                }
                write!(
                    f,
                    "; more uplink, or a shaper with an ACK filter there (CAKE: ack-filter), makes downloads faster"
                )
            }
            Cause::BusyClient {
                direction,
                busy,
                own_cpus,
            } => {
                let whose = match own_cpus.filter(|_| busy <= BUSY) {
                    Some(own) => format!("this test took {:.0} % of a CPU", 100.0 * own),
                    None => format!("this host's CPUs were {:.0} % busy", 100.0 * busy),
                };
                write!(
                    f,
                    "{whose} during the {} and the path had no queue and lost nothing: the CPU limited the load, so the path may carry more and bloat more",
                    direction.load()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(p50: i64, p95: i64) -> Option<Late> {
        Some(Late {
            p50: Delta::ms(p50),
            p95: Delta::ms(p95),
        })
    }

    /// A download through a full buffer of 160 ms.
    fn bloated() -> CauseFacts {
        CauseFacts {
            direction: Some(Direction::Down),
            program: late(150, 160),
            icmp: late(150, 160),
            handshake: late(149, 158),
            added: Both::new(Some(Delta::ms(150)), Some(Delta::ZERO)),
            sent: Some(Rate::kbps(900)),
            uplink: Some(Rate::mbps(10)),
            uplink_is_shared: false,
            cpu_busy: Some(0.99),
            own_cpus: Some(0.2),
            added_to_load: Some(Delta::ZERO),
            resent: Some(0.0),
        }
    }

    #[test]
    fn a_queue_in_the_loaded_direction_is_none_of_these() {
        assert_eq!(causes(&[bloated()]), []);
        assert_eq!(causes(&[CauseFacts::default()]), []);
    }

    #[test]
    fn a_program_that_is_late_while_its_kernel_is_not_is_the_servers_fault() {
        let stalled = CauseFacts {
            program: late(116, 2460),
            icmp: late(0, 155),
            handshake: late(2, 157),
            ..bloated()
        };
        let [cause] = causes(std::slice::from_ref(&stalled))[..] else {
            panic!("one cause")
        };
        assert!(
            cause.is_fatal() && cause.to_string().contains("2460 ms"),
            "{cause}"
        );
        // Where only ICMP is fast, the network may have let it pass.
        let favoured = CauseFacts {
            handshake: late(2_000, 2_400),
            ..stalled.clone()
        };
        assert_eq!(causes(&[favoured]), []);
        let unknown = CauseFacts {
            handshake: None,
            ..stalled
        };
        assert_eq!(causes(&[unknown]), []);
    }

    #[test]
    fn a_download_whose_uplink_is_full_of_acknowledgements_waits_for_them() {
        let starved = CauseFacts {
            added: Both::new(Some(Delta::ZERO), Some(Delta::ms(298))),
            sent: Some(Rate::kbps(980)),
            uplink: Some(Rate::kbps(900)),
            ..bloated()
        };
        let found = causes(std::slice::from_ref(&starved));
        assert!(
            matches!(found[..], [Cause::StarvedAcks { .. }]),
            "{found:?}"
        );
        assert!(!found[0].is_fatal());
        let told = found[0].to_string();
        assert!(
            told.contains("298 ms") && told.contains("900.0 kbit/s"),
            "{told}"
        );
        let uploading = CauseFacts {
            direction: Some(Direction::Up),
            ..starved.clone()
        };
        let of_others = CauseFacts {
            uplink_is_shared: true,
            ..starved.clone()
        };
        // A queue that is not ours: little of it was sent from here.
        let elsewhere = CauseFacts {
            sent: Some(Rate::kbps(100)),
            ..starved.clone()
        };
        assert_eq!(causes(&[uploading, of_others, elsewhere]), []);

        let one_ended = CauseFacts {
            added: Both::default(),
            ..starved
        };
        let said = causes(std::slice::from_ref(&one_ended))[0].to_string();
        assert!(said.contains("cannot be told apart"), "{said}");
        // Nearly full, and the delay may be a queue of the download.
        let nearly = CauseFacts {
            sent: Some(Rate::kbps(800)),
            ..one_ended
        };
        assert_eq!(causes(&[nearly]), []);
    }

    #[test]
    fn a_busy_host_is_a_cause_only_where_the_path_had_no_queue() {
        let limited = CauseFacts {
            added: Both::new(Some(Delta::ms(1)), Some(Delta::ZERO)),
            ..bloated()
        };
        let found = causes(std::slice::from_ref(&limited));
        // Flows that wait in queues of their own, a policer or a lossy line: the path was full.
        let isolated = CauseFacts {
            added_to_load: Some(Delta::ms(17)),
            ..limited.clone()
        };
        let policed = CauseFacts {
            resent: Some(0.01),
            ..limited.clone()
        };
        let idle = CauseFacts {
            cpu_busy: Some(0.3),
            ..limited.clone()
        };
        assert_eq!(causes(&[isolated, policed, idle.clone()]), []);
        // One of many CPUs, and all of it.
        let alone = CauseFacts {
            own_cpus: Some(0.97),
            ..idle
        };
        let said = causes(&[alone])[0].to_string();
        assert!(said.contains("97 % of a CPU"), "{said}");
        assert!(matches!(found[..], [Cause::BusyClient { .. }]), "{found:?}");
        let json = serde_json::to_value(found[0]).unwrap();
        assert_eq!(
            (&json["kind"], &json["direction"]),
            (&"busy_client".into(), &"down".into())
        );
    }
}
