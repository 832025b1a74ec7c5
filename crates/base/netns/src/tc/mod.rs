//! Queue disciplines in the words of `tc`, as the kernel is told of them: without `tc`, so that nothing of
//! the machine's programs is needed.

mod link;
mod netem;
mod plain;
mod red;
mod value;
mod words;

use crate::error::BedError;
pub(crate) use link::{ETHERNET_HEADER, one_packet};
pub use link::{Framing, htb, htb_class, size_table};
pub use netem::Netem;

/// Disciplines that can be said in words.
pub(crate) const KINDS: [&str; 11] = [
    "pfifo", "bfifo", "codel", "fq_codel", "pie", "red", "fq", "cake", "tbf", "netem", "noqueue",
];

/// One discipline with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discipline {
    pub kind: &'static str,
    /// The value of `TCA_OPTIONS`.
    pub options: Vec<u8>,
    /// Whether it stands at the root, for it holds a rate by itself or is the path.
    pub shapes: bool,
}

impl Discipline {
    /// Reads `fq_codel limit 1000 ecn`. Cake is given the rate unless the words have a bandwidth, and
    /// the framing unless they say what to count.
    pub fn parse(queue: &str, rate_bps: u64, framing: Framing) -> Result<Discipline, BedError> {
        let words: Vec<_> = queue.split_whitespace().collect();
        let (name, rest) = words.split_first().unwrap_or((&"", &[]));
        let read = match *name {
            "pfifo" => link::fifo(rest, value::count).map(|o| ("pfifo", o, false)),
            "bfifo" => link::fifo(rest, value::bytes).map(|o| ("bfifo", o, false)),
            "codel" => plain::options(words::CODEL, rest).map(|o| ("codel", o, false)),
            "fq_codel" => plain::options(words::FQ_CODEL, rest).map(|o| ("fq_codel", o, false)),
            "pie" => plain::options(words::PIE, rest).map(|o| ("pie", o, false)),
            "fq" => plain::options(words::FQ, rest).map(|o| ("fq", o, false)),
            "red" => red::options(rest).map(|o| ("red", o, false)),
            "cake" => plain::cake(rest, rate_bps, framing).map(|o| ("cake", o, true)),
            "tbf" => link::tbf(rest).map(|o| ("tbf", o, true)),
            "netem" => netem::Netem::parse(rest).map(|n| ("netem", n.options(), true)),
            "noqueue" => plain::options(&[], rest).map(|o| ("noqueue", o, false)),
            _ => Err(format!(
                "unknown queue discipline; use one of {}",
                KINDS.join(", ")
            )),
        };
        let (kind, options, shapes) = read.map_err(|problem| BedError::Queue {
            queue: queue.to_owned(),
            problem,
        })?;
        Ok(Discipline {
            kind,
            options,
            shapes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::netlink::attribute;

    fn parse(queue: &str) -> Result<Discipline, BedError> {
        Discipline::parse(queue, 10_000_000, Framing::default())
    }

    #[test]
    fn words_become_attributes() {
        let codel = parse("codel limit 100 target 10ms ecn").unwrap();
        let u32_of = |kind| attribute(&codel.options, kind).map(<[u8]>::to_vec);
        assert_eq!(u32_of(1), Some(10_000u32.to_ne_bytes().to_vec()));
        assert_eq!(u32_of(2), Some(100u32.to_ne_bytes().to_vec()));
        assert_eq!(u32_of(4), Some(1u32.to_ne_bytes().to_vec()));
        assert!(!codel.shapes);
    }

    #[test]
    fn cake_is_told_the_rate_unless_it_was_given_one() {
        let rate = |queue| {
            let options = parse(queue).unwrap().options;
            let value = attribute(&options, 2).unwrap().to_vec();
            u64::from_ne_bytes(value.try_into().unwrap())
        };
        assert_eq!(rate("cake"), 1_250_000);
        assert_eq!(rate("cake besteffort bandwidth 8mbit"), 1_000_000);
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_the_reason() {
        for (queue, reason) in [
            ("", "one of"),
            ("dualpi2", "one of"),
            ("noqueue limit 3", "no option"),
            ("codel tarjet 5ms", "no option \"tarjet\""),
            ("codel target", "needs a value"),
            ("codel target soon", "not a valid value of \"target\""),
            ("red limit 1000", "avpkt"),
            ("tbf rate 1mbit", "needs"),
        ] {
            let message = parse(queue).unwrap_err().to_string();
            assert!(message.contains(reason), "{queue}: {message}");
        }
    }
}
