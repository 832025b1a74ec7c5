//! What taps at both ends of the path see, at logical times.
//!
//! The thread that carries packets only copies heads into a buffer; another one brings them into the order of their logical
//! times and writes them. (A packet that leaves the path is told of when the thread wakes for it, which may be after a later
//! one has entered.)

use super::packet_log::{Crossing, PacketLog};
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
use unbloat_queue::Packet;
use unbloat_units::{Delta, Time};
use unbloat_wire::LinkType;
use unbloat_workload::Direction;

/// Packets in a buffer.
const BATCH: usize = 1_024;
/// So much later than its logical time a packet is told of at most, or it is written out of order.
const DISORDER: Delta = Delta::ms(200);
/// Ends of the path: server's, client's.
const NAMES: [&str; 2] = ["path-server-side", "path-client-side"];

/// A packet that passed an end of the path.
struct Passed {
    at: Time,
    /// Place among all that passed: at equal times what was told of first is written first.
    nth: u64,
    end: usize,
    wire_len: u32,
    head: Box<[u8]>,
    /// Of a packet that leaves.
    crossing: Option<Crossing>,
}

/// Hands packets over to whoever writes them.
pub(crate) struct PathCapture {
    out: Sender<Vec<Passed>>,
    buffer: Vec<Passed>,
    passed: u64,
    snap_len: usize,
    /// By handle.
    under_way: Vec<Crossing>,
}

/// Writes them.
pub(crate) struct PathFiles {
    packets: Receiver<Vec<Passed>>,
    paths: [PathBuf; 2],
    log: PathBuf,
    snap_len: u32,
    /// The run's zero on the wall clock.
    zero: Time,
}

/// Both ends of the channel between them.
pub(crate) fn path_capture(captures: &Captures, zero: Time) -> (PathCapture, PathFiles) {
    let (out, packets) = channel();
    let capture = PathCapture {
        out,
        buffer: Vec::with_capacity(BATCH),
        passed: 0,
        snap_len: captures.snap_len as usize,
        under_way: Vec::new(),
    };
    let paths = NAMES.map(|name| captures.folder.join(format!("{name}.pcap")));
    let files = PathFiles {
        packets,
        paths,
        log: captures.folder.join(PacketLog::NAME),
        snap_len: captures.snap_len,
        zero,
    };
    (capture, files)
}

impl PathCapture {
    fn pass(&mut self, end: usize, at: Time, bytes: Parts<'_>, crossing: Option<Crossing>) {
        let Parts { header, payload } = bytes;
        let of_payload = self
            .snap_len
            .saturating_sub(header.len())
            .min(payload.len());
        let of_header = self.snap_len.min(header.len());
        let head = [&header[..of_header], &payload[..of_payload]].concat();
        self.passed += 1;
        self.buffer.push(Passed {
            at,
            nth: self.passed,
            end,
            wire_len: (header.len() + payload.len()) as u32,
            head: head.into_boxed_slice(),
            crossing,
        });
        if self.buffer.len() >= BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BATCH));
        // Whoever wrote has failed, and says so at the end.
        let _ = self.out.send(full);
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
        self.under_way[handle] = Crossing::begin(direction, at);
        self.pass(direction as usize, at, bytes, None);
    }

    fn waited(&mut self, _: Direction, _: Time, place: Place, packet: &Packet, wait: Delta) {
        self.under_way[packet.handle as usize].waited(place, wait);
    }

    fn delivered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let crossing = self.under_way[packet.handle as usize];
        self.pass(1 - direction as usize, at, bytes, Some(crossing));
    }
}

impl PathFiles {
    /// Writes until the capture is dropped.
    pub(crate) fn write(self) -> Result<Vec<CaptureFile>, LabError> {
        let mut files = Vec::new();
        for path in &self.paths {
            let file = File::create(path).map_err(unwritable(path))?;
            let writer = PcapWriter::new(BufWriter::new(file), RAW_IP, self.snap_len);
            files.push((writer.map_err(unwritable(path))?, 0));
        }
        let mut log = PacketLog::create(&self.log).map_err(unwritable(&self.log))?;
        let mut waiting = BinaryHeap::new();
        let mut latest = Time::MIN;
        let mut put = |passed: Passed| {
            if let Some(crossing) = &passed.crossing {
                let row = log.write(passed.at, passed.wire_len, &passed.head, crossing);
                row.map_err(unwritable(&self.log))?;
            }
            let (writer, packets) = &mut files[passed.end];
            *packets += 1;
            let record = Record {
                time: self.zero + passed.at.since(Time::from_ns(0)),
                link: LinkType::RawIp,
                wire_len: passed.wire_len,
                data: &passed.head,
            };
            writer
                .write(&record)
                .map_err(unwritable(&self.paths[passed.end]))
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
        log.finish().map_err(unwritable(&self.log))?;
        let written = files.into_iter().zip(self.paths).zip(NAMES);
        written
            .map(|(((writer, packets), path), name)| {
                writer.finish().map_err(unwritable(&path))?;
                Ok(CaptureFile {
                    name: name.to_owned(),
                    path,
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
