//! What taps at both ends of the path and between its hops see, at logical times.
//!
//! The thread that carries packets only copies heads into a buffer; another one brings them into the order of their logical
//! times and writes them. (A packet that leaves the path is told of when the thread wakes for it, which may be after a later
//! one has entered.)

use super::packet_log::{Crossing, Fate, PacketLog};
use super::{CaptureFile, Captures, RAW_IP, unwritable};
use crate::error::LabError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use unbloat_capture::{PcapWriter, Record};
use unbloat_emulator::{Parts, Witness};
use unbloat_link::Place;
use unbloat_qdisc::{Event, Packet};
use unbloat_units::{Both, Delta, Direction, Time};
use unbloat_wire::LinkType;

/// Packets in a buffer.
const BATCH: usize = 1_024;
/// So much later than its logical time a packet is told of at most, or it is written out of order.
const DISORDER: Delta = Delta::ms(200);
/// Ends of the path: server's, client's. Those between hops are numbered behind them.
const ENDS: [&str; 2] = ["path-server-side", "path-client-side"];

/// The end at which packets of a direction enter.
const fn entry(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// A packet that passed a point of the path, or the end of one.
struct Passed {
    at: Time,
    /// Place among all that passed: at equal times what was told of first is written first.
    nth: u64,
    /// None: it was lost on its way.
    point: Option<usize>,
    wire_len: u32,
    head: Box<[u8]>,
    /// Of a packet that leaves or is lost.
    end: Option<(Fate, Box<Crossing>)>,
}

/// Hands packets over to whoever writes them.
pub(crate) struct PathCapture {
    out: Sender<Vec<Passed>>,
    buffer: Vec<Passed>,
    passed: u64,
    snap_len: usize,
    hops: Both<usize>,
    entered: Both<u64>,
    /// By handle.
    under_way: Vec<Crossing>,
}

/// Writes them.
pub(crate) struct PathFiles {
    packets: Receiver<Vec<Passed>>,
    folder: PathBuf,
    names: Vec<String>,
    snap_len: u32,
    /// The run's zero on the wall clock.
    zero: Time,
}

/// Both ends of the channel between them.
pub(crate) fn path_capture(
    captures: &Captures,
    hops: Both<usize>,
    zero: Time,
) -> (PathCapture, PathFiles) {
    let (out, packets) = channel();
    let capture = PathCapture {
        out,
        buffer: Vec::with_capacity(BATCH),
        passed: 0,
        snap_len: captures.snap_len as usize,
        hops,
        entered: Both::default(),
        under_way: Vec::new(),
    };
    let most = hops.into_iter().max().unwrap_or(0);
    let routers = (1..most).map(|number| format!("path-router{number}"));
    let ends = ENDS.into_iter().map(str::to_owned);
    let files = PathFiles {
        packets,
        folder: captures.folder.clone(),
        names: ends.chain(routers).collect(),
        snap_len: captures.snap_len,
        zero,
    };
    (capture, files)
}

impl PathCapture {
    fn pass(
        &mut self,
        point: usize,
        at: Time,
        bytes: Parts<'_>,
        end: Option<(Fate, Box<Crossing>)>,
    ) {
        let Parts { header, payload } = bytes;
        let of_payload = self
            .snap_len
            .saturating_sub(header.len())
            .min(payload.len());
        let of_header = self.snap_len.min(header.len());
        let head = [&header[..of_header], &payload[..of_payload]].concat();
        self.put(Passed {
            at,
            nth: self.passed + 1,
            point: Some(point),
            wire_len: (header.len() + payload.len()) as u32,
            head: head.into_boxed_slice(),
            end,
        });
    }

    fn put(&mut self, passed: Passed) {
        self.passed += 1;
        self.buffer.push(passed);
        if self.buffer.len() >= BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BATCH));
        // Whoever wrote has failed, and says so at the end.
        let _ = self.out.send(full);
    }

    /// The point in front of a hop behind the first: routers are counted from the server.
    fn router(&self, direction: Direction, hop: usize) -> usize {
        let number = match direction {
            Direction::Down => hop,
            Direction::Up => self.hops[direction] - hop,
        };
        ENDS.len() + number - 1
    }

    /// The packet is gone; its handle may be another's next.
    fn end(&mut self, packet: &Packet, fate: Fate) -> Option<(Fate, Box<Crossing>)> {
        let crossing = std::mem::take(&mut self.under_way[packet.handle as usize]);
        Some((fate, Box::new(crossing)))
    }
}

impl Drop for PathCapture {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Witness for PathCapture {
    fn offered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let handle = packet.handle as usize;
        if handle >= self.under_way.len() {
            self.under_way.resize(handle + 1, Crossing::default());
        }
        let entered = &mut self.entered[direction];
        *entered += 1;
        self.under_way[handle] = Crossing::begin(direction, *entered, at, bytes);
        self.pass(entry(direction), at, bytes, None);
    }

    fn came_to(
        &mut self,
        direction: Direction,
        at: Time,
        hop: usize,
        packet: &Packet,
        bytes: Parts<'_>,
    ) {
        if hop > 0 {
            self.under_way[packet.handle as usize].came_to_next_hop(at);
            self.pass(self.router(direction, hop), at, bytes, None);
        }
    }

    fn event(&mut self, _: Direction, at: Time, event: &Event) {
        if let Event::Dropped { packet, reason } = event {
            let end = self.end(packet, Fate::Lost(*reason));
            self.put(Passed {
                at,
                nth: self.passed + 1,
                point: None,
                wire_len: 0,
                head: Box::default(),
                end,
            });
        }
    }

    fn waited(&mut self, _: Direction, _: Time, place: Place, packet: &Packet, wait: Delta) {
        self.under_way[packet.handle as usize].waited(place, wait);
    }

    fn delivered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let end = self.end(packet, Fate::Left);
        self.pass(entry(direction.reverse()), at, bytes, end);
    }
}

impl PathFiles {
    /// Writes until the capture is dropped.
    pub(crate) fn write(self) -> Result<Vec<CaptureFile>, LabError> {
        let names = self.names.iter();
        let paths: Vec<PathBuf> = names
            .map(|name| self.folder.join(format!("{name}.pcap")))
            .collect();
        let mut files = Vec::new();
        for path in &paths {
            let file = File::create(path).map_err(unwritable(path))?;
            let writer = PcapWriter::new(BufWriter::new(file), RAW_IP, self.snap_len);
            files.push((writer.map_err(unwritable(path))?, 0));
        }
        let mut log = PacketLog::create(&self.folder).map_err(unwritable(&self.folder))?;
        let mut waiting = BinaryHeap::new();
        let mut latest = Time::MIN;
        let mut put = |passed: Passed| {
            if let Some((fate, crossing)) = &passed.end {
                let row = log.write(passed.at, *fate, crossing);
                row.map_err(unwritable(&self.folder))?;
            }
            let Some(point) = passed.point else {
                return Ok(());
            };
            let (writer, packets) = &mut files[point];
            *packets += 1;
            let record = Record {
                time: self.zero + passed.at.since(Time::from_ns(0)),
                link: LinkType::RawIp,
                wire_len: passed.wire_len,
                data: &passed.head,
            };
            writer.write(&record).map_err(unwritable(&paths[point]))
        };
        for batch in &self.packets {
            for passed in batch {
                latest = latest.max(passed.at);
                waiting.push(Reverse(passed));
            }
            while waiting
                .peek()
                .is_some_and(|Reverse(first)| first.at + DISORDER < latest)
            {
                waiting.pop().map_or(Ok(()), |Reverse(first)| put(first))?;
            }
        }
        while let Some(Reverse(first)) = waiting.pop() {
            put(first)?;
        }
        log.finish().map_err(unwritable(&self.folder))?;
        let written = files.into_iter().zip(&paths).zip(&self.names);
        written
            .map(|(((writer, packets), path), name)| {
                writer.finish().map_err(unwritable(path))?;
                Ok(CaptureFile {
                    name: name.clone(),
                    path: path.clone(),
                    packets,
                    missed: 0,
                })
            })
            .collect()
    }
}

impl PartialEq for Passed {
    fn eq(&self, other: &Passed) -> bool {
        self.nth == other.nth
    }
}

impl Eq for Passed {}

impl PartialOrd for Passed {
    fn partial_cmp(&self, other: &Passed) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Passed {
    fn cmp(&self, other: &Passed) -> std::cmp::Ordering {
        (self.at, self.nth).cmp(&(other.at, other.nth))
    }
}
