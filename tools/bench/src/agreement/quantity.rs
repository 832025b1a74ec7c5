//! What is compared, and when two values are the same.

use super::flow::Direction;
use super::recount::{Recount, Samples};

pub struct Quantity {
    pub name: &'static str,
    pub of: fn(&Direction) -> Option<f64>,
    /// Values closer than this are equal: what the coarser tool prints.
    pub tolerance: f64,
    pub summary: Summary,
    /// tshark has it too.
    pub tshark: bool,
    /// What the definitions of unbloat, tcptrace and tshark give.
    pub defined: Option<fn(&Recount) -> Defined>,
}

/// A quantity by the definition of each tool; `None` is "no value".
#[derive(Clone, Copy, Debug)]
pub struct Defined {
    pub unbloat: Option<f64>,
    pub tcptrace: Option<f64>,
    pub tshark: Option<f64>,
}

impl Defined {
    fn counts(unbloat: u64, tcptrace: u64, tshark: Option<u64>) -> Defined {
        Defined {
            unbloat: Some(unbloat as f64),
            tcptrace: Some(tcptrace as f64),
            tshark: tshark.map(|n| n as f64),
        }
    }

    fn times(r: &Recount, of: impl Fn(&Samples) -> Option<f64>) -> Defined {
        Defined {
            unbloat: of(&r.karn),
            tcptrace: of(&r.tcptrace),
            tshark: of(&r.tshark),
        }
    }
}

fn retransmitted(r: &Recount) -> Defined {
    Defined::counts(r.data_copies, r.data_copies + r.control_copies, None)
}

fn dup_acks(r: &Recount) -> Defined {
    let dup = r.dup_acks;
    Defined::counts(dup.unbloat, dup.tcptrace, Some(dup.tshark))
}

fn zero_windows(r: &Recount) -> Defined {
    let zero = r.zero_windows;
    Defined::counts(zero.closings, zero.packets, Some(zero.packets))
}

fn rtt_samples(r: &Recount) -> Defined {
    Defined::counts(r.karn.count, r.tcptrace.count, Some(r.tshark.count))
}

/// How a quantity of many flows becomes one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    Total,
    Mean,
}

const fn count(name: &'static str, of: fn(&Direction) -> Option<f64>) -> Quantity {
    Quantity {
        name,
        of,
        tolerance: 0.0,
        summary: Summary::Total,
        tshark: true,
        defined: None,
    }
}

/// tcptrace prints milliseconds with one decimal, cut off.
const fn time(name: &'static str, of: fn(&Direction) -> Option<f64>) -> Quantity {
    Quantity {
        name,
        of,
        tolerance: 0.101,
        summary: Summary::Mean,
        tshark: true,
        defined: None,
    }
}

pub const QUANTITIES: [Quantity; 12] = [
    count("packets", |d| Some(d.packets as f64)),
    count("payload bytes, copies included", |d| {
        Some(d.payload_bytes as f64)
    }),
    Quantity {
        tshark: false,
        ..count("unique bytes", |d| d.unique_bytes.map(|n| n as f64))
    },
    Quantity {
        defined: Some(retransmitted),
        ..count("retransmitted packets", |d| Some(d.retransmitted as f64))
    },
    count("out-of-order packets", |d| Some(d.out_of_order as f64)),
    count("the two together", |d| {
        Some((d.retransmitted + d.out_of_order) as f64)
    }),
    Quantity {
        defined: Some(dup_acks),
        ..count("duplicate ACKs", |d| Some(d.dup_acks as f64))
    },
    Quantity {
        defined: Some(zero_windows),
        ..count("zero windows", |d| Some(d.zero_windows as f64))
    },
    Quantity {
        defined: Some(rtt_samples),
        ..count("RTT samples", |d| Some(d.rtt_samples as f64))
    },
    Quantity {
        defined: Some(|r| Defined::times(r, |s| s.min_ms)),
        ..time("RTT min, ms", |d| d.rtt_min_ms)
    },
    Quantity {
        defined: Some(|r| Defined::times(r, Samples::mean_ms)),
        ..time("RTT mean, ms", |d| d.rtt_avg_ms)
    },
    Quantity {
        tshark: false,
        ..time("handshake RTT, ms", |d| d.handshake_ms)
    },
];
