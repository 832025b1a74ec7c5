//! What the other steps have to know of each capture, without its packets.

use crate::error::Repair;
use crate::job::Job;
use crate::{ClusterError, Place, Reading};
use serde::{Deserialize, Serialize};
use unbloat_capture::{CaptureError, Damage, DamageKind, Input, Notes, Reader, Source};
use unbloat_trace::Orientation;
use unbloat_units::Time;
use unbloat_wire::Batch;

/// `index/NAME.json`: one capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    pub input: String,
    /// As stored; `None` if nobody says.
    pub size_bytes: Option<u64>,
    pub packets: u64,
    /// The latest time in it.
    pub last_ns: i64,
    /// Length of a span: the shortest with which there are not too many.
    pub span_ns: i64,
    /// Where the first packet of each span stands. A packet belongs to the span of the latest time so far.
    pub spans: Vec<Span>,
    /// SYNs that contradict the guess from the ports: the latest time so far, and the hash of the flow.
    pub contradicted: Vec<(i64, u64)>,
    pub notes: Notes,
}

/// Number of the span since 1970, packets before its first one, the byte at which that begins, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span(pub i64, pub u64, pub u64, pub i64);

/// What the merge of captures orders a packet of this capture by: the latest time so far.
const FIRST_SPAN_NS: i64 = 100_000_000;
const MOST_SPANS: usize = 1 << 16;

impl Index {
    /// The first packet at or after a time that is a multiple of all lengths of spans. `None`: there is none.
    pub(crate) fn from(&self, time_ns: i64) -> Option<Span> {
        let number = time_ns.div_euclid(self.span_ns);
        let at = self.spans.partition_point(|span| span.0 < number);
        self.spans.get(at).copied()
    }

    fn widen(&mut self) {
        self.span_ns *= 2;
        for span in &mut self.spans {
            span.0 = span.0.div_euclid(2);
        }
        self.spans.dedup_by_key(|span| span.0);
    }
}

/// Reads captures whole and writes an index of each, but of those that have one.
///
/// `is_stopped` is asked again and again.
pub fn index(
    place: &Place,
    inputs: &[Input],
    reading: &Reading,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<Index>, ClusterError> {
    let job = Job::begin(place, reading)?;
    let indexed = inputs.iter().map(|input| {
        let file = file_of(&input.to_string());
        let known: Option<Index> = place.document(&file, Repair::Index)?;
        if let Some(known) = known {
            let is_same = size_of(input)?.is_none_or(|size| known.size_bytes == Some(size));
            return if is_same {
                Ok(known)
            } else {
                Err(ClusterError::Changed {
                    input: input.to_string(),
                })
            };
        }
        let own = read(input, &job, is_stopped)?;
        if place.commit(&file, &own)? {
            return Ok(own);
        }
        // Another process was quicker.
        let theirs = place.document(&file, Repair::Index)?;
        theirs.ok_or_else(|| place.missing(&file, "index"))
    });
    indexed.collect()
}

fn file_of(input: &str) -> String {
    let hash = blake3::hash(input.as_bytes()).to_hex();
    format!("index/{}.json", &hash[..32])
}

fn size_of(input: &Input) -> Result<Option<u64>, ClusterError> {
    Ok(match input {
        Input::File(path) => path.metadata().ok().map(|meta| meta.len()),
        Input::Stdin => None,
        Input::Stored(stored) => {
            let read = stored.storage.read(&stored.name, 0);
            let (_, size) = read.map_err(|source| CaptureError::Open {
                input: input.to_string(),
                source,
            })?;
            Some(size)
        }
    })
}

/// All indexes of a place, in the order of the names of their captures.
pub(crate) fn all(place: &Place) -> Result<Vec<Index>, ClusterError> {
    let mut all = Vec::new();
    for name in place.list("index")? {
        let file = format!("index/{name}");
        let index: Option<Index> = place.document(&file, Repair::Index)?;
        let index = index.ok_or_else(|| place.missing(&file, "index"))?;
        all.push(index);
    }
    if all.is_empty() {
        return Err(place.missing("index", "index"));
    }
    all.sort_by(|a, b| a.input.cmp(&b.input));
    Ok(all)
}

fn read(input: &Input, job: &Job, is_stopped: &dyn Fn() -> bool) -> Result<Index, ClusterError> {
    let mut index = Index {
        input: input.to_string(),
        size_bytes: size_of(input)?,
        packets: 0,
        last_ns: i64::MIN,
        span_ns: FIRST_SPAN_NS,
        spans: Vec::new(),
        contradicted: Vec::new(),
        notes: Notes::default(),
    };
    let mut reader = match Reader::open(input) {
        Ok(reader) => reader,
        // A capture that rotates may just have begun it.
        Err(CaptureError::Empty { input }) => {
            let (offset, packets) = (0, 0);
            index.notes.damage.push(Damage {
                input,
                offset,
                packets,
                kind: DamageKind::Empty,
            });
            return Ok(index);
        }
        Err(error) => return Err(error.into()),
    };
    let (parser, orientation) = (
        job.parser(),
        Orientation::new(job.reading.client_nets.clone()),
    );
    let (mut batch, mut latest) = (Batch::default(), Vec::new());
    loop {
        let offset = reader.offset();
        let Some(record) = reader.next()? else { break };
        let time_ns = record.time.as_ns();
        if index.spans.is_empty() || time_ns > index.last_ns {
            index.last_ns = time_ns;
            let number = time_ns.div_euclid(index.span_ns);
            if index.spans.last().is_none_or(|span| span.0 < number) {
                let span = Span(number, index.packets, offset, time_ns);
                index.spans.push(span);
            }
        }
        index.packets += 1;
        let time = Time::from_ns(time_ns);
        parser.push(&mut batch, record.link, record.data, record.wire_len, time);
        latest.push(index.last_ns);
        if batch.packets == Batch::PACKETS {
            note_syns(&batch, &latest, &orientation, &mut index);
            batch.restart(0);
            latest.clear();
            if is_stopped() {
                return Err(ClusterError::Stopped);
            }
            while index.spans.len() > MOST_SPANS {
                index.widen();
            }
        }
    }
    note_syns(&batch, &latest, &orientation, &mut index);
    index.notes = reader.notes();
    Ok(index)
}

fn note_syns(batch: &Batch, latest: &[i64], orientation: &Orientation, index: &mut Index) {
    let headers = batch.headers.iter();
    let contradicted = headers.filter(|header| orientation.is_contradicted(header));
    index
        .contradicted
        .extend(contradicted.map(|header| (latest[usize::from(header.offset)], header.flow_hash)));
}
