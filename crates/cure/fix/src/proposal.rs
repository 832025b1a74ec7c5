//! What of a test's advice is carried out.

use crate::judgement::PAYS;
use unbloat_responsiveness::{Advice, Cure, Site, Verdict};
use unbloat_units::{Both, Direction, Rate};

/// What to change, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// Rates to shape to, down and up.
    pub shaped: Both<Option<Rate>>,
    /// Hold back what this host's downloads may have on their way.
    pub holds_window: bool,
    /// Directions, down and up, that a shaper whose rates follow the line is for; it shapes both.
    pub followed: Both<bool>,
    /// A sentence for each.
    pub because: Vec<String>,
    /// Advice that only a person can carry out.
    pub left: Vec<String>,
}

/// Where the shaper goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    ThisHost,
    /// It cannot follow the line from here, and does not reach queues in front of the router.
    Router,
}

/// Why nothing is proposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untreated {
    #[error("Nothing to fix: {0}.")]
    Healthy(String),
    #[error("Nothing was changed, because the test is not valid: {0}. Test again.")]
    Distrusted(String),
    #[error("Nothing was changed, because `fix` cannot apply the remedy. {0}")]
    OutOfReach(String),
    #[error("Nothing was changed, because no delay was measured under load. {0}")]
    Unmeasured(String),
}

/// Takes of the advice, in its order, what can be carried out: for each direction the first.
pub fn propose(verdict: &Verdict, reach: Reach) -> Result<Proposal, Untreated> {
    if let Some(reason) = verdict.fatal().next() {
        return Err(Untreated::Distrusted(reason.to_owned()));
    }
    let mut proposal = Proposal::default();
    for advice in &verdict.advice {
        match advice.cure {
            Cure::Nothing => return Err(Untreated::Healthy(advice.evidence.join(", "))),
            Cure::Repeat | Cure::MeasureDelay => {
                return Err(Untreated::Unmeasured(advice.text.clone()));
            }
            _ => proposal.take(advice, reach),
        }
    }
    match proposal.because.is_empty() {
        false => Ok(proposal),
        true => Err(Untreated::OutOfReach(proposal.left.join(" "))),
    }
}

impl Proposal {
    pub fn treats(&self, way: Direction) -> bool {
        self.shaped[way].is_some()
            || self.followed[way]
            || (way == Direction::Down && self.holds_window)
    }

    /// Without the treatment of the other directions. A shaper that follows the line treats both.
    pub fn only(&self, stays: Both<bool>) -> Proposal {
        Proposal {
            shaped: Both::of(|way| self.shaped[way].filter(|_| stays[way])),
            holds_window: self.holds_window && stays.down,
            ..self.clone()
        }
    }

    /// With shapers nearer to the line's rate, for directions that lost these shares of their throughput. None where no rate would change by much.
    pub fn nearer(&self, lost: Both<Option<f64>>, before: &Verdict) -> Option<Proposal> {
        /// Of the line's rate: nearer, and the queue of the line is no longer kept empty.
        const NEAREST: f64 = 0.98;
        /// What is to be lost: less than what may be, by what two tests differ.
        const AIM: f64 = 0.75 * PAYS;
        let nearer = Both::of(|way| {
            let rate = self.shaped[way]?.as_bps_f64();
            let wanted = rate * (1.0 - AIM) / (1.0 - lost[way]?);
            let most = before.of(way)?.line.as_bps_f64() * NEAREST;
            let kbps = (wanted.min(most) / 1e3).round();
            (kbps * 1e3 > rate * 1.01).then(|| Rate::kbps(kbps as u64))
        });
        (nearer != Both::default()).then(|| Proposal {
            shaped: Both::of(|way| nearer[way].or(self.shaped[way])),
            ..self.clone()
        })
    }

    fn take(&mut self, advice: &Advice, reach: Reach) {
        let untreated: Vec<Direction> = advice
            .directions
            .iter()
            .copied()
            .filter(|way| !self.treats(*way))
            .collect();
        if untreated.is_empty() {
            return;
        }
        match (advice.cure, reach) {
            (
                Cure::Shaper {
                    site: Site::ThisHost,
                    ..
                },
                Reach::Router,
            )
            | (Cure::AdaptiveShaper { .. }, Reach::Router) => return self.leave(advice),
            (Cure::Shaper { down, up, .. }, _) => {
                for way in untreated {
                    self.shaped[way] = Both::new(down, up)[way];
                }
            }
            (Cure::AdaptiveShaper { .. }, Reach::ThisHost) => {
                for way in untreated {
                    self.followed[way] = true;
                }
            }
            (Cure::ReceiveWindow, _) => self.holds_window = true,
            _ => return self.leave(advice),
        }
        let action = advice.cure.action().unwrap_or_default();
        self.because
            .push(format!("{}: {action}", advice.evidence.join("; ")));
    }

    fn leave(&mut self, advice: &Advice) {
        self.left.push(advice.text.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{doubted, loaded, tested};
    use unbloat_responsiveness::{LoadedDirection, Located, Place};

    const HERE: Reach = Reach::ThisHost;

    fn proposed(loads: Vec<LoadedDirection>, reach: Reach) -> Result<Proposal, Untreated> {
        propose(&tested(loads).verdict, reach)
    }

    fn changing(load: LoadedDirection) -> LoadedDirection {
        LoadedDirection {
            is_steady: false,
            ..load
        }
    }

    fn at(place: Place, load: LoadedDirection) -> LoadedDirection {
        let between = "between hop 1 and hop 2".to_owned();
        LoadedDirection {
            located: Some(Located { place, between }),
            ..load
        }
    }

    fn down(added_ms: i64, mbps: u64) -> LoadedDirection {
        loaded(Direction::Down, added_ms, mbps)
    }

    fn up(added_ms: i64, mbps: u64) -> LoadedDirection {
        loaded(Direction::Up, added_ms, mbps)
    }

    #[test]
    fn each_steady_direction_with_a_queue_is_shaped_below_what_it_carried() {
        let one = proposed(vec![down(160, 48), up(12, 10)], HERE).unwrap();
        assert_eq!(one.shaped, Both::new(Some(Rate::kbps(44_751)), None));
        let both = proposed(vec![down(160, 48), up(240, 10)], HERE).unwrap();
        assert_eq!(both.shaped.up, Some(Rate::kbps(9_841)));
        assert!(!both.holds_window);
    }

    #[test]
    fn what_is_proposed_is_what_was_advised() {
        let tested = tested(vec![down(160, 48), up(240, 10)]);
        let proposal = propose(&tested.verdict, HERE).unwrap();
        let Cure::Shaper { down, up, .. } = tested.verdict.advice[0].cure else {
            panic!("{:?}", tested.verdict.advice);
        };
        assert_eq!(proposal.shaped, Both::new(down, up));
    }

    #[test]
    fn downloads_over_a_changing_path_are_held_by_their_window() {
        let proposal = proposed(vec![changing(down(4_000, 3)), up(9, 10)], HERE).unwrap();
        assert!(proposal.holds_window);
        assert_eq!(
            (proposal.shaped, proposal.followed),
            (Both::default(), Both::default())
        );
    }

    #[test]
    fn an_upload_over_a_changing_path_is_followed_with_its_download_where_that_can_be() {
        let both = || vec![changing(down(4_000, 3)), changing(up(250, 10))];
        let proposal = proposed(both(), HERE).unwrap();
        assert_eq!(proposal.followed, Both::new(true, true));
        assert!(!proposal.holds_window && proposal.shaped == Both::default());
        let from_afar = proposed(both(), Reach::Router).unwrap();
        assert!(from_afar.holds_window && from_afar.followed == Both::default());
        assert!(from_afar.left[0].contains("autorate"), "{from_afar:?}");
    }

    #[test]
    fn queues_out_of_reach_are_left_with_the_reason() {
        let beyond = proposed(vec![at(Place::Beyond, up(240, 10))], HERE).unwrap_err();
        assert!(
            beyond.to_string().contains("beyond the access line"),
            "{beyond}"
        );
        // Wi-Fi: this host's shaper reaches its own traffic, the router's reaches nothing.
        let wifi = || vec![at(Place::LocalNetwork, down(240, 48))];
        assert_eq!(
            proposed(wifi(), HERE).unwrap().shaped.down,
            Some(Rate::kbps(44_751))
        );
        let router = proposed(wifi(), Reach::Router).unwrap_err();
        assert!(router.to_string().contains("access point"), "{router}");
        let mixed = vec![
            at(Place::Beyond, down(240, 48)),
            at(Place::AccessLine, up(240, 10)),
        ];
        let mixed = proposed(mixed, HERE).unwrap();
        assert_eq!(mixed.shaped, Both::new(None, Some(Rate::kbps(9_841))));
        assert!(mixed.left[0].contains("Nothing on this side"), "{mixed:?}");
    }

    #[test]
    fn where_nothing_helps_it_is_said_why() {
        let healthy = proposed(vec![down(4, 50), up(9, 10)], HERE);
        assert!(matches!(healthy, Err(Untreated::Healthy(_))));
        let changing = proposed(vec![down(4, 50), changing(up(250, 10))], Reach::Router);
        assert!(changing.unwrap_err().to_string().contains("autorate"));
        let unmeasured = proposed(Vec::new(), HERE).unwrap_err().to_string();
        assert!(unmeasured.contains("--echo HOST:PORT"), "{unmeasured}");
        let doubted = doubted(vec![down(160, 48)], &["datagrams left late"]);
        let said = propose(&doubted.verdict, HERE).unwrap_err().to_string();
        assert!(said.contains("datagrams left late"), "{said}");
    }
}
