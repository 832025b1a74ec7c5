//! Finished tests for the tests of this crate.

use unbloat_responsiveness::document::Test;
use unbloat_responsiveness::{Doubt, LoadedDirection, Passed, line_rate, verdict};
use unbloat_units::{Delta, Direction, Rate};

pub fn loaded(direction: Direction, added_ms: i64, mbps: u64) -> LoadedDirection {
    LoadedDirection {
        direction,
        delivered: Rate::mbps(mbps),
        line: line_rate(direction, Rate::mbps(mbps), Passed::default()),
        is_steady: true,
        added: Delta::ms(added_ms),
        added_p95: Delta::ms(added_ms),
        idle_rtt: Delta::ms(20),
        unsent: None,
        is_starved: false,
        located: None,
    }
}

pub fn tested(loads: Vec<LoadedDirection>) -> Test {
    doubted(loads, &[])
}

pub fn doubted(loads: Vec<LoadedDirection>, fatal: &[&str]) -> Test {
    let doubt = |reason: &&str| Doubt {
        is_fatal: true,
        reason: (*reason).to_owned(),
    };
    let verdict = verdict(loads, fatal.iter().map(doubt).collect());
    Test::new("box".to_owned(), verdict)
}
