//! What the kernel offers, found by trying: in a network namespace that is gone afterwards, on its loopback device.

use crate::error::ShaperError;
use crate::run::run;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::thread;
use unbloat_os::namespace::enter_new_network;
use unbloat_sqm::Qdisc;

/// Whether a discipline is there is asked by making it.
const TRIED: [(&str, &[&str]); 6] = [
    ("cake", &["cake"]),
    ("fq_codel", &["fq_codel"]),
    ("codel", &["codel"]),
    ("htb", &["htb"]),
    ("bfifo", &["bfifo", "limit", "10000"]),
    (
        "tbf",
        &["tbf", "rate", "1mbit", "burst", "10kb", "limit", "10kb"],
    ),
];

/// Disciplines and kinds of devices that this kernel has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Offered {
    pub qdiscs: Vec<&'static str>,
    /// Without it, only what leaves can be shaped.
    pub ifb: bool,
}

impl Offered {
    /// The best shaper of the kernel's own.
    pub fn best(&self) -> Option<Qdisc> {
        Qdisc::best(&self.qdiscs)
    }
}

/// Tries; needs root.
pub fn offered() -> Result<Offered, ShaperError> {
    thread::scope(|scope| -> Result<Offered, ShaperError> {
        let inside = scope.spawn(|| -> Result<Offered, ShaperError> {
            // It ends with this thread.
            enter_new_network().map_err(ShaperError::Probe)?;
            Ok(look())
        });
        let died = || ShaperError::Probe(io::Error::other("the probing thread died"));
        inside.join().map_err(|_| died())?
    })
}

fn look() -> Offered {
    let works = |line: &[&str]| {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        run(&words).is_ok()
    };
    let has = |options: &[&str]| {
        let replace = ["tc", "qdisc", "replace", "dev", "lo", "root"];
        works(&[&replace[..], options].concat())
    };
    Offered {
        qdiscs: TRIED
            .iter()
            .filter(|(_, options)| has(options))
            .map(|(kind, _)| *kind)
            .collect(),
        ifb: works(&["ip", "link", "add", "name", "ifb4try", "type", "ifb"]),
    }
}
