//! One bucket: the packets of its clients, from all slices, to rows.

use crate::blob::BlobReader;
use crate::deal::{Segment, data_file};
use crate::error::Repair;
use crate::parts::{PartFile, PartWriter};
use crate::place::attempt;
use crate::plan::Plan;
use crate::seal::{BucketSlice, seal};
use crate::{ClusterError, Place};
use serde::{Deserialize, Serialize};
use unbloat_analyze::{Settings, run_shard};
use unbloat_trace::{Protocols, ShardStats};
use unbloat_units::{Delta, Time};
use unbloat_wire::{Batch, ParserParams};

/// `rows/K.json`: what one attempt made of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharded {
    pub(crate) plan: String,
    pub bucket: u32,
    pub(crate) rows: PartFile,
    pub(crate) stats: ShardStats,
    pub(crate) protocols: Protocols,
}

pub(crate) fn commit_file(bucket: u32) -> String {
    format!("rows/{bucket:06}.json")
}

/// Analyses a bucket, unless somebody has. The first to come [seals](seal()) the place. `is_stopped` is asked again
/// and again.
pub fn shard(
    place: &Place,
    bucket: u32,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Sharded, ClusterError> {
    let plan = Plan::of(place)?;
    plan.check_number(place, "bucket", bucket, plan.cut.buckets)?;
    if let Some(sharded) = sharded(place, &plan, bucket)? {
        return Ok(sharded);
    }
    let list = seal(place, is_stopped)?.bucket(place, bucket)?;
    let settings = Settings {
        params: plan.params.clone(),
        // Packets come parsed.
        parser: ParserParams::default(),
        client_nets: plan.reading.client_nets.clone(),
        threads: 1,
        hash_seed: 0,
        summary_only: false,
        reads: None,
    };
    let file = format!("rows/{bucket:06}/{}", attempt()?);
    let mut part = PartWriter::new(place, file);
    let mut packets = Packets {
        place,
        slices: list.slices.iter(),
        slice: None,
    };
    let origin = Time::from_ns(plan.origin_ns);
    let (stats, protocols) = run_shard(
        &settings,
        origin,
        &mut |batch| match is_stopped() {
            true => Err(ClusterError::Stopped),
            false => packets.next(batch, origin),
        },
        &mut |at, output| Ok(part.write(at, output)?),
    )?;
    let own = Sharded {
        plan: plan.id.clone(),
        bucket,
        rows: part.finish()?,
        stats,
        protocols,
    };
    if place.commit(&commit_file(bucket), &own)? {
        return Ok(own);
    }
    sharded(place, &plan, bucket)?.ok_or_else(|| place.missing(&commit_file(bucket), "shard"))
}

/// What was committed of a bucket.
pub(crate) fn sharded(
    place: &Place,
    plan: &Plan,
    bucket: u32,
) -> Result<Option<Sharded>, ClusterError> {
    let file = commit_file(bucket);
    let sharded: Option<Sharded> = place.document(&file, Repair::Shard(bucket))?;
    if let Some(sharded) = &sharded {
        plan.check(place, &file, &sharded.plan)?;
    }
    Ok(sharded)
}

/// The packets of a bucket, batch by batch; memory is that of one slice.
struct Packets<'a> {
    place: &'a Place,
    slices: std::slice::Iter<'a, BucketSlice>,
    slice: Option<Open<'a>>,
}

struct Open<'a> {
    of: &'a BucketSlice,
    blob: BlobReader,
    batches: Vec<u8>,
    at: usize,
    next_packet: u64,
}

/// Bytes of one batch in the list of batches: packets, latest time.
const ENTRY: usize = 12;

impl<'a> Packets<'a> {
    fn open(&self, of: &'a BucketSlice) -> Result<Open<'a>, ClusterError> {
        let read = |segment: &Segment| segment.read(self.place, of.slice, &of.attempt);
        Ok(Open {
            of,
            blob: BlobReader::new(read(&of.packets)?).map_err(|error| self.damaged(of, error))?,
            batches: read(&of.batches)?,
            at: 0,
            next_packet: of.first_packet,
        })
    }

    fn damaged(&self, of: &BucketSlice, reason: impl ToString) -> ClusterError {
        let file = data_file(of.slice, &of.attempt);
        let repair = Repair::Deal(of.slice);
        self.place.damaged(&file, repair, &reason.to_string())
    }

    fn next(&mut self, batch: &mut Batch, origin: Time) -> Result<bool, ClusterError> {
        while self
            .slice
            .as_ref()
            .is_none_or(|open| open.at == open.batches.len())
        {
            if let Some(open) = self.slice.take()
                && !open.blob.is_at_end()
            {
                let reason = "it has packets beyond its end";
                return Err(self.damaged(open.of, reason));
            }
            let Some(of) = self.slices.next() else {
                return Ok(false);
            };
            self.slice = Some(self.open(of)?);
        }
        let Some(mut open) = self.slice.take() else {
            return Ok(false);
        };
        let entry = open.batches.get(open.at..open.at + ENTRY);
        let Some((packets, latest)) = entry.and_then(|entry| entry.split_first_chunk()) else {
            let reason = "its list of batches is cut";
            return Err(self.damaged(open.of, reason));
        };
        let latest = latest
            .try_into()
            .map(i64::from_le_bytes)
            .unwrap_or_default();
        let shift = Delta::ns(open.of.shift_ns);
        batch.restart(open.next_packet);
        batch.packets = u32::from_le_bytes(*packets);
        batch.watermark = Time::from_ns(latest) + shift;
        batch.origin = origin;
        let filled = open.blob.fill(batch, shift);
        filled.map_err(|error| self.damaged(open.of, error))?;
        open.at += ENTRY;
        open.next_packet += u64::from(batch.packets);
        self.slice = Some(open);
        Ok(true)
    }
}
