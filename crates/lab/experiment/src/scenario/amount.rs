//! How much a buffer holds, in the terms in which people think of it.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::str::FromStr;
use unbloat_params::Limit;
use unbloat_units::{Bytes, Delta, Rate};

/// A size of a buffer: "1 MB", "100 packets", "200 ms" (at the link's rate) or "1.5 BDP" (rate times the path's base RTT).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Bytes(Bytes),
    Packets(u32),
    Time(Delta),
    Bdp(f64),
}

impl Amount {
    /// The limit on a link of that rate, on a path of that round-trip time without queueing. Never below one full packet of 1,500 bytes.
    pub fn resolve(self, rate: Rate, base_rtt: Delta) -> Limit {
        let at_least_one = |bytes: Bytes| Limit::Bytes(bytes.max(Bytes::new(1_500)));
        match self {
            Amount::Bytes(bytes) => Limit::Bytes(bytes),
            Amount::Packets(packets) => Limit::Packets(packets),
            Amount::Time(time) => at_least_one(rate * time),
            Amount::Bdp(factor) => {
                let bdp = (rate * base_rtt).as_u64() as f64;
                at_least_one(Bytes::new((bdp * factor).round() as u64))
            }
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Amount, String> {
        let number = |unit: &str| text.trim().strip_suffix(unit).map(str::trim_end);
        if let Some(bdp) = number("BDP") {
            let factor = bdp
                .parse()
                .ok()
                .filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
            return factor.map(Amount::Bdp).ok_or_else(|| wanted(text));
        }
        if let Some(packets) = number("packets").or_else(|| number("packet")) {
            return packets
                .parse()
                .ok()
                .filter(|count| *count > 0)
                .map(Amount::Packets)
                .ok_or_else(|| wanted(text));
        }
        let bytes = text.parse().map(Amount::Bytes);
        bytes
            .or_else(|_| text.parse().map(Amount::Time))
            .map_err(|_| wanted(text))
    }
}

fn wanted(text: &str) -> String {
    format!(
        "{text:?} is not a buffer size; write it like \"1 MB\", \"100 packets\", \"200 ms\" or \"1.5 BDP\""
    )
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size like \"1 MB\", \"100 packets\", \"200 ms\" or \"1.5 BDP\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_become_limits_by_rate_and_base_rtt() {
        let limit = |text: &str| {
            text.parse::<Amount>()
                .unwrap()
                .resolve(Rate::mbps(10), Delta::ms(100))
        };
        assert_eq!(limit("1 MB"), Limit::Bytes(Bytes::new(1_000_000)));
        assert_eq!(limit("100 packets"), Limit::Packets(100));
        assert_eq!(limit("200 ms"), Limit::Bytes(Bytes::new(250_000)));
        assert_eq!(limit("1.5 BDP"), Limit::Bytes(Bytes::new(187_500)));
        assert_eq!(limit("0.001 BDP"), Limit::Bytes(Bytes::new(1_500)));
    }

    #[test]
    fn what_is_no_amount_is_refused_with_examples() {
        for text in ["1.5", "-1 BDP", "0 packets", "x BDP", "1 furlong"] {
            let error = text.parse::<Amount>().unwrap_err();
            assert!(error.contains("1.5 BDP"), "{error}");
        }
    }
}
