//! Several captures as one trace in time order.
//!
//! Rotated captures are the normal case: thousands of files that follow one another. So each
//! input is looked at once for the time of its first packet, closed again, and opened for good
//! only when the trace has come to that time: as many files are open as overlap in time.

use crate::notes::{Damage, DamageKind};
use crate::reader::GLANCE;
use crate::window::Window;
use crate::{CaptureError, Input, Notes, Progress, Reader, Record, Source};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use tracing::{debug, info};
use unbloat_units::{Bytes, Delta, Time};

/// The packets of several captures, merged by time.
///
/// Packets of equal time come in the order of their inputs: the one that begins earlier first,
/// then the one that was named first. Times that go backwards within an input do not change the
/// order of its own packets; they are counted in [`Notes::backward_steps`].
pub struct Trace {
    /// Inputs not yet needed, by the time of their first packet.
    waiting: VecDeque<Waiting>,
    /// The input that the next packet comes from, if it is known.
    current: Option<Lane>,
    /// The first time at which it may be another's turn.
    until: Option<Time>,
    lanes: BinaryHeap<Reverse<Lane>>,
    closed: Notes,
    closed_bytes: u64,
    total_bytes: Option<u64>,
    ended: bool,
}

/// An input whose first packet is known.
struct Waiting {
    first: Time,
    rank: usize,
    input: Input,
    /// Kept where it cannot be opened a second time.
    reader: Option<Reader>,
    /// Packets before its first, and the byte at which that one begins.
    behind: (u64, u64),
}

/// What is left of an input from some packet on, for a trace that is read from its middle.
#[derive(Clone, Debug)]
pub struct Rest {
    pub input: Input,
    /// Time of the next packet, the latest so far of this input.
    pub first: Time,
    /// Packets before it, and the byte at which it begins.
    pub packets: u64,
    pub offset: u64,
}

/// An open input, ordered by its next packet.
struct Lane {
    time: Time,
    rank: usize,
    /// Boxed because lanes are moved at every change of turn.
    reader: Box<Reader>,
}

impl Trace {
    /// Looks at the beginning of all inputs. One that cannot be opened or is no capture is an
    /// error; an empty file is one only if it is all there is, since a capture that rotates may
    /// just have begun it.
    pub fn open(inputs: &[Input]) -> Result<Trace, CaptureError> {
        let mut trace = Trace {
            waiting: VecDeque::new(),
            current: None,
            until: None,
            lanes: BinaryHeap::new(),
            closed: Notes::default(),
            closed_bytes: 0,
            total_bytes: Some(0),
            ended: false,
        };
        for (rank, input) in inputs.iter().enumerate() {
            match Reader::open_with(input, GLANCE) {
                Ok(reader) => trace.glance(rank, input, reader),
                Err(CaptureError::Empty { .. }) if inputs.len() > 1 => {
                    trace.closed.damage.push(damage(input, DamageKind::Empty));
                }
                Err(error) => return Err(error),
            }
        }
        trace
            .waiting
            .make_contiguous()
            .sort_by_key(|w| (w.first, w.rank));
        for (rank, waiting) in trace.waiting.iter_mut().enumerate() {
            waiting.rank = rank;
        }
        info!(
            inputs = inputs.len(),
            with_packets = trace.waiting.len(),
            stored_bytes = trace.total_bytes,
            "captures in the order of their first packets"
        );
        Ok(trace)
    }

    /// The same trace from a later packet on: what is left of its inputs, in the order of the first packets
    /// that the inputs have as a whole. No input is opened before its turn.
    pub fn of_rests(rests: Vec<Rest>) -> Trace {
        let waiting = rests.into_iter().enumerate().map(|(rank, rest)| Waiting {
            first: rest.first,
            rank,
            input: rest.input,
            reader: None,
            behind: (rest.packets, rest.offset),
        });
        let mut waiting: Vec<Waiting> = waiting.collect();
        waiting.sort_by_key(|w| (w.first, w.rank));
        Trace {
            waiting: waiting.into(),
            current: None,
            until: None,
            lanes: BinaryHeap::new(),
            closed: Notes::default(),
            closed_bytes: 0,
            total_bytes: None,
            ended: false,
        }
    }

    /// Takes in an input by its first packet; one without packets is done with.
    fn glance(&mut self, rank: usize, input: &Input, mut reader: Reader) {
        let size = reader.progress().total.map(Bytes::as_u64);
        self.total_bytes = self.total_bytes.zip(size).map(|(a, b)| a.saturating_add(b));
        match reader.peek_time() {
            None => self.close(reader),
            Some(first) => self.waiting.push_back(Waiting {
                first,
                rank,
                input: input.clone(),
                reader: size.is_none().then_some(reader),
                behind: (0, 0),
            }),
        }
    }

    fn close(&mut self, reader: Reader) {
        let progress = reader.progress();
        let notes = reader.notes_so_far();
        for damage in &notes.damage {
            info!(input = damage.input, offset = damage.offset, kind = ?damage.kind, "damage");
        }
        debug!(
            packets = notes.packets,
            backward_steps = notes.backward_steps,
            "capture closed"
        );
        self.closed_bytes += progress.total.unwrap_or(progress.done).as_u64();
        self.closed.absorb(notes);
    }

    /// Makes `current` the input with the next packet; false at the end of the trace. An input
    /// that is the only one left is not looked ahead in, so as not to wait for a stream.
    fn select(&mut self) -> bool {
        if let Some(mut lane) = self.current.take() {
            let alone = self.lanes.is_empty() && self.waiting.is_empty();
            if alone && !lane.reader.ended() {
                self.until = None;
                self.current = Some(lane);
                return true;
            }
            match lane.reader.peek_time() {
                None => self.close(*lane.reader),
                Some(time) if self.until.is_some_and(|until| time < until) => {
                    self.current = Some(lane);
                    return true;
                }
                Some(time) => self.lanes.push(Reverse(Lane { time, ..lane })),
            }
        }
        self.open_due();
        self.current = self.lanes.pop().map(|Reverse(lane)| lane);
        self.until = self.current.as_ref().and_then(|lane| self.bound(lane.rank));
        self.ended = self.current.is_none();
        !self.ended
    }

    /// Opens the inputs that begin no later than the next packet of those that are open.
    fn open_due(&mut self) {
        while let Some(next) = self.waiting.front() {
            if self
                .lanes
                .peek()
                .is_some_and(|Reverse(lane)| lane.time < next.first)
            {
                return;
            }
            let Some(Waiting {
                input,
                rank,
                reader,
                behind: (packets, offset),
                ..
            }) = self.waiting.pop_front()
            else {
                return;
            };
            let open = || Reader::open_behind(&input, packets, offset);
            match reader.map_or_else(open, Ok) {
                Ok(reader) => self.add_lane(rank, reader),
                // It was there a moment ago: rotated away, or replaced.
                Err(error) => {
                    info!(%input, %error, "a capture is no longer there");
                    let kind = DamageKind::Read(error.to_string());
                    self.closed.damage.push(damage(&input, kind));
                }
            }
        }
    }

    fn add_lane(&mut self, rank: usize, mut reader: Reader) {
        reader.widen(Window::CAPACITY);
        match reader.peek_time() {
            Some(time) => {
                let reader = Box::new(reader);
                self.lanes.push(Reverse(Lane { time, rank, reader }));
            }
            None => self.close(reader),
        }
    }

    /// The first time that the lane of `rank` may not deliver before the others are asked.
    fn bound(&self, rank: usize) -> Option<Time> {
        let lane = self
            .lanes
            .peek()
            .map(|Reverse(lane)| (lane.time, lane.rank));
        let waiting = self.waiting.front().map(|w| (w.first, w.rank));
        let (time, other) = lane.into_iter().chain(waiting).min()?;
        if other < rank {
            return Some(time);
        }
        // Its own packets of that very time come first; at the end of time there is no bound.
        (time < Time::MAX).then(|| time + Delta::ns(1))
    }
}

fn damage(input: &Input, kind: DamageKind) -> Damage {
    Damage {
        input: input.to_string(),
        offset: 0,
        packets: 0,
        kind,
    }
}

impl Source for Trace {
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        // A lone input may turn out to have ended; then it is closed and nothing is left.
        while self.select() {
            if self
                .current
                .as_mut()
                .is_some_and(|lane| lane.reader.peek_time().is_some())
            {
                break;
            }
        }
        match &mut self.current {
            Some(lane) => lane.reader.next(),
            None => Ok(None),
        }
    }

    fn fill(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Result<usize, CaptureError> {
        let mut delivered = 0;
        while delivered < max && self.select() {
            let until = self.until;
            if let Some(lane) = &mut self.current {
                delivered += lane.reader.fill_until(max - delivered, until, sink);
            }
            let alone = self.lanes.is_empty() && self.waiting.is_empty();
            if alone && delivered > 0 {
                break;
            }
        }
        Ok(delivered)
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn progress(&self) -> Progress {
        let open = self
            .lanes
            .iter()
            .map(|Reverse(lane)| lane)
            .chain(&self.current);
        let done = open
            .map(|lane| lane.reader.progress().done.as_u64())
            .sum::<u64>();
        Progress {
            done: Bytes::new(self.closed_bytes + done),
            total: self.total_bytes.map(Bytes::new),
            dropped: 0,
        }
    }

    fn notes(&mut self) -> Notes {
        let mut notes = self.closed.clone();
        let waiting = self.lanes.iter().map(|Reverse(lane)| lane);
        for lane in waiting.chain(&self.current) {
            notes.absorb(lane.reader.notes_so_far());
        }
        notes
    }
}

impl Ord for Lane {
    fn cmp(&self, other: &Lane) -> Ordering {
        (self.time, self.rank).cmp(&(other.time, other.rank))
    }
}

impl PartialOrd for Lane {
    fn partial_cmp(&self, other: &Lane) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Lane {
    fn eq(&self, other: &Lane) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Lane {}
