//! What a test calls for.

use crate::tested::{Loaded, Tested};
use std::fmt;
use unbloat_responsiveness::{SHAPER_DOWN, SHAPER_UP, UNNOTICED};
use unbloat_sqm::Framing;
use unbloat_units::Rate;
use unbloat_workload::Direction;

/// What to change, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// Rates to shape to, down and up.
    pub shaped: [Option<Rate>; 2],
    /// Hold back what this host's downloads may have on their way.
    pub holds_window: bool,
    /// Directions, down and up, that a shaper whose rates follow the line is for; it shapes both.
    pub followed: [bool; 2],
    /// A sentence for each.
    pub because: Vec<String>,
}

/// Why nothing is proposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untreated {
    #[error("nothing to cure: {0}")]
    Healthy(String),
    #[error("the test is not to be trusted ({0}): run it again")]
    Distrusted(String),
    #[error(
        "{0}: its rate changes, so no fixed one fits; a router has to follow it by itself, as `unbloat autorate` there does"
    )]
    Changing(String),
    #[error("the test loaded neither direction alone: run it with stages down and up")]
    Unloaded,
}

/// Cures for each direction whose queue is felt: a shaper where the rate is steady, the receive window where a download's is not, and where an
/// upload's is not a shaper that follows both. `follows`: whether that can be put in place.
pub fn propose(tested: &Tested, follows: bool) -> Result<Proposal, Untreated> {
    if let Some(reason) = tested.distrust.first() {
        return Err(Untreated::Distrusted(reason.clone()));
    }
    let loads = [(Direction::Down, tested.down), (Direction::Up, tested.up)];
    let known = loads
        .into_iter()
        .filter_map(|(way, load)| Some((way, load?)));
    let known: Vec<(Direction, Loaded)> = known.collect();
    if known.is_empty() {
        return Err(Untreated::Unloaded);
    }
    let mut proposal = Proposal::default();
    let mut changing = None;
    let all_felt = || known.iter().filter(|(_, load)| load.added_p95 >= UNNOTICED);
    if follows && all_felt().any(|(way, load)| *way == Direction::Up && !load.is_steady) {
        return Ok(follow(all_felt()));
    }
    for (way, load) in all_felt() {
        let felt = Felt(*way, *load);
        match (way, load.is_steady) {
            (_, true) => {
                let rate = first_rate(*way, load.goodput);
                proposal.shaped[*way as usize] = Some(rate);
                proposal.because.push(format!(
                    "{felt}: shape it to {rate}, so that the queue stands where it is kept short"
                ));
            }
            (Direction::Down, false) => {
                proposal.holds_window = true;
                proposal.because.push(format!("{felt}, and its rate changes: hold back the receive window by what the path holds"));
            }
            (Direction::Up, false) => changing = Some(felt.to_string()),
        }
    }
    match (proposal.because.is_empty(), changing) {
        (false, _) => Ok(proposal),
        (true, Some(felt)) => Err(Untreated::Changing(felt)),
        (true, None) => {
            let all = known
                .iter()
                .map(|(way, load)| Felt(*way, *load).to_string());
            Err(Untreated::Healthy(all.collect::<Vec<_>>().join(", ")))
        }
    }
}

/// One shaper for both directions: what it has to know of the one it learns from the other's acknowledgments.
fn follow<'a>(felt: impl Iterator<Item = &'a (Direction, Loaded)>) -> Proposal {
    let mut proposal = Proposal::default();
    for (way, load) in felt {
        proposal.followed[*way as usize] = true;
        let changing = match load.is_steady {
            true => "",
            false => ", and its rate changes",
        };
        proposal.because.push(format!(
            "{}{changing}: shape it, with a rate that follows the line",
            Felt(*way, *load)
        ));
    }
    proposal
}

/// A share of what the line carried for that goodput.
fn first_rate(way: Direction, goodput: Rate) -> Rate {
    let share = match way {
        Direction::Down => SHAPER_DOWN,
        Direction::Up => SHAPER_UP,
    };
    let rate = Framing::NONE.line_rate(goodput).as_bps_f64() * share;
    Rate::from_bps_f64((rate / 1e3).round() * 1e3)
}

/// A direction's delay in words.
struct Felt(Direction, Loaded);

impl fmt::Display for Felt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Felt(way, load) = self;
        let (name, added, rate) = (way.name(), load.added_p95.as_ms(), load.goodput);
        write!(f, "{name} adds {added:.0} ms at {rate}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Delta;

    fn loaded(added_ms: i64, mbps: u64, is_steady: bool) -> Option<Loaded> {
        Some(Loaded {
            goodput: Rate::mbps(mbps),
            added_p50: Delta::ms(added_ms / 2),
            added_p95: Delta::ms(added_ms),
            is_steady,
        })
    }

    fn tested(down: Option<Loaded>, up: Option<Loaded>) -> Tested {
        Tested {
            down,
            up,
            ..Tested::default()
        }
    }

    #[test]
    fn each_steady_direction_with_a_queue_is_shaped_below_what_it_carried() {
        let proposal = propose(&tested(loaded(160, 48, true), loaded(12, 10, true)), true).unwrap();
        assert_eq!(proposal.shaped, [Some(Rate::kbps(44_751)), None]);
        let both = propose(&tested(loaded(160, 48, true), loaded(240, 10, true)), true).unwrap();
        assert_eq!(both.shaped[1], Some(Rate::kbps(9_841)));
        assert_eq!(both.because.len(), 2);
        assert!(!both.holds_window);
    }

    #[test]
    fn downloads_over_a_changing_path_are_held_by_their_window() {
        let proposal =
            propose(&tested(loaded(4_000, 3, false), loaded(9, 10, false)), true).unwrap();
        assert!(proposal.holds_window);
        assert_eq!(proposal.shaped, [None, None]);
    }

    #[test]
    fn an_upload_over_a_changing_path_is_followed_with_its_download_where_that_can_be() {
        let both = tested(loaded(4_000, 3, false), loaded(250, 10, false));
        let proposal = propose(&both, true).unwrap();
        assert_eq!(proposal.followed, [true, true]);
        assert!(!proposal.holds_window && proposal.shaped == [None, None]);
        let from_afar = propose(&both, false).unwrap();
        assert!(from_afar.holds_window && from_afar.followed == [false, false]);
    }

    #[test]
    fn where_nothing_helps_it_is_said_why() {
        let healthy = propose(&tested(loaded(4, 50, true), loaded(9, 10, true)), true);
        assert!(matches!(healthy, Err(Untreated::Healthy(_))));
        let changing = propose(&tested(loaded(4, 50, true), loaded(250, 10, false)), false);
        assert!(changing.unwrap_err().to_string().contains("autorate"));
        assert_eq!(propose(&tested(None, None), true), Err(Untreated::Unloaded));
        let doubted = Tested {
            distrust: vec!["datagrams left late".into()],
            ..tested(loaded(160, 48, true), None)
        };
        let said = propose(&doubted, true).unwrap_err().to_string();
        assert!(said.contains("datagrams left late"), "{said}");
    }
}
