//! Two tools' values of one quantity, direction by direction.

use super::flow::Flows;
use super::quantity::{Defined, Quantity, Summary};
use super::recount::Recounts;

/// How far another tool and unbloat agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison {
    /// Directions of which at least one of the two says something other than zero.
    pub directions: u64,
    pub equal: u64,
    /// Different, and each is what the tool's definition gives.
    pub explained: u64,
}

/// `defined` picks the other tool's value.
pub fn compare(
    ours: &Flows,
    theirs: &Flows,
    quantity: &Quantity,
    recounts: &Recounts,
    defined: fn(&Defined) -> Option<f64>,
) -> Comparison {
    let mut comparison = Comparison::default();
    for (key, connection) in ours {
        let Some(other) = theirs.get(key) else {
            continue;
        };
        for i in 0..2 {
            let (a, b) = ((quantity.of)(&connection[i]), (quantity.of)(&other[i]));
            if a.unwrap_or(0.0) == 0.0 && b.unwrap_or(0.0) == 0.0 {
                continue;
            }
            comparison.directions += 1;
            let is_same = |x: Option<f64>, y: Option<f64>| {
                let apart = x.zip(y).map(|(x, y)| (x - y).abs());
                apart.is_some_and(|apart| apart <= quantity.tolerance) || x.is_none() && y.is_none()
            };
            let by_definition = || {
                let recount = recounts.get(key).map(|halves| &halves[i]);
                let defined_both = recount.zip(quantity.defined).map(|(r, of)| of(r));
                defined_both.is_some_and(|d| is_same(a, d.unbloat) && is_same(b, defined(&d)))
            };
            if is_same(a, b) {
                comparison.equal += 1;
            } else if by_definition() {
                comparison.explained += 1;
            }
        }
    }
    comparison
}

/// The total of a quantity, or its mean over the directions that have it; `None` if none has.
pub fn summary(flows: &Flows, quantity: &Quantity) -> Option<f64> {
    let directions = flows.values().flatten();
    let values: Vec<f64> = directions.filter_map(|d| (quantity.of)(d)).collect();
    let sum: f64 = values.iter().sum();
    match quantity.summary {
        Summary::Total => Some(sum),
        Summary::Mean => (!values.is_empty()).then(|| sum / values.len() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::super::flow::{Direction, Keys};
    use super::super::quantity::QUANTITIES;
    use super::*;

    fn flows(retransmitted: [u64; 2]) -> Flows {
        let end = |port| std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
        let (key, _) = Keys::default().next(end(1), end(2));
        let direction = |n| Direction {
            retransmitted: n,
            ..Direction::default()
        };
        Flows::from([(key, retransmitted.map(direction))])
    }

    #[test]
    fn directions_of_which_both_say_nothing_do_not_count_as_agreement() {
        let quantity = QUANTITIES
            .iter()
            .find(|q| q.name == "retransmitted packets");
        let quantity = quantity.expect("one of the quantities");
        let same = compare(
            &flows([3, 0]),
            &flows([3, 0]),
            quantity,
            &Recounts::new(),
            |d| d.tcptrace,
        );
        assert_eq!((same.directions, same.equal), (1, 1));
        let other = compare(
            &flows([3, 0]),
            &flows([3, 2]),
            quantity,
            &Recounts::new(),
            |d| d.tcptrace,
        );
        assert_eq!((other.directions, other.equal), (2, 1));
        assert_eq!(summary(&flows([3, 4]), quantity), Some(7.0));
    }
}
