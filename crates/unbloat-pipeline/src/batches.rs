//! Packets of a source, parsed and oriented, in batches.

use unbloat_capture::{CaptureError, Source};
use unbloat_trace::Orientation;
use unbloat_units::Time;
use unbloat_wire::{Batch, Parser, SkipCounts};

/// Cuts a source into batches that begin at fixed packet numbers.
pub struct Batches<'s> {
    source: &'s mut dyn Source,
    parser: Parser,
    orientation: Orientation,
    origin: Option<Time>,
    watermark: Time,
    next_packet: u64,
    skipped: SkipCounts,
}

impl<'s> Batches<'s> {
    pub fn new(source: &'s mut dyn Source, parser: Parser, orientation: Orientation) -> Self {
        Batches {
            source,
            parser,
            orientation,
            origin: None,
            watermark: Time::MIN,
            next_packet: 0,
            skipped: SkipCounts::default(),
        }
    }

    /// Fills `batch` with the next packets. Only at the end of the trace it stays short, or, in
    /// live capture, when no packet came within the source's time-out. Returns whether packets may
    /// follow.
    pub fn next_into(&mut self, batch: &mut Batch) -> Result<bool, CaptureError> {
        batch.restart(self.next_packet);
        batch.watermark = self.watermark;
        let (parser, origin) = (&self.parser, &mut self.origin);
        while batch.packets < Batch::PACKETS {
            let room = (Batch::PACKETS - batch.packets) as usize;
            let filled = self.source.fill(room, &mut |record| {
                origin.get_or_insert(record.time);
                parser.push(
                    batch,
                    record.link,
                    record.data,
                    record.wire_len,
                    record.time,
                );
            })?;
            if filled == 0 {
                break;
            }
        }
        batch.origin = self.origin.unwrap_or_default();
        self.watermark = batch.watermark;
        self.next_packet += u64::from(batch.packets);
        self.skipped += batch.skipped;
        self.orientation.mark(batch);
        Ok(!self.source.ended())
    }

    /// Time of the first packet, once there was one.
    pub fn origin(&self) -> Option<Time> {
        self.origin
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.next_packet
    }

    pub fn skipped(&self) -> SkipCounts {
        self.skipped
    }

    pub fn source(&mut self) -> &mut dyn Source {
        self.source
    }
}
