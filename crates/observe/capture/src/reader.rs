//! One capture file or stream: any accepted format, any accepted compression.

use crate::compression::Compression;
use crate::format::{Format, Frame, Step};
use crate::input::{Input, Opened};
use crate::notes::{Damage, DamageKind};
use crate::pcap::{self, Pcap, UnknownVersion};
use crate::pcapng::{self, Pcapng};
use crate::window::Window;
use crate::{CaptureError, Notes, Progress, Record, Source, looks};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tracing::debug;
use unbloat_units::{Bytes, Time};

/// The packets of one capture, in the order in which they stand in it.
pub struct Reader {
    name: String,
    window: Window,
    decoder: Decoder,
    /// Where the window begins in the capture.
    offset: u64,
    packets: u64,
    last_time: Time,
    backward_steps: u64,
    damage: Option<Damage>,
    ended: bool,
    stored_done: Arc<AtomicU64>,
    stored_total: Option<u64>,
    is_compressed: bool,
}

/// A look at the beginning needs little more than the first packet.
pub(crate) const GLANCE: usize = 8 << 10;

enum Decoder {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Why a run over the bytes in view stopped.
enum Stop {
    /// As many packets as were asked for, or the time bound.
    Enough,
    At(Step),
}

impl Reader {
    pub fn open(input: &Input) -> Result<Reader, CaptureError> {
        Reader::open_with(input, Window::CAPACITY)
    }

    /// Opens with a buffer that begins at `capacity` bytes: small to look at the beginning only.
    pub(crate) fn open_with(input: &Input, capacity: usize) -> Result<Reader, CaptureError> {
        Reader::new(input.to_string(), Opened::new(input, 0)?, capacity)
    }

    /// Opens a capture behind its first `packets` packets. Where `offset` says at which byte the next one
    /// begins, and the file is a pcap that is not compressed, nothing before is read; otherwise they
    /// are read and passed over.
    pub(crate) fn open_behind(
        input: &Input,
        packets: u64,
        offset: u64,
    ) -> Result<Reader, CaptureError> {
        let capacity = if packets == 0 {
            Window::CAPACITY
        } else {
            GLANCE
        };
        let mut reader = Reader::open_with(input, capacity)?;
        if packets == 0 {
            return Ok(reader);
        }
        if reader.can_seek() {
            let opened = Opened::new(input, offset)?;
            reader.window = Window::new(opened.bytes, Window::CAPACITY);
            reader.stored_done = opened.done;
            (reader.offset, reader.packets) = (offset, packets);
            return Ok(reader);
        }
        reader.widen(Window::CAPACITY);
        while reader.packets < packets && !reader.ended {
            let missing = usize::try_from(packets - reader.packets).unwrap_or(usize::MAX);
            reader.fill_until(missing, None, &mut |_| {});
        }
        Ok(reader)
    }

    /// Records stand behind one another, and nothing between them has to be known to read them.
    fn can_seek(&self) -> bool {
        matches!(self.decoder, Decoder::Pcap(_)) && !self.is_compressed
    }

    /// Where the next packet begins, in bytes of the capture itself.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads a capture from any stream; `name` is what messages call it.
    pub fn from_stream(
        name: &str,
        bytes: impl Read + Send + 'static,
    ) -> Result<Reader, CaptureError> {
        let opened = Opened::stream(bytes, None);
        Reader::new(name.to_owned(), opened, Window::CAPACITY)
    }

    fn new(name: String, opened: Opened, capacity: usize) -> Result<Reader, CaptureError> {
        let mut window = Window::new(opened.bytes, capacity);
        window.want(4);
        let compression = Compression::sniff(window.view());
        if let Some(compression) = compression {
            let decoder = compression.decoder(window);
            let source = |source| CaptureError::Open {
                input: name.clone(),
                source,
            };
            window = Window::new(decoder.map_err(source)?, capacity);
            window.want(4);
        }
        let mut reader = Reader {
            name,
            window,
            decoder: Decoder::Pcapng(Pcapng::new()),
            offset: 0,
            packets: 0,
            last_time: Time::MIN,
            backward_steps: 0,
            damage: None,
            ended: false,
            stored_done: opened.done,
            stored_total: opened.total,
            is_compressed: compression.is_some(),
        };
        reader.begin(compression)?;
        debug!(
            input = reader.name,
            format = match reader.decoder {
                Decoder::Pcap(_) => "pcap",
                Decoder::Pcapng(_) => "pcapng",
            },
            ?compression,
            stored_bytes = reader.stored_total,
            "capture opened"
        );
        Ok(reader)
    }

    /// Finds out the format and reads a pcap's header.
    fn begin(&mut self, compression: Option<Compression>) -> Result<(), CaptureError> {
        let input = self.name.clone();
        let first = self.window.view();
        let magic = match first.first_chunk::<4>() {
            Some(&magic) => magic,
            None if self.window.failure().is_some() => {
                self.stop_at_end();
                return Ok(());
            }
            None if first.is_empty() => return Err(CaptureError::Empty { input }),
            None => [0; 4],
        };
        if pcapng::is_pcapng(magic) {
            return Ok(());
        }
        if !pcap::is_pcap(magic) {
            self.window.want(looks::BYTES);
            let looks_like = looks::like(self.window.view(), compression);
            return Err(CaptureError::NotACapture { input, looks_like });
        }
        self.window.want(pcap::FILE_HEADER);
        let Some(header) = self.window.view().first_chunk() else {
            self.stop_at_end();
            return Ok(());
        };
        let decoder = Pcap::new(header).map_err(|UnknownVersion { major, minor }| {
            CaptureError::PcapVersion {
                input,
                major,
                minor,
            }
        })?;
        self.decoder = Decoder::Pcap(decoder);
        self.advance(pcap::FILE_HEADER);
        Ok(())
    }

    pub(crate) fn notes_so_far(&self) -> Notes {
        Notes {
            damage: self.damage.iter().cloned().collect(),
            packets: self.packets,
            kernel_drops: match &self.decoder {
                Decoder::Pcap(_) => None,
                Decoder::Pcapng(pcapng) => pcapng.drops(),
            },
            backward_steps: self.backward_steps,
        }
    }

    /// Reads in larger steps from here on.
    pub(crate) fn widen(&mut self, capacity: usize) {
        self.window.widen(capacity);
    }

    /// The time of the next packet; `None` at the end.
    pub(crate) fn peek_time(&mut self) -> Option<Time> {
        self.peek().map(|frame| frame.time)
    }

    /// Hands packets to `sink` while their times lie before `until`, at most `max`; stops
    /// rather than read more when it has delivered some.
    pub(crate) fn fill_until(
        &mut self,
        max: usize,
        until: Option<Time>,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> usize {
        let mut delivered = 0;
        while !self.ended && delivered == 0 {
            let mut walk = Walk {
                bytes: self.window.view(),
                at: 0,
                packets: 0,
                last_time: self.last_time,
                backward_steps: 0,
            };
            let stop = match &mut self.decoder {
                Decoder::Pcap(pcap) => walk.run(pcap, max, until, sink),
                Decoder::Pcapng(pcapng) => walk.run(pcapng, max, until, sink),
            };
            let walked = walk.at;
            delivered = walk.packets;
            self.packets += walk.packets as u64;
            self.last_time = walk.last_time;
            self.backward_steps += walk.backward_steps;
            self.advance(walked);
            match stop {
                Stop::Enough => break,
                Stop::At(Step::Need(_)) if delivered > 0 => break,
                Stop::At(step) => self.resolve(step),
            }
        }
        delivered
    }

    /// The next packet, left where it stands; `None` at the end.
    fn peek(&mut self) -> Option<Frame> {
        while !self.ended {
            let bytes = self.window.view();
            let step = match &mut self.decoder {
                Decoder::Pcap(pcap) => pcap.step(bytes),
                Decoder::Pcapng(pcapng) => pcapng.step(bytes),
            };
            match step {
                Step::Frame(frame) => return Some(frame),
                step => self.resolve(step),
            }
        }
        None
    }

    /// Does what a step asks for that is no packet.
    fn resolve(&mut self, step: Step) {
        match step {
            Step::Frame(_) => {}
            Step::Skip(count) => {
                let skipped = self.window.skip(count);
                self.offset += skipped;
                if skipped < count {
                    self.stop_with(DamageKind::Cut);
                }
            }
            Step::Need(count) => {
                if !self.window.want(count) {
                    self.stop_at_end();
                }
            }
            Step::Corrupt(kind) => self.stop_with(kind),
        }
    }

    fn advance(&mut self, count: usize) {
        self.window.consume(count);
        self.offset += count as u64;
    }

    /// The bytes have ended: rightly, within a record, or by a failure below.
    fn stop_at_end(&mut self) {
        match self.window.failure() {
            Some(error) => self.stop_with(failure_kind(error)),
            None if !self.window.view().is_empty() => self.stop_with(DamageKind::Cut),
            None => self.ended = true,
        }
    }

    fn stop_with(&mut self, kind: DamageKind) {
        self.ended = true;
        self.damage = Some(Damage {
            input: self.name.clone(),
            offset: self.offset,
            packets: self.packets,
            kind,
        });
    }
}

/// Decompressors give their complaints no operating-system code.
fn failure_kind(error: &io::Error) -> DamageKind {
    match error.raw_os_error() {
        Some(_) => DamageKind::Read(error.to_string()),
        None => DamageKind::Compression(error.to_string()),
    }
}

/// The inner loop: a walk over the records in view.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    packets: usize,
    last_time: Time,
    backward_steps: u64,
}

impl Walk<'_> {
    /// Generic over the format, so that nothing is dispatched for each record.
    #[inline]
    fn run<F: Format>(
        &mut self,
        format: &mut F,
        max: usize,
        until: Option<Time>,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Stop {
        while self.packets < max {
            let bytes = &self.bytes[self.at..];
            let frame = match format.step(bytes) {
                Step::Frame(frame) => frame,
                step => return Stop::At(step),
            };
            if until.is_some_and(|until| frame.time >= until) {
                break;
            }
            self.backward_steps += u64::from(frame.time < self.last_time);
            self.last_time = frame.time;
            self.at += frame.used;
            self.packets += 1;
            sink(record(bytes, frame));
        }
        Stop::Enough
    }
}

#[inline]
fn record(bytes: &[u8], frame: Frame) -> Record<'_> {
    Record {
        time: frame.time,
        link: frame.link,
        wire_len: frame.wire_len,
        data: &bytes[frame.start..frame.end],
    }
}

impl Source for Reader {
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        let Some(frame) = self.peek() else {
            return Ok(None);
        };
        self.packets += 1;
        self.backward_steps += u64::from(frame.time < self.last_time);
        self.last_time = frame.time;
        self.offset += frame.used as u64;
        Ok(Some(record(self.window.pass(frame.used), frame)))
    }

    fn fill(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Result<usize, CaptureError> {
        Ok(self.fill_until(max, None, sink))
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn progress(&self) -> Progress {
        Progress {
            done: Bytes::new(self.stored_done.load(Relaxed)),
            total: self.stored_total.map(Bytes::new),
            dropped: 0,
        }
    }

    fn notes(&mut self) -> Notes {
        self.notes_so_far()
    }
}

/// Reads a whole capture that lies in memory, whatever its bytes: the way in for fuzzers.
pub fn read_all(bytes: &[u8], sink: &mut dyn FnMut(Record<'_>)) -> Result<Notes, CaptureError> {
    let mut reader = Reader::from_stream("bytes in memory", io::Cursor::new(bytes.to_vec()))?;
    while reader.fill(usize::MAX, sink)? > 0 {}
    Ok(reader.notes())
}
