//! What the kernel offers, found by trying: in a network namespace that is gone afterwards, on its loopback device.

use crate::error::ShaperError;
use crate::run::run;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::thread;
use unbloat_os::namespace::enter_new_network;
use unbloat_os::privilege::{Capability, may};
use unbloat_sqm::Qdisc;

/// Whether a discipline is there is asked by making it, with an option: without any, tc makes those too that it does not know.
const TRIED: [(&str, &[&str]); 6] = [
    ("cake", &["cake", "bandwidth", "1mbit"]),
    ("fq_codel", &["fq_codel", "target", "5ms"]),
    ("codel", &["codel", "target", "5ms"]),
    ("htb", &["htb", "default", "1"]),
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
    /// Disciplines that the kernel has too, but for which this host's `tc` is too old.
    pub unknown_to_tc: Vec<&'static str>,
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
            look()
        });
        let died = || ShaperError::Probe(io::Error::other("the probing thread died"));
        inside.join().map_err(|_| died())?
    })
}

fn look() -> Result<Offered, ShaperError> {
    let words = |line: &[&str]| -> Vec<String> {
        let words = line.iter();
        words.map(|word| (*word).to_owned()).collect()
    };
    let works = |line: &[&str]| match run(&words(line)) {
        Ok(_) => Ok(true),
        Err(ShaperError::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    };
    let has = |options: &[&str]| {
        let replace = ["tc", "qdisc", "replace", "dev", "lo", "root"];
        works(&[&replace[..], options].concat())
    };
    let mut offered = Offered {
        qdiscs: Vec::new(),
        unknown_to_tc: Vec::new(),
        ifb: works(&["ip", "link", "add", "name", "ifb4try", "type", "ifb"])?,
    };
    for (kind, options) in TRIED {
        if has(options)? {
            offered.qdiscs.push(kind);
        } else if has(&[kind])? {
            offered.unknown_to_tc.push(kind);
        }
    }
    if offered.qdiscs.is_empty() {
        if !may(Capability::NetAdmin) {
            return Err(ShaperError::NoRight);
        }
        if let Err(ShaperError::Refused { said, .. }) = run(&words(&["tc", "qdisc", "show"])) {
            return Err(ShaperError::Broken { said });
        }
    }
    Ok(offered)
}
