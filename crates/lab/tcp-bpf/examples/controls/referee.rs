//! What the referee's kernel did: crates/base/uml/truth.

use crate::Fault;
use serde_json::Value;
use std::path::Path;

pub struct Truth {
    pub goodput_mbps: f64,
    pub mean_ms: f64,
    pub p95_ms: f64,
    pub dropped: f64,
}

impl Truth {
    pub fn read(control: &str, limit: u32) -> Result<Truth, Fault> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../base/uml/truth");
        let path = folder.join(format!("{control}-over-pfifo-{limit}.json"));
        let outcome: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let number = |pointer: &str| {
            let value = outcome.pointer(pointer).and_then(Value::as_f64);
            value.ok_or(format!("the truth of {control} has no {pointer}"))
        };
        Ok(Truth {
            goodput_mbps: number("/flows/0/goodput_bps")? / 1e6,
            mean_ms: number("/queue/delay/mean_ms")?,
            p95_ms: number("/queue/delay/p95_ms")?,
            dropped: number("/queue/dropped")?,
        })
    }
}
