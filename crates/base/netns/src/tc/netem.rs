//! Delay, jitter, loss and rate of a path (include/uapi/linux/pkt_sched.h; spelling as in q_netem.c).

use super::link::Framing;
use super::value;
use unbloat_os::netlink::Attributes;

const RATE: u16 = 6;
const RATE64: u16 = 8;
const LATENCY64: u16 = 10;
const JITTER64: u16 = 11;
/// Packets that may be on their way, unless said otherwise; the kernel's own 1000 drop in silence.
const LIMIT: u32 = 10_000_000;

/// A path: packets are transmitted at the rate, if there is one, and are delayed then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Netem {
    pub delay_ns: u64,
    pub jitter_ns: u64,
    /// The share of packets that is lost.
    pub loss: f64,
    pub rate_bps: Option<u64>,
    pub framing: Framing,
    pub limit: u32,
}

impl Default for Netem {
    /// Counts Ethernet frames, as `tc` does.
    fn default() -> Netem {
        Netem {
            delay_ns: 0,
            jitter_ns: 0,
            loss: 0.0,
            rate_bps: None,
            framing: Framing(14),
            limit: LIMIT,
        }
    }
}

impl Netem {
    /// `delay TIME [JITTER]`, `loss SHARE`, `rate RATE`, `limit PACKETS`.
    pub(super) fn parse(words: &[&str]) -> Result<Netem, String> {
        let mut netem = Netem::default();
        let mut rest = words.iter().copied().peekable();
        while let Some(word) = rest.next() {
            let argument = rest
                .next()
                .ok_or_else(|| format!("\"{word}\" needs a value"))?;
            let bad = || format!("\"{argument}\" is not a valid value of \"{word}\"");
            match word {
                "delay" => {
                    netem.delay_ns = nanos(argument).ok_or_else(bad)?;
                    if let Some(jitter) = rest.peek().and_then(|next| nanos(next)) {
                        netem.jitter_ns = jitter;
                        rest.next();
                    }
                }
                "loss" => netem.loss = value::share(argument).ok_or_else(bad)?,
                "rate" => netem.rate_bps = Some(value::bits_per_second(argument).ok_or_else(bad)?),
                "limit" => netem.limit = value::count(argument).ok_or_else(bad)?,
                _ => {
                    let known = "delay, loss, rate, limit";
                    return Err(format!(
                        "netem has no option \"{word}\"; the options are {known}"
                    ));
                }
            }
        }
        Ok(netem)
    }

    /// The value of `TCA_OPTIONS`.
    pub fn options(&self) -> Vec<u8> {
        let loss = (self.loss * f64::from(u32::MAX)) as u32;
        let words = [0, self.limit, loss, 0, 0, 0];
        let mut options: Vec<u8> = words.iter().flat_map(|w: &u32| w.to_ne_bytes()).collect();
        let mut list = Attributes::new().u64(LATENCY64, self.delay_ns);
        if self.jitter_ns > 0 {
            list = list.u64(JITTER64, self.jitter_ns);
        }
        if let Some(rate_bps) = self.rate_bps {
            let rate = rate_bps / 8;
            let in_32_bits = u32::try_from(rate).unwrap_or(u32::MAX);
            let mut parameters = in_32_bits.to_ne_bytes().to_vec();
            parameters.extend_from_slice(&self.framing.beyond_ethernet().to_ne_bytes());
            parameters.extend_from_slice(&[0; 8]);
            list = list.bytes(RATE, &parameters);
            if u32::try_from(rate).is_err() {
                list = list.u64(RATE64, rate);
            }
        }
        options.extend_from_slice(&list.to_bytes());
        options
    }
}

fn nanos(text: &str) -> Option<u64> {
    Some(u64::from(value::micros(text)?) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Netem, String> {
        Netem::parse(&words.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn words_say_what_happens_on_the_way() {
        let netem = parse("delay 20ms 2ms loss 1% rate 10mbit").unwrap();
        let expected = Netem {
            delay_ns: 20_000_000,
            jitter_ns: 2_000_000,
            loss: 0.01,
            rate_bps: Some(10_000_000),
            ..Netem::default()
        };
        assert_eq!(netem, expected);
        assert_eq!(parse("delay 20ms loss 0").unwrap().jitter_ns, 0);
    }

    #[test]
    fn other_words_are_refused() {
        for (words, problem) in [
            ("delay", "needs"),
            ("delay x", "not a valid value"),
            ("fly 1", "no option"),
        ] {
            let message = parse(words).unwrap_err();
            assert!(message.contains(problem), "{message}");
        }
    }
}
