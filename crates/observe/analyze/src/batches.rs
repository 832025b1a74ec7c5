//! Packets of a source, parsed, oriented and looked over, in batches.

use std::time::{Duration, Instant};
use unbloat_capture::{CaptureError, Source};
use unbloat_health::{Health, Watch};
use unbloat_trace::Orientation;
use unbloat_units::{Delta, Time};
use unbloat_wire::{Batch, Parser, SkipCounts};

/// Cuts a source into batches that begin at fixed packet numbers.
pub struct Batches<'s> {
    source: &'s mut dyn Source,
    parser: Parser,
    orientation: Orientation,
    watch: Watch,
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
            watch: Watch::default(),
            origin: None,
            watermark: Time::MIN,
            next_packet: 0,
            skipped: SkipCounts::default(),
        }
    }

    /// Of what is left of a source, from packet `next_packet` on; `origin` is the time of the first packet of
    /// the whole.
    pub fn resume(
        source: &'s mut dyn Source,
        parser: Parser,
        orientation: Orientation,
        watch: Watch,
        (next_packet, origin, watermark): (u64, Time, Time),
    ) -> Self {
        Batches {
            watch,
            origin: Some(origin),
            watermark,
            next_packet,
            ..Batches::new(source, parser, orientation)
        }
    }

    /// Fills `batch` with the next packets. Only at the end of the trace it stays short, or, in live capture, when no
    /// packet came within the source's time-out or the first has waited that long for the others. Returns whether
    /// packets may follow.
    pub fn next_into(&mut self, batch: &mut Batch) -> Result<bool, CaptureError> {
        batch.restart(self.next_packet);
        batch.watermark = self.watermark;
        // Of a source that was resumed in the middle of a batch, the rest of that batch.
        let missing = Batch::PACKETS - (self.next_packet % u64::from(Batch::PACKETS)) as u32;
        let (parser, origin) = (&self.parser, &mut self.origin);
        let correction = self.watch.correction();
        let patience = self
            .source
            .patience()
            .map(|span| span.as_ns().unsigned_abs());
        let until = patience.map(|ns| Instant::now() + Duration::from_nanos(ns));
        while batch.packets < missing {
            let room = (missing - batch.packets) as usize;
            let filled = self.source.fill(room, &mut |record| {
                let time = match correction {
                    Delta::ZERO => record.time,
                    correction => (record.time + correction).bounded(),
                };
                origin.get_or_insert(time);
                parser.push(batch, record.link, record.data, record.wire_len, time);
            })?;
            let is_late = filled < room && until.is_some_and(|until| Instant::now() >= until);
            if filled == 0 || is_late {
                break;
            }
        }
        batch.origin = self.origin.unwrap_or_default();
        self.next_packet += u64::from(batch.packets);
        self.skipped += batch.skipped;
        self.orientation.mark(batch);
        self.watch.look(batch);
        self.watermark = batch.watermark;
        Ok(!self.source.ended())
    }

    /// Takes in no more packets. Whether some may follow all the same: those of a live capture that the kernel has already.
    pub(crate) fn close(&mut self) -> bool {
        self.source.close();
        self.source.patience().is_some() && !self.source.ended()
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

    /// What the packets so far tell of the capture, and the source of its own part in it.
    pub fn health(&mut self) -> Health {
        let notes = self.source.notes();
        Health {
            kernel_drops: notes.kernel_drops,
            damage: notes.damage.iter().map(ToString::to_string).collect(),
            ..self.watch.seen()
        }
    }

    pub fn orientation(&mut self) -> &mut Orientation {
        &mut self.orientation
    }

    pub fn watch(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// The latest time so far.
    pub fn watermark(&self) -> Time {
        self.watermark
    }

    pub fn source(&mut self) -> &mut dyn Source {
        self.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_capture::{Notes, Progress, Record};
    use unbloat_units::Bytes;
    use unbloat_wire::{FlowHasher, LinkType, ParserParams};

    /// An interface with a packet each 10 ms, for ever.
    struct Trickle;

    impl Source for Trickle {
        fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
            std::thread::sleep(Duration::from_millis(10));
            Ok(Some(Record {
                time: Time::from_ns(1),
                link: LinkType::from(1),
                wire_len: 60,
                data: &[0; 60],
            }))
        }

        fn fill(
            &mut self,
            _max: usize,
            sink: &mut dyn FnMut(Record<'_>),
        ) -> Result<usize, CaptureError> {
            self.next()?.into_iter().for_each(sink);
            Ok(1)
        }

        fn patience(&self) -> Option<Delta> {
            Some(Delta::ms(50))
        }

        fn ended(&self) -> bool {
            false
        }

        fn progress(&self) -> Progress {
            Progress {
                done: Bytes::ZERO,
                total: None,
                dropped: 0,
            }
        }

        fn notes(&mut self) -> Notes {
            Notes::default()
        }
    }

    #[test]
    fn packets_that_trickle_in_do_not_wait_for_a_full_batch() {
        let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(1));
        let orientation = Orientation::default();
        let mut source = Trickle;
        let mut batches = Batches::new(&mut source, parser, orientation);
        let mut batch = Batch::default();
        for _ in 0..2 {
            assert!(batches.next_into(&mut batch).unwrap());
            assert!((1..10).contains(&batch.packets), "{}", batch.packets);
        }
    }
}
