//! One slice: its packets parsed, marked, and dealt to the buckets of their clients.

use crate::blob::BlobWriter;
use crate::edge::{Edge, Remembered};
use crate::error::Repair;
use crate::job::Job;
use crate::place::{OTHER_DIGEST, attempt};
use crate::plan::{Plan, Slice};
use crate::{ClusterError, Place};
use serde::{Deserialize, Serialize};
use std::io::Write;
use unbloat_analyze::{Batches, shard_of};
use unbloat_capture::{Source, Trace};
use unbloat_health::{Seen, Watch};
use unbloat_trace::{Learnt, Orientation};
use unbloat_units::Time;
use unbloat_wire::{Batch, SkipCounts};

/// `dealt/N.json`: what one attempt made of a slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dealt {
    pub(crate) plan: String,
    pub slice: u32,
    pub packets: u64,
    pub(crate) attempt: String,
    pub(crate) first_packet: u64,
    pub(crate) start: Edge,
    pub(crate) end: Edge,
    pub(crate) learnt: Learnt,
    pub(crate) seen: Seen,
    pub(crate) skipped: SkipCounts,
    /// Packets and latest time of each batch.
    pub(crate) batches: Segment,
    /// By bucket.
    pub(crate) buckets: Vec<Segment>,
    /// Where what is remembered at the end is kept in full.
    pub(crate) remembered: Segment,
}

/// A part of the file of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// BLAKE3 of these bytes.
    pub(crate) digest: String,
}

impl Segment {
    /// Reads it and refuses any other bytes than were written.
    pub(crate) fn read(
        &self,
        place: &Place,
        slice: u32,
        attempt: &str,
    ) -> Result<Vec<u8>, ClusterError> {
        let file = data_file(slice, attempt);
        let damaged = |reason| place.damaged(&file, Repair::Deal(slice), reason);
        let bytes = place.get_range(&file, self.offset, self.bytes)?;
        let bytes = bytes.ok_or_else(|| damaged("it is missing or cut"))?;
        if blake3::hash(&bytes).to_hex().as_str() != self.digest {
            return Err(damaged(OTHER_DIGEST));
        }
        Ok(bytes)
    }
}

/// What is truly remembered where a slice begins, if it is known.
pub(crate) struct Begun {
    pub(crate) watch: Watch,
    pub(crate) watermark: Time,
    pub(crate) reversed: Vec<u64>,
}

pub(crate) fn commit_file(slice: u32) -> String {
    format!("dealt/{slice:06}.json")
}

/// The file of an attempt.
pub(crate) fn data_file(slice: u32, attempt: &str) -> String {
    format!("dealt/{slice:06}/{attempt}")
}

/// Deals a slice, unless somebody has. `is_stopped` is asked again and again.
pub fn deal(
    place: &Place,
    slice: u32,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Dealt, ClusterError> {
    let plan = Plan::of(place)?;
    let planned = plan.slice(place, slice)?;
    if let Some(dealt) = dealt(place, &plan, slice)? {
        return Ok(dealt);
    }
    let job = Job::of(place)?;
    let own = deal_from(place, &plan, &job, (slice, &planned), None, is_stopped)?;
    if place.commit(&commit_file(slice), &own)? {
        return Ok(own);
    }
    // Another attempt was quicker.
    dealt(place, &plan, slice)?.ok_or_else(|| place.missing(&commit_file(slice), "deal"))
}

/// What was committed of a slice.
pub(crate) fn dealt(place: &Place, plan: &Plan, slice: u32) -> Result<Option<Dealt>, ClusterError> {
    let file = commit_file(slice);
    let dealt: Option<Dealt> = place.document(&file, Repair::Deal(slice))?;
    if let Some(dealt) = &dealt {
        plan.check(place, &file, &dealt.plan)?;
        if dealt.buckets.len() != plan.cut.buckets as usize {
            return Err(place.damaged(
                &file,
                Repair::Deal(slice),
                "it has another number of buckets",
            ));
        }
    }
    Ok(dealt)
}

/// Deals a slice, into a file of its own.
pub(crate) fn deal_from(
    place: &Place,
    plan: &Plan,
    job: &Job,
    (number, slice): (u32, &Slice),
    begun: Option<Begun>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Dealt, ClusterError> {
    let mut trace = Trace::of_rests(plan.rests(place, slice)?);
    let nets = job.reading.client_nets.clone();
    let origin = Time::from_ns(plan.origin_ns);
    let (watch, orientation, at) = match begun {
        None => {
            let reversed = slice.reversed.iter().copied();
            let at = (slice.read_from, origin, Time::MIN);
            (Watch::default(), Orientation::resume(nets, reversed), at)
        }
        Some(begun) => {
            skip(&mut trace, slice.first_packet - slice.read_from)?;
            let orientation = Orientation::resume(nets, begun.reversed);
            let at = (slice.first_packet, origin, begun.watermark);
            (begun.watch, orientation, at)
        }
    };
    let mut batches = Batches::resume(&mut trace, job.parser(), orientation, watch, at);
    let mut batch = Batch::default();
    let changed = |packets| match packets {
        0 => Err(ClusterError::Changed {
            input: plan.names().join(", "),
        }),
        _ => Ok(()),
    };
    while batches.packets() < slice.first_packet {
        batches.next_into(&mut batch)?;
        changed(batch.packets)?;
    }
    batches.orientation().begin_part();
    batches.watch().take_seen();
    let start = Remembered::of(&mut batches).edge();
    let mut skipped = SkipCounts::default();
    let mut buckets: Vec<BlobWriter> = (0..plan.cut.buckets).map(|_| BlobWriter::new()).collect();
    let mut clock = Vec::new();
    while batches.packets() < slice.end_packet {
        batches.next_into(&mut batch)?;
        changed(batch.packets)?;
        if is_stopped() {
            return Err(ClusterError::Stopped);
        }
        skipped += batch.skipped;
        clock.extend(batch.packets.to_le_bytes());
        clock.extend(batch.watermark.as_ns().to_le_bytes());
        for header in &batch.headers {
            buckets[shard_of(header, plan.cut.buckets as usize)].push(&batch, header);
        }
        for bucket in &mut buckets {
            bucket.end_batch(batch.first_packet)?;
        }
    }
    let remembered = Remembered::of(&mut batches);
    let attempt = attempt()?;
    let mut file = File {
        writer: place.writer(&data_file(number, &attempt)),
        offset: 0,
    };
    let dealt = Dealt {
        plan: plan.id.clone(),
        slice: number,
        packets: slice.end_packet - slice.first_packet,
        attempt,
        first_packet: slice.first_packet,
        start,
        end: remembered.edge(),
        learnt: batches.orientation().learnt(),
        seen: batches.watch().take_seen(),
        skipped,
        batches: file.put(&clock)?,
        buckets: buckets
            .into_iter()
            .map(|bucket| file.put(&bucket.finish()?))
            .collect::<Result<_, ClusterError>>()?,
        remembered: file.put(&serde_json::to_vec(&remembered).map_err(std::io::Error::from)?)?,
    };
    file.writer.finish()?;
    Ok(dealt)
}

struct File {
    writer: crate::place::Writer,
    offset: u64,
}

impl File {
    fn put(&mut self, bytes: &[u8]) -> Result<Segment, ClusterError> {
        self.writer.write_all(bytes)?;
        let segment = Segment {
            offset: self.offset,
            bytes: bytes.len() as u64,
            digest: blake3::hash(bytes).to_hex().to_string(),
        };
        self.offset += segment.bytes;
        Ok(segment)
    }
}

/// Passes over packets.
fn skip(trace: &mut Trace, packets: u64) -> Result<(), ClusterError> {
    let mut left = packets;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        match trace.fill(most, &mut |_| {})? {
            0 => return Ok(()),
            passed => left -= passed as u64,
        }
    }
    Ok(())
}
