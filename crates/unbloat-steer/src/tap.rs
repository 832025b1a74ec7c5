//! What passes an interface, as [`Autorate`] is told of it.

use crate::error::SteerError;
use unbloat_autorate::{Autorate, Seen, Stamps};
use unbloat_capture::{LiveOptions, LiveSource, Record};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_wire::{Batch, FlowHasher, PacketFlags, PacketHeader, Parser, ParserParams, protocol};

/// Longest wait for a packet.
const WAIT: Delta = Delta::ms(10);
const SNAP: u32 = 160;
const RING: Bytes = Bytes::mib(4);
/// Packets between two looks at the clock.
const BATCH: usize = 256;

/// An interface that is listened to. Packets out of it are seen when they leave its queues, packets into it before any
/// redirection.
pub(crate) struct Tap {
    source: LiveSource,
    reader: Reader,
}

struct Reader {
    parser: Parser,
    batch: Batch,
}

impl Tap {
    pub(crate) fn open(interface: &str) -> Result<Tap, SteerError> {
        let options = LiveOptions {
            snap_len: SNAP,
            timeout: WAIT,
            ring: RING,
            ..LiveOptions::default()
        };
        Ok(Tap {
            source: LiveSource::open(interface, &options)?,
            reader: Reader {
                parser: Parser::new(ParserParams::default(), FlowHasher::with_seed(1)),
                batch: Batch::default(),
            },
        })
    }

    /// Tells of what has passed since; waits a little for the first.
    pub(crate) fn tell(&mut self, autorate: &mut Autorate) -> Result<(), SteerError> {
        let Tap { source, reader } = self;
        source.fill_with_way(BATCH, &mut |record, is_outgoing| {
            let (at, seen) = reader.read(record);
            if is_outgoing {
                autorate.outgoing(at, &seen);
            } else {
                autorate.incoming(at, &seen);
                // What the shaper behind lets through is not seen here: over a while it is what came.
                autorate.shaped(at, seen.bytes);
            }
        })?;
        Ok(())
    }
}

impl Reader {
    fn read(&mut self, record: Record<'_>) -> (Time, Seen) {
        self.batch.restart(0);
        let Record {
            time,
            link,
            wire_len,
            data,
        } = record;
        self.parser
            .push(&mut self.batch, link, data, wire_len, time);
        let header = self.batch.headers.first();
        let seen = Seen {
            flow: header.map_or(0, |header| header.flow_hash),
            bytes: wire_len,
            stamps: header.and_then(stamps),
        };
        (time, seen)
    }
}

fn stamps(header: &PacketHeader) -> Option<Stamps> {
    let has = header.protocol == protocol::TCP && header.flags.has(PacketFlags::TIMESTAMPS);
    has.then(|| Stamps {
        value: header.tsval.raw(),
        echo: header.tsecr.raw(),
        ack: header.ack.raw(),
        payload: header.payload_len,
    })
}
