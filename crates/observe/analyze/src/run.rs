//! The whole way, from source to sink.

use crate::Batches;
use crate::deal::Dealt;
use crate::threads::{PIECE, Workers};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tracing::info;
use unbloat_capture::{CaptureError, Notes, Progress, Source};
use unbloat_health::Health;
use unbloat_trace::{Network, Orientation, Output, Params, Protocols, Shard, ShardStats};
use unbloat_units::Time;
use unbloat_wire::{Batch, FlowHasher, Parser, ParserParams, SkipCounts};

/// Tables by name, each with columns of it.
type Reads = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub params: Params,
    pub parser: ParserParams,
    /// Networks whose addresses are clients, whatever the handshake says.
    pub client_nets: Vec<Network>,
    /// 1 runs everything on the calling thread.
    pub threads: usize,
    /// Keys the flow hashes; nothing in the tables depends on it.
    pub hash_seed: u64,
    /// Nobody keeps the tables other than `flows`, `users` and the like: do not write them.
    pub summary_only: bool,
    /// Tables by name, each with the columns of it that are read: others stay unknown. `None` reads
    /// all.
    pub reads: Option<Reads>,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Continue,
    /// End here: what is known so far becomes the result.
    Stop,
    /// Go on, and write what the live flows' delays say since they were last judged ([`Shard::judge`]). Of a live run only.
    Judge,
}

/// What there is to know of a run beside its tables.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub packets: u64,
    /// Time of the first packet.
    pub origin: Option<Time>,
    pub skipped: SkipCounts,
    pub notes: Notes,
    /// What the packets tell of the capture; the flows' rows tell the rest.
    pub health: Health,
    pub stats: ShardStats,
    /// The sink said stop.
    pub interrupted: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum PipelineError<E> {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The sink could not take the rows.
    #[error(transparent)]
    Sink(E),
}

/// Where a run stands, told to the sink with each output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    pub packets: u64,
    pub progress: Progress,
    /// Latest time seen, since the first packet.
    pub elapsed_ns: i64,
    /// The rows are those for which [`Control::Judge`] asked.
    pub is_judged: bool,
}

/// Analyses all packets of `source`; `sink` gets the rows in the order of all tables, again and
/// again, the last time with the rows of what still lived at the end.
pub fn run<E>(
    source: &mut dyn Source,
    settings: &Settings,
    sink: &mut dyn FnMut(&Output, Standing) -> Result<Control, E>,
) -> Result<Outcome, PipelineError<E>> {
    let mut batches = batches(source, settings);
    let mut first = Batch::default();
    let more = batches.next_into(&mut first)?;
    let origin = first.origin;
    info!(
        shards = settings.threads.max(1),
        max_flows = settings.params.max_flows,
        summary_only = settings.summary_only,
        "analysis begins"
    );
    if settings.threads <= 1 {
        alone(
            &mut batches,
            settings,
            first,
            more,
            origin,
            &mut |output, standing, _| sink(output, standing),
        )
    } else {
        std::thread::scope(|scope| {
            let shards = (0..settings.threads)
                .map(|_| shard(settings, origin))
                .collect();
            let workers = Workers::start(scope, shards);
            let merged = output(settings);
            together(&mut batches, workers, first, more, merged, sink)
        })
    }
}

/// What a run that goes on can be asked for.
#[derive(Clone, Copy)]
pub struct Alive<'a> {
    /// For a [snapshot](Shard::snapshot) of what lives.
    pub shard: &'a Shard,
    /// Of the capture so far.
    pub health: &'a Health,
}

/// As [`run`] on one thread, for sources that do not end: `sink` also gets what lives.
pub fn run_live<E>(
    source: &mut dyn Source,
    settings: &Settings,
    sink: &mut LiveSink<'_, E>,
) -> Result<Outcome, PipelineError<E>> {
    let mut batches = batches(source, settings);
    let mut first = Batch::default();
    let mut more = batches.next_into(&mut first)?;
    // Nothing can be told of a trace without a packet: wait for the first.
    while more && first.packets == 0 {
        let now = standing(&mut batches, &first);
        let nothing = Shard::new(Arc::default(), Vec::new(), Time::default());
        let alive = Alive {
            shard: &nothing,
            health: &batches.health(),
        };
        let control = sink(&Output::default(), now, Some(alive)).map_err(PipelineError::Sink)?;
        if control == Control::Stop && !batches.close() {
            break;
        }
        more = batches.next_into(&mut first)?;
    }
    let origin = first.origin;
    info!("analysis of a source that does not end");
    alone(&mut batches, settings, first, more, origin, sink)
}

/// Takes rows, where the run stands, and, while it goes on, what it can be asked for.
type LiveSink<'a, E> = dyn FnMut(&Output, Standing, Option<Alive<'_>>) -> Result<Control, E> + 'a;

fn batches<'s>(source: &'s mut dyn Source, settings: &Settings) -> Batches<'s> {
    let hasher = FlowHasher::with_seed(settings.hash_seed);
    let parser = Parser::new(settings.parser.clone(), hasher);
    Batches::new(
        source,
        parser,
        Orientation::new(settings.client_nets.clone()),
    )
}

pub(crate) fn shard(settings: &Settings, origin: Time) -> Shard {
    let params = Arc::new(Params {
        max_flows: settings.params.max_flows.div_ceil(settings.threads.max(1)),
        ..settings.params.clone()
    });
    let mut shard = Shard::new(params, settings.client_nets.clone(), origin);
    if settings.summary_only {
        shard.set_summary_only();
    }
    if let Some(reads) = &settings.reads {
        shard.keep_only(|table, column| is_read(reads, table, column));
    }
    shard
}

/// One without rows that keeps what is read.
fn output(settings: &Settings) -> Output {
    let mut output = Output::default();
    if let Some(reads) = &settings.reads {
        output.keep_only(|table, column| is_read(reads, table.name, column.name));
    }
    output
}

fn is_read(reads: &Reads, table: &str, column: &str) -> bool {
    let columns = reads.get(table);
    columns.is_some_and(|columns| columns.contains(column))
}

fn standing(batches: &mut Batches<'_>, batch: &Batch) -> Standing {
    Standing {
        packets: batches.packets(),
        progress: batches.source().progress(),
        elapsed_ns: batch.watermark.since(batch.origin).as_ns(),
        is_judged: false,
    }
}

fn alone<E>(
    batches: &mut Batches<'_>,
    settings: &Settings,
    first: Batch,
    mut more: bool,
    origin: Time,
    sink: &mut LiveSink<'_, E>,
) -> Result<Outcome, PipelineError<E>> {
    let mut shard = shard(settings, origin);
    let mut batch = first;
    let mut output = output(settings);
    let mut interrupted = false;
    loop {
        shard.process(&batch, 0..batch.headers.len() as u32);
        let now = standing(batches, &batch);
        let health = batches.health();
        let (mut is_stopped, mut judges) = (false, false);
        loop {
            let reached = shard.end_batch(&batch, PIECE);
            std::mem::swap(shard.output(), &mut output);
            let alive = Alive {
                shard: &shard,
                health: &health,
            };
            let control = sink(&output, now, Some(alive)).map_err(PipelineError::Sink)?;
            is_stopped |= control == Control::Stop;
            judges |= control == Control::Judge;
            output.clear();
            if reached.is_none() {
                break;
            }
        }
        if judges {
            shard.judge(batch.first_packet + u64::from(batch.packets));
            std::mem::swap(shard.output(), &mut output);
            let alive = Alive {
                shard: &shard,
                health: &health,
            };
            let judged = Standing {
                is_judged: true,
                ..now
            };
            let control = sink(&output, judged, Some(alive)).map_err(PipelineError::Sink)?;
            is_stopped |= control == Control::Stop;
            output.clear();
        }
        interrupted |= is_stopped;
        if !more || interrupted && !batches.close() {
            break;
        }
        more = batches.next_into(&mut batch)?;
    }
    let end = standing(batches, &batch);
    finish(
        batches,
        vec![shard],
        output,
        (end, interrupted),
        &mut |rows, now| sink(rows, now, None),
    )
}

fn together<E>(
    batches: &mut Batches<'_>,
    mut workers: Workers<'_>,
    first: Batch,
    mut more: bool,
    mut merged: Output,
    sink: &mut dyn FnMut(&Output, Standing) -> Result<Control, E>,
) -> Result<Outcome, PipelineError<E>> {
    let mut pool: Vec<Arc<Dealt>> = Vec::new();
    let mut dealt = Dealt::new(first);
    dealt.deal(workers.len());
    let mut dealt = Arc::new(dealt);
    let mut interrupted = false;
    let mut alive = true;
    while alive {
        alive = workers.submit(&dealt).is_some();
        let now = standing(batches, &dealt.batch);
        pool.push(dealt);
        let last = !more || interrupted;
        while alive && !workers.is_idle() && (last || workers.is_full()) {
            let collected = workers.collect(&mut merged, &mut |rows| {
                interrupted |= sink(rows, now)? == Control::Stop;
                Ok(())
            });
            alive = collected.is_some();
            collected.unwrap_or(Ok(())).map_err(PipelineError::Sink)?;
        }
        if last {
            break;
        }
        dealt = reuse(&mut pool);
        let into = Arc::get_mut(&mut dealt).expect("reuse gives one that nobody else holds");
        more = batches.next_into(&mut into.batch)?;
        into.deal(workers.len());
    }
    let end = pool
        .last()
        .map(|last| standing(batches, &last.batch))
        .expect("one batch was submitted");
    finish(batches, workers.finish(), merged, (end, interrupted), sink)
}

/// A batch that all shards are done with, or a new one.
fn reuse(pool: &mut Vec<Arc<Dealt>>) -> Arc<Dealt> {
    let free = pool.iter().position(|dealt| Arc::strong_count(dealt) == 1);
    free.map_or_else(Arc::default, |at| pool.swap_remove(at))
}

fn finish<E>(
    batches: &mut Batches<'_>,
    mut shards: Vec<Shard>,
    mut merged: Output,
    (end, interrupted): (Standing, bool),
    sink: &mut dyn FnMut(&Output, Standing) -> Result<Control, E>,
) -> Result<Outcome, PipelineError<E>> {
    let number = batches.packets();
    let mut protocols = Protocols::default();
    let mut stats = ShardStats::default();
    for shard in &mut shards {
        stats.absorb(shard.stats());
        shard.begin_finish();
    }
    loop {
        let cut = shards
            .iter()
            .filter_map(|shard| shard.cut_after(PIECE))
            .min();
        shards
            .iter_mut()
            .for_each(|shard| shard.finish_until(number, cut));
        if let [shard] = &mut shards[..] {
            std::mem::swap(shard.output(), &mut merged);
        } else {
            let outputs: Vec<&Output> = shards.iter_mut().map(|shard| &*shard.output()).collect();
            merged.append_merged(&outputs);
            shards.iter_mut().for_each(|shard| shard.output().clear());
        }
        if cut.is_none() {
            for shard in &shards {
                protocols.merge(shard.protocols());
            }
            protocols.write(&mut merged.side.protocols);
        }
        // Told to stop or not, what lived is written.
        sink(&merged, end).map_err(PipelineError::Sink)?;
        merged.clear();
        if cut.is_none() {
            break;
        }
    }
    info!(
        packets = number,
        skipped = batches.skipped().total(),
        interrupted,
        "analysis ended"
    );
    Ok(Outcome {
        packets: number,
        origin: batches.origin(),
        skipped: batches.skipped(),
        notes: batches.source().notes(),
        health: batches.health(),
        stats,
        interrupted,
    })
}
