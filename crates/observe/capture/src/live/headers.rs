//! Headers of packets as they pass an interface, for those who watch it and keep nothing.

use super::stamps::{Stamps, Wall};
use super::{LiveOptions, LiveSource};
use crate::{CaptureError, Record};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_wire::{Batch, FlowHasher, PacketHeader, Parser, ParserParams};

/// Room for every header, those of tunnels and the options of TCP among them.
const SNAP_LEN: u32 = 160;
const RING: Bytes = Bytes::mib(4);
/// Packets of one call, so that whoever listens looks at the clock in between.
const AT_ONCE: usize = 256;

/// An interface that is listened to. Packets out of it are seen when they leave its queue discipline, packets into it before
/// any redirection.
pub struct LiveHeaders {
    source: LiveSource,
    parser: Parser,
    batch: Batch,
    stamps: Stamps,
}

/// A packet that passes.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'h> {
    /// By the monotonic clock: see [`unbloat_os::clock::monotonic`].
    pub at: Time,
    /// With its link layer.
    pub wire_len: u32,
    /// This machine sends it.
    pub is_outgoing: bool,
    /// None: it cannot be read.
    pub header: Option<&'h PacketHeader>,
}

impl LiveHeaders {
    /// Begins to listen; needs CAP_NET_RAW. `wait`: how long [`LiveHeaders::each`] waits for the first packet.
    pub fn open(interface: &str, wait: Delta) -> Result<LiveHeaders, CaptureError> {
        let options = LiveOptions {
            snap_len: SNAP_LEN,
            timeout: wait,
            ring: RING,
            ..LiveOptions::default()
        };
        Ok(LiveHeaders {
            source: LiveSource::open(interface, &options)?,
            parser: Parser::new(ParserParams::default(), FlowHasher::with_seed(1)),
            batch: Batch::default(),
            stamps: Stamps::from(Wall::look()),
        })
    }

    /// Tells of the packets that have passed since the last call, of some hundred at most.
    pub fn each(&mut self, tell: &mut dyn FnMut(&Passed<'_>)) -> Result<(), CaptureError> {
        let LiveHeaders {
            source,
            parser,
            batch,
            stamps,
        } = self;
        let mut is_first = true;
        source.fill_with_way(AT_ONCE, &mut |record, is_outgoing| {
            let Record {
                time,
                link,
                wire_len,
                data,
            } = record;
            if is_first {
                // Behind the wait: what was stamped before the clock was set has the difference of then until here.
                stamps.look(Wall::look());
                is_first = false;
            }
            batch.restart(0);
            parser.push(batch, link, data, wire_len, time);
            tell(&Passed {
                at: stamps.time(time, Wall::look),
                wire_len,
                is_outgoing,
                header: batch.headers.first(),
            });
        })?;
        Ok(())
    }
}
