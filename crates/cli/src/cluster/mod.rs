//! `unbloat cluster`: the steps of an analysis that many machines share.

mod args;

pub use args::Args;

use crate::analyze::{self, tell};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::print::{self, note};
use crate::stop::stop_on_ctrl_c;
use crate::terminal;
use args::{DealArgs, IndexArgs, MergeArgs, PlanArgs, ShardArgs, Step};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::Ordering;
use unbloat_api::cluster::steps::AskedCut;
use unbloat_api::cluster::{merge, steps};
use unbloat_api::folder::NewRun;
use unbloat_html::verdict_text;

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let stop = stop_on_ctrl_c()?;
    let is_stopped = || stop.load(Ordering::Relaxed);
    let done = match &args.step {
        Step::Index(args) => index(args, &is_stopped),
        Step::Plan(args) => plan(args),
        Step::Deal(args) => deal(args, &is_stopped),
        Step::Seal(args) => seal(&args.place.place, &is_stopped),
        Step::Shard(args) => shard(args, &is_stopped),
        Step::Merge(args) => run_of(args),
    };
    match done {
        Err(error) if matches!(error.downcast_ref(), Some(steps::ClusterError::Stopped)) => {
            Ok(Exit::Interrupted)
        }
        other => other,
    }
}

fn index(args: &IndexArgs, is_stopped: &dyn Fn() -> bool) -> Result<Exit, Failure> {
    let place = steps::Place::open(&args.place.place)?;
    let reading = steps::Reading {
        client_nets: args.orientation.client_net.clone(),
        gtp_ports: args.orientation.gtp_port.clone(),
    };
    let mut is_damaged = false;
    for input in steps::expand(&args.inputs)? {
        let indexes = steps::index(&place, &[input], &reading, is_stopped)?;
        for index in indexes {
            note!("{}: {} packets", index.input, index.packets);
            for damage in &index.notes.damage {
                note!("unbloat: {damage}");
                is_damaged = true;
            }
        }
    }
    Ok(if is_damaged {
        Exit::Damaged
    } else {
        Exit::Complete
    })
}

/// How the trace is cut; run one `deal` for each slice, then one `shard` for each bucket.
#[derive(Serialize, JsonSchema)]
pub struct PlanDocument {
    /// Captures that hold packets.
    captures: usize,
    packets: u64,
    /// Parts of the time, numbered from 0.
    slices: u32,
    /// Parts of the clients, numbered from 0.
    buckets: u32,
}

fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let place = steps::Place::open(&args.place.place)?;
    let asked = AskedCut {
        slices: args.slices,
        buckets: args.buckets,
        warm_up_batches: None,
    };
    let plan = steps::plan(&place, &args.params.params(), asked)?;
    let document = PlanDocument {
        captures: plan.inputs.len(),
        packets: plan.packets,
        slices: plan.cut.slices,
        buckets: plan.cut.buckets,
    };
    match args.json {
        true => print::json(&document)?,
        false => print::line(format_args!(
            "{} packets of {} captures in {} slices and {} buckets",
            document.packets, document.captures, document.slices, document.buckets
        ))?,
    }
    Ok(Exit::Complete)
}

fn deal(args: &DealArgs, is_stopped: &dyn Fn() -> bool) -> Result<Exit, Failure> {
    let place = steps::Place::open(&args.place.place)?;
    let all = steps::Plan::of(&place)?.cut.slices;
    for slice in given_or_all(&args.slice, all) {
        let dealt = steps::deal(&place, slice, is_stopped)?;
        note!("slice {slice}: {} packets", dealt.packets);
    }
    Ok(Exit::Complete)
}

fn seal(place: &str, is_stopped: &dyn Fn() -> bool) -> Result<Exit, Failure> {
    let sealed = steps::seal(&steps::Place::open(place)?, is_stopped)?;
    for slice in &sealed.dealt_again {
        note!("slice {slice} was dealt again, because the packets before it did not tell enough");
    }
    Ok(Exit::Complete)
}

fn shard(args: &ShardArgs, is_stopped: &dyn Fn() -> bool) -> Result<Exit, Failure> {
    let place = steps::Place::open(&args.place.place)?;
    let all = steps::Plan::of(&place)?.cut.buckets;
    for bucket in given_or_all(&args.bucket, all) {
        steps::shard(&place, bucket, is_stopped)?;
        note!("bucket {bucket}: done");
    }
    Ok(Exit::Complete)
}

fn given_or_all(given: &[u32], all: u32) -> Vec<u32> {
    match given {
        [] => (0..all).collect(),
        some => some.to_vec(),
    }
}

fn run_of(args: &MergeArgs) -> Result<Exit, Failure> {
    let place = steps::Place::open(&args.place.place)?;
    let (outcome, stored) = merge(
        &place,
        NewRun {
            out: args.out.clone(),
            command: std::env::args().collect(),
            is_published: true,
        },
    )?;
    tell(&outcome);
    let verdict = &stored.found.verdict;
    let said = verdict_text(verdict, terminal::width());
    print::text(&analyze::tone(verdict.kind).paint_first(&said))?;
    if let Some(dir) = &stored.dir {
        output::tell(dir);
    }
    Ok(match outcome.notes.damage.is_empty() {
        true => Exit::Complete,
        false => Exit::Damaged,
    })
}
