//! Whether a figure agrees with the paper.

use crate::claim::{Claim, ClaimKind};
use crate::evidence::Runs;
use crate::figure::{Figure, effect_run};
use crate::quantity::{Quantity, Spread};
use unbloat_units::named;

/// A change has the published sign if all repeats have it and it is this large; of two numbers in order, one is so much larger.
/// Less cannot be seen in a figure.
pub const VISIBLE_CHANGE_PERCENT: f64 = 2.0;

named! {
    /// A figure against its paper.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Verdict with ALL {
        /// All claims hold.
        Agrees = "agrees",
        /// Bounds, orders and signs hold, a value does not.
        ShapeAgrees = "shape agrees",
        /// A bound, an order or a sign does not hold, or there are only values and one does not hold.
        Differs = "differs",
        /// The paper gives no number and no order that could be checked.
        Drawn = "drawn",
        /// No run that a claim needs was possible with this clock.
        NotRun = "not run",
        /// There is nothing to make.
        NotMade = "not made",
    }
}

/// One claim against our runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub kind: ClaimKind,
    pub tests_analysis: bool,
    /// None: the runs do not have the quantity.
    pub ours: Option<Spread>,
    /// What an order compares with, in the order of the recipe.
    pub others: Vec<Spread>,
    /// None: a run that it needs was not possible.
    pub holds: Option<bool>,
}

/// What another value of an assumed parameter does.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub value: String,
    pub ours: Option<Spread>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub verdict: Verdict,
    /// One for each claim.
    pub claims: Vec<Judgement>,
    /// One list for each assumption; empty where no effect is shown.
    pub effects: Vec<Vec<Effect>>,
}

/// Judges a figure by its runs, each under its name in the recipe.
pub fn judge(figure: &Figure, evidence: &Runs<'_>) -> Judged {
    let claims: Vec<Judgement> = figure
        .claims
        .iter()
        .filter_map(|claim| judgement(claim, evidence))
        .collect();
    let fails = |claim: &Judgement| claim.holds == Some(false);
    let verdict = match () {
        () if figure.panels.is_empty() => Verdict::NotMade,
        () if evidence.is_empty() => Verdict::NotRun,
        () if claims.is_empty() => Verdict::Drawn,
        () if claims.iter().all(|claim| claim.holds.is_none()) => Verdict::NotRun,
        () if !claims.iter().any(fails) => Verdict::Agrees,
        () if has_shape(&claims) => Verdict::ShapeAgrees,
        () => Verdict::Differs,
    };
    let assumptions = figure.assumptions.iter().enumerate();
    let effects = assumptions.map(|(index, assumption)| {
        // The kernel runs none.
        let was_run = evidence.contains_key(&effect_run(index));
        let effect = assumption.effect.iter().filter(|_| was_run);
        effect
            .flat_map(|effect| {
                effect.values.iter().map(move |value| Effect {
                    value: value.clone(),
                    ours: varied(&effect.on, index, &effect.key, value).of(evidence, effect.unit),
                })
            })
            .collect()
    });
    Judged {
        verdict,
        effects: effects.collect(),
        claims,
    }
}

/// Whether only values fail, and something of the mechanism is no value and holds.
fn has_shape(claims: &[Judgement]) -> bool {
    let is_value = |claim: &Judgement| claim.kind == ClaimKind::Value && claim.ours.is_some();
    let mut failing = claims.iter().filter(|claim| claim.holds == Some(false));
    let mut holding = claims.iter().filter(|claim| claim.holds == Some(true));
    failing.all(is_value) && holding.any(|claim| !is_value(claim) && !claim.tests_analysis)
}

/// The quantity in the run where the assumption is varied.
fn varied(on: &Quantity, index: usize, key: &str, value: &str) -> Quantity {
    let mut varied = on.clone();
    varied.run = effect_run(index);
    varied.at.insert(key.to_owned(), value.to_owned());
    if let Some(other) = varied.over.as_mut().or(varied.change_from.as_mut())
        && let Some(at) = &mut other.at
    {
        at.insert(key.to_owned(), value.to_owned());
    }
    varied
}

fn judgement(claim: &Claim, evidence: &Runs<'_>) -> Option<Judgement> {
    let kind = claim.kind()?;
    let ours = claim.ours.of(evidence, claim.unit);
    let of = |quantities: &[Quantity]| -> Option<Vec<Spread>> {
        let spreads = quantities.iter().map(|one| one.of(evidence, claim.unit));
        spreads.collect()
    };
    let (more_than, less_than) = (of(&claim.more_than), of(&claim.less_than));
    let has_runs = claim
        .quantities()
        .all(|quantity| evidence.contains_key(&quantity.run));
    let holds = has_runs.then(|| {
        ours.is_some_and(|ours| match kind {
            ClaimKind::Value => claim.value.is_some_and(|value| ours.agrees_with(value)),
            ClaimKind::Sign => {
                let visible = match claim.ours.change_from {
                    Some(_) => VISIBLE_CHANGE_PERCENT,
                    None => 0.0,
                };
                match claim.above {
                    Some(_) => ours.low > 0.0 && ours.mean >= visible,
                    None => ours.high < 0.0 && ours.mean <= -visible,
                }
            }
            ClaimKind::Bound => {
                claim.above.is_none_or(|bound| ours.mean >= bound)
                    && claim.below.is_none_or(|bound| ours.mean <= bound)
            }
            ClaimKind::Order => {
                let all = |spreads: &Option<Vec<Spread>>, fits: fn(f64, f64) -> bool| {
                    spreads
                        .as_ref()
                        .is_some_and(|all| all.iter().all(|other| fits(ours.mean, other.mean)))
                };
                all(&more_than, is_visibly_more) && all(&less_than, |a, b| is_visibly_more(b, a))
            }
        })
    });
    let others = more_than.into_iter().chain(less_than).flatten();
    Some(Judgement {
        kind,
        tests_analysis: claim.tests_analysis,
        ours,
        holds,
        others: others.collect(),
    })
}

fn is_visibly_more(a: f64, b: f64) -> bool {
    a > b && a - b >= VISIBLE_CHANGE_PERCENT / 100.0 * b.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Evidence, EvidencePoint};
    use std::collections::BTreeMap;

    fn figure(claims: &str) -> Figure {
        let head = "label = \"Figure 1\"\ntitle = \"t\"\nplace = \"1\"\nshows = \"s\"\n[run.main]\nscenario = \"s.toml\"\n\
            [[panel]]\ntitle = \"p\"\nx = { label = \"x\" }\ny = { label = \"y\" }\n";
        toml::from_str(&format!("{head}{claims}")).unwrap()
    }

    /// Result `a.x` of three repeats: 8, 10 and 12; `a.y`: 20.
    fn evidence() -> Evidence {
        let runs = [8.0, 10.0, 12.0].map(|x| {
            let results = [("a.x", x), ("a.y", 20.0)];
            results.map(|(name, value)| (name.to_owned(), value)).into()
        });
        let point = EvidencePoint {
            runs: runs.to_vec(),
            ..EvidencePoint::default()
        };
        Evidence {
            points: vec![point],
            notes: Vec::new(),
        }
    }

    fn judged(claims: &str) -> Verdict {
        let runs = evidence();
        judge(
            &figure(claims),
            &BTreeMap::from([("main".to_owned(), &runs)]),
        )
        .verdict
    }

    fn verdict(claims: &[&str]) -> Verdict {
        let claims = claims.iter().map(|text| {
            format!(
                "[[claim]]\nsays = \"c\"\nours = {{ run = \"main\", result = \"a.x\" }}\n{text}\n"
            )
        });
        judged(&claims.collect::<String>())
    }

    #[test]
    fn a_value_agrees_within_the_tolerance_or_within_the_repeats() {
        // 10 is within 20 % of 12.5, not of 12.6; but 8 to 12 are within the repeats.
        assert_eq!(verdict(&["value = 12.4"]), Verdict::Agrees);
        assert_eq!(verdict(&["value = 12.6"]), Verdict::Differs);
        assert_eq!(verdict(&["value = 8.0"]), Verdict::Agrees);
        assert_eq!(verdict(&["value = 7.9"]), Verdict::Differs);
    }

    #[test]
    fn a_change_has_a_sign_if_all_repeats_have_it_and_it_can_be_seen() {
        // a.x is 8, 10 and 12 in the repeats.
        let sign = |to: f64, bound: &str| {
            let mut runs = evidence();
            for run in &mut runs.points[0].runs {
                run.insert("a.y".to_owned(), to);
            }
            let claim = format!(
                "[[claim]]\nsays = \"c\"\nours = {{ run = \"main\", result = \"a.x\", change_from = {{ result = \"a.y\" }} }}\nunit = \"%\"\n{bound} = 0.0\n"
            );
            let runs = BTreeMap::from([("main".to_owned(), &runs)]);
            let judged = judge(&figure(&claim), &runs);
            assert_eq!(judged.claims[0].kind, ClaimKind::Sign);
            judged.claims[0].holds == Some(true)
        };
        assert!(sign(7.0, "above") && !sign(7.0, "below"));
        assert!(!sign(9.0, "above"), "one repeat is less");
        assert!(sign(13.0, "below") && !sign(13.0, "above"));
        assert!(!sign(11.0, "below"), "one repeat is more");
        let level = "above = 0.0";
        let bound = "[[claim]]\nsays = \"c\"\nours = { run = \"main\", result = \"a.x\" }\n";
        let bound: Claim = figure(&format!("{bound}{level}\n")).claims.remove(0);
        assert_eq!(bound.kind(), Some(ClaimKind::Bound), "no change");
    }

    #[test]
    fn what_fails_decides_the_verdict() {
        let (holds, fails) = ("above = 5.0", "below = 5.0");
        let order = "less_than = [{ run = \"main\", result = \"a.y\" }]";
        let reverse = "more_than = [{ run = \"main\", result = \"a.y\" }]";
        assert_eq!(verdict(&[holds, order]), Verdict::Agrees);
        assert_eq!(verdict(&[holds, "value = 100.0"]), Verdict::ShapeAgrees);
        assert_eq!(verdict(&[fails, "value = 10.0"]), Verdict::Differs);
        let of_analysis = "above = 5.0\ntests_analysis = true";
        assert_eq!(verdict(&[of_analysis, "value = 100.0"]), Verdict::Differs);
        assert_eq!(verdict(&[reverse]), Verdict::Differs);
        assert_eq!(verdict(&[]), Verdict::Drawn);
    }

    #[test]
    fn an_order_that_no_figure_could_show_is_none() {
        let order = |than: f64, by: &str| {
            let mut runs = evidence();
            for run in &mut runs.points[0].runs {
                run.insert("a.y".to_owned(), than);
            }
            let ours = "[[claim]]\nsays = \"c\"\nours = { run = \"main\", result = \"a.x\" }\n";
            let claim = format!("{ours}{by} = [{{ run = \"main\", result = \"a.y\" }}]\n");
            let runs = BTreeMap::from([("main".to_owned(), &runs)]);
            judge(&figure(&claim), &runs).claims[0].holds == Some(true)
        };
        // The mean of a.x is 10.
        assert!(order(9.8, "more_than") && !order(9.9, "more_than"));
        assert!(order(10.3, "less_than") && !order(10.1, "less_than"));
        assert!(order(-9.0, "more_than") && order(0.0, "more_than"));
    }

    #[test]
    fn a_figure_whose_claims_had_no_run_is_not_run() {
        let claim = "[run.other]\nscenario = \"s.toml\"\n\
            [[claim]]\nsays = \"c\"\nours = { run = \"other\", result = \"a.x\" }\nvalue = 1.0\n";
        assert_eq!(judged(claim), Verdict::NotRun);
    }

    #[test]
    fn a_quantity_that_no_run_has_is_no_agreement() {
        let claim =
            "[[claim]]\nsays = \"c\"\nours = { run = \"main\", result = \"a.z\" }\nvalue = 1.0\n";
        assert_eq!(judged(claim), Verdict::Differs);
    }
}
