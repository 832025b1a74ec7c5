//! Verdicts in words.

use crate::evidence::Phase;
use crate::layer::Layer;
use crate::verdict::{Confidence, Finding, Node, Place, Reason, Step, Verdict};
use std::fmt;

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::ThisHost => f.write_str("this host"),
            Node::Peer(address) => write!(f, "the peer in your network ({address})"),
            Node::Hop(1, address) => write!(f, "hop 1, your gateway ({address})"),
            Node::Hop(number, address) => write!(f, "hop {number} ({address})"),
            Node::FarEnd(number, address) => write!(f, "the far end, hop {number} ({address})"),
        }
    }
}

impl Node {
    fn number(&self) -> Option<u8> {
        match *self {
            Node::ThisHost => Some(0),
            Node::Peer(_) => None,
            Node::Hop(number, _) | Node::FarEnd(number, _) => Some(number),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "between {} and {}", self.from, self.to)
    }
}

impl Place {
    /// Whether no silent hop lies in between.
    pub fn is_exact(&self) -> bool {
        match (self.from.number(), self.to.number()) {
            (Some(from), Some(to)) => from + 1 == to,
            _ => false,
        }
    }

    /// What it is to who asked a peer.
    fn meaning(&self) -> Option<&'static str> {
        match (self.from, self.to) {
            (Node::ThisHost, Node::Peer(_)) => Some("this host's own link, Wi-Fi or cable"),
            (Node::Peer(_), _) => Some("behind this host's own link"),
            _ => None,
        }
    }

    /// Who holds the queue when packets go in one direction only.
    pub fn sender(&self, load: Phase) -> Option<Node> {
        match load {
            _ if !self.is_exact() => None,
            Phase::Up => Some(self.from),
            Phase::Down => Some(self.to),
            Phase::Idle | Phase::Both => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step {
            added, low, high, ..
        } = self;
        let ms = |delta: &unbloat_units::Delta| delta.as_ms();
        write!(f, "{:.1} ms ({:.1} to {:.1})", ms(added), ms(low), ms(high))
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Socket => "in a socket's buffer",
            Layer::Qdisc => "in the queue discipline of its device (tc)",
            Layer::Driver => "in its driver's ring, below the queue discipline",
            Layer::Below => "below its driver: in the device's firmware or on its link",
            Layer::DriverOrBelow => "below its queue discipline: in driver, firmware or link",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoAnswers => f.write_str("no hop answered often enough, idle and under load"),
            Reason::FarEndSilent { at_most, until } => write!(
                f,
                "load adds at most {:.1} ms up to {until}, but the far end did not answer, so a queue behind that node would not be seen",
                at_most.as_ms()
            ),
            Reason::RouteChanged { hops } => {
                write!(
                    f,
                    "the route has changed: {hops} hops have other addresses under load"
                )
            }
            Reason::Undecided {
                added,
                first,
                first_share,
                second,
                second_share,
            } => write!(
                f,
                "{:.1} ms are added, {first} ({:.0} %) or {second} ({:.0} %)",
                added.as_ms(),
                first_share * 100.0,
                second_share * 100.0
            ),
            Reason::Noise { added, low, high } => write!(
                f,
                "{:.1} ms ({:.1} to {:.1}) are added in all: no more than the noise at a hop",
                added.as_ms(),
                low.as_ms(),
                high.as_ms()
            ),
        }
    }
}

fn during(load: Phase) -> &'static str {
    match load {
        Phase::Idle => "When idle",
        Phase::Down => "During download",
        Phase::Up => "During upload",
        Phase::Both => "During download and upload at once",
    }
}

/// One line for the finding, one for each further place.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let during = during(self.load);
        match &self.finding {
            Finding::NoQueue { at_most, until } => write!(
                f,
                "{during}: no queue; load adds at most {:.1} ms up to {until}",
                at_most.as_ms()
            ),
            Finding::Inconclusive(reason) => write!(f, "{during}: inconclusive; {reason}"),
            Finding::Queue {
                step,
                confidence,
                layer,
                others,
                ..
            } => {
                let sure = match confidence {
                    Confidence::Certain => "",
                    Confidence::Likely => " probably",
                };
                write!(f, "{during}: the queue is{sure} {}", step.place)?;
                if let Some(meaning) = step.place.meaning() {
                    write!(f, ": {meaning}")?;
                }
                if let Some(sender) = step.place.sender(self.load) {
                    write!(f, "; {sender} holds it")?;
                }
                if let Some(layer) = layer {
                    write!(f, ", {layer}")?;
                }
                write!(f, ". It adds {step}")?;
                let mut others = others.iter();
                others.try_for_each(|other| write!(f, "\n  also {}: {other}", other.place))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use unbloat_units::Delta;

    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn queue(from: Node, to: Node, load: Phase, layer: Option<Layer>) -> String {
        let step = Step {
            place: Place { from, to },
            added: Delta::us(80_040),
            low: Delta::ms(78),
            high: Delta::ms(83),
        };
        let finding = Finding::Queue {
            step,
            confidence: Confidence::Certain,
            agreement: 1.0,
            layer,
            others: Vec::new(),
        };
        let verdict = Verdict {
            load,
            finding,
            hops: Vec::new(),
        };
        verdict.to_string()
    }

    #[test]
    fn the_one_who_sends_into_the_queue_holds_it() {
        let (first, second) = (Node::Hop(1, ADDRESS), Node::Hop(2, ADDRESS));
        assert_eq!(
            queue(first, second, Phase::Up, None),
            "During upload: the queue is between hop 1, your gateway (10.0.0.1) and hop 2 (10.0.0.1); \
             hop 1, your gateway (10.0.0.1) holds it. It adds 80.0 ms (78.0 to 83.0)"
        );
        let down = queue(first, second, Phase::Down, None);
        assert!(down.contains("; hop 2 (10.0.0.1) holds it"), "{down}");
        let both = queue(first, second, Phase::Both, None);
        assert!(!both.contains("holds"), "{both}");
    }

    #[test]
    fn a_peer_tells_the_own_link_from_the_access_line() {
        let peer = Node::Peer(ADDRESS);
        let own = queue(Node::ThisHost, peer, Phase::Down, None);
        assert!(
            own.contains("(10.0.0.1): this host's own link, Wi-Fi or cable. It adds"),
            "{own}"
        );
        let line = queue(peer, Node::FarEnd(2, ADDRESS), Phase::Down, None);
        assert!(
            line.contains("): behind this host's own link. It adds"),
            "{line}"
        );
    }

    #[test]
    fn this_host_is_told_its_layer_and_silence_leaves_the_holder_open() {
        let own = queue(
            Node::ThisHost,
            Node::Hop(1, ADDRESS),
            Phase::Up,
            Some(Layer::Qdisc),
        );
        assert!(
            own.contains("this host holds it, in the queue discipline"),
            "{own}"
        );
        let silent = queue(
            Node::Hop(2, ADDRESS),
            Node::Hop(4, ADDRESS),
            Phase::Up,
            None,
        );
        assert!(!silent.contains("holds"), "{silent}");
    }
}
