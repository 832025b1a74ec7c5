//! The rows of all buckets, in the order of one run.

use crate::parts::PartReader;
use crate::plan::Plan;
use crate::seal::seal;
use crate::shard::sharded;
use crate::{ClusterError, Place};
use unbloat_analyze::Outcome;
use unbloat_health::Health;
use unbloat_trace::{Output, Protocols, ShardStats};
use unbloat_units::Time;

/// Hands the rows of all tables to `sink`, piece by piece in their order, and returns what there is to know beside them:
/// both as [`unbloat_analyze::run`](unbloat_analyze::run()) would. All buckets must have been analysed.
pub fn merge<E: From<ClusterError>>(
    place: &Place,
    sink: &mut dyn FnMut(&Output) -> Result<(), E>,
) -> Result<(Plan, Outcome), E> {
    let plan = Plan::of(place)?;
    let mut shards = Vec::new();
    for bucket in 0..plan.cut.buckets {
        let name = format!("bucket {bucket}");
        let shard = sharded(place, &plan, bucket)?;
        shards.push(shard.ok_or_else(|| place.missing(&name, "shard"))?);
    }
    let sealed = seal(place, &|| false)?;
    let parts = shards
        .iter()
        .map(|shard| PartReader::new(place, shard.bucket, &shard.rows).map(Checked));
    let parts: Vec<Checked<'_>> = parts.collect::<Result<_, _>>()?;
    unbloat_analyze::merge::<E, Checked<'_>>(parts, sink)?;
    let (mut protocols, mut stats) = (Protocols::default(), ShardStats::default());
    for shard in &shards {
        protocols.merge(&shard.protocols);
        stats.absorb(shard.stats);
    }
    let mut last = Output::default();
    protocols.write(&mut last.side.protocols);
    sink(&last)?;
    let notes = plan.notes.clone();
    let health = Health {
        kernel_drops: notes.kernel_drops,
        damage: notes.damage.iter().map(ToString::to_string).collect(),
        ..sealed.seen.health()
    };
    let outcome = Outcome {
        packets: plan.packets,
        origin: Some(Time::from_ns(plan.origin_ns)),
        skipped: sealed.skipped,
        notes,
        health,
        stats,
        interrupted: false,
    };
    Ok((plan, outcome))
}

/// Part files whose errors become those of the sink.
struct Checked<'a>(PartReader<'a>);

impl<E: From<ClusterError>> unbloat_analyze::Pieces<E> for Checked<'_> {
    fn next(&mut self, output: &mut Output) -> Result<Option<unbloat_analyze::At>, E> {
        Ok(unbloat_analyze::Pieces::next(&mut self.0, output)?)
    }
}
