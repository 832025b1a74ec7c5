//! Worlds, sources that play them, and the tables that come of them.

pub mod frames;
pub mod steps;
pub mod tables;
pub mod world;

use std::sync::Arc;
use tables::Tables;
use unbloat_analyze::{Control, Outcome, Settings};
use unbloat_capture::{CaptureError, Notes, Progress, Record, Source};
use unbloat_trace::Params;
use unbloat_units::{Bytes, Delta};
use unbloat_wire::ParserParams;
use world::Packet;

/// Packets in memory.
pub struct Played {
    packets: Arc<[Packet]>,
    next: usize,
    /// Most that one call of `fill` gives, as reads from files give few at times.
    at_once: usize,
}

impl Played {
    pub fn new(packets: impl Into<Arc<[Packet]>>, at_once: usize) -> Played {
        Played {
            packets: packets.into(),
            next: 0,
            at_once,
        }
    }
}

impl Source for Played {
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        self.next += 1;
        Ok(self.packets.get(self.next - 1).map(Packet::record))
    }

    fn fill(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Result<usize, CaptureError> {
        let end = (self.next + max.min(self.at_once)).min(self.packets.len());
        let count = end - self.next;
        self.packets[self.next..end]
            .iter()
            .for_each(|packet| sink(packet.record()));
        self.next = end;
        Ok(count)
    }

    fn ended(&self) -> bool {
        self.next >= self.packets.len()
    }

    fn progress(&self) -> Progress {
        Progress {
            done: Bytes::new(self.next as u64),
            total: None,
            dropped: 0,
        }
    }

    fn notes(&mut self) -> Notes {
        Notes {
            packets: self.next as u64,
            ..Notes::default()
        }
    }
}

/// Timeouts so short that flows and users end within a small world, and analyses of large flows
/// begin early.
pub fn settings() -> Settings {
    let params = Params {
        flow_idle: Delta::secs(12),
        user_idle: Delta::secs(25),
        close_linger: Delta::secs(2),
        large_bytes: Bytes::new(20_000),
        large_duration: Delta::secs(1),
        deep_after: Bytes::new(5_000),
        ..Params::default()
    };
    Settings {
        params,
        parser: ParserParams::default(),
        client_nets: Vec::new(),
        threads: 1,
        hash_seed: 1,
        summary_only: false,
        reads: None,
    }
}

pub fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut changed = settings();
    change(&mut changed);
    changed
}

/// Runs all the way; all rows that were written, and what else there is to know.
pub fn run(source: &mut dyn Source, settings: &Settings) -> (Tables, Outcome) {
    let mut tables = Tables::new();
    let outcome =
        unbloat_analyze::run::<std::convert::Infallible>(source, settings, &mut |output, _| {
            tables.take(output);
            Ok(Control::Continue)
        });
    (tables, outcome.expect("packets in memory can be read"))
}

pub fn play(packets: &[Packet], settings: &Settings) -> (Tables, Outcome) {
    run(&mut Played::new(packets, usize::MAX), settings)
}
