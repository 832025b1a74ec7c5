//! How much the elements of a hop can carry.

use crate::device::modem;
use crate::registry::{AnyElement, Config};
use fastrand::Rng;
use unbloat_units::{Bytes, Time};

/// How much a hop that began at `start` can carry from one point to a later one: as much as its narrowest element of which that is
/// known. `rng` is what the hop's path would be built with, since a line may change its rate at random. None where no element limits
/// it, and where it depends on what was sent before (token buckets, radios).
pub fn carriable(
    hop: &[Config],
    start: Time,
    (from, until): (Time, Time),
    rng: &mut Rng,
) -> Option<Bytes> {
    let elements = hop.iter().map(|config| (config, config.build(start, rng)));
    let limits = elements.filter_map(|(config, built)| match (config, built) {
        (Config::Bottleneck(params), AnyElement::Bottleneck(one)) => {
            let settled = params.service.carried(start, from, until);
            settled.or_else(|| one.service().carried(from, until))
        }
        (Config::Device(params), _) => match &params.modem {
            modem::Config::Line(line) => line.service.carried(start, from, until),
            modem::Config::LteUplink(_) => None,
        },
        _ => None,
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::Params;
    use crate::element::delay;
    use crate::seam::{Element, Output};
    use crate::service::{self, constant, markov};
    use crate::testing::at_us;
    use unbloat_qdisc::{Event, FlowHash, IpLen, Observer, Packet};
    use unbloat_units::{Delta, Framing, Rate};

    fn line(service: service::Config) -> Config {
        Config::Bottleneck(Params {
            queue: unbloat_qdisc::Config::named("droptail").unwrap(),
            service,
            framing: Framing::default(),
        })
    }

    fn at_rate(mbps: u64) -> Config {
        let rate = Rate::mbps(mbps);
        line(service::Config::Constant(constant::Params { rate }))
    }

    #[test]
    fn the_narrowest_element_counts() {
        let delay = Config::Delay(delay::Params {
            delay: Delta::ms(1),
        });
        let span = (at_us(0), at_us(1_000_000));
        let of = |hop: &[Config]| carriable(hop, at_us(0), span, &mut Rng::with_seed(1));
        assert_eq!(
            of(&[at_rate(8), delay.clone(), at_rate(16)]),
            Some(Bytes::new(1_000_000))
        );
        assert_eq!(of(&[delay]), None);
    }

    /// Counts what leaves.
    struct Counter(u64);

    impl Observer for Counter {
        fn event(&mut self, _now: Time, _event: Event) {}
    }

    impl Output for Counter {
        fn deliver(&mut self, _at: Time, packet: Packet) {
            self.0 += u64::from(packet.len.as_u32());
        }
    }

    /// A line that is kept full for ten seconds carries just that, by its own chain of rates.
    #[test]
    fn a_random_line_carries_what_it_can() {
        let state = |mbps, ms| markov::State {
            rate: Rate::mbps(mbps),
            mean_stay: Delta::ms(ms),
            next: Vec::new(),
        };
        let states = vec![state(20, 500), state(3, 300), state(0, 100)];
        let hop = [line(service::Config::Markov(markov::Params { states }))];
        for seed in 0..5 {
            let end = at_us(10_000_000);
            let can = carriable(&hop, at_us(0), (at_us(0), end), &mut Rng::with_seed(seed));
            let mut path = crate::Path::build(&hop, at_us(0), &mut Rng::with_seed(seed));
            let mut out = Counter(0);
            for ms in 0..10_000 {
                while path.backlog().packets < 100 {
                    let packet = Packet::new(0, IpLen::new(500), FlowHash(0));
                    path.accept(at_us(ms * 1_000), packet, &mut out);
                }
                path.advance(at_us(ms * 1_000), &mut out);
            }
            path.advance(end, &mut out);
            let can = can.unwrap().as_u64();
            assert!(out.0 <= can && can < out.0 + 500, "{} of {can}", out.0);
        }
    }
}
