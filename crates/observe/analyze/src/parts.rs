//! What one shard wrote, piece by piece, and the pieces of several merged: in one process or in many.

use crate::Settings;
use crate::run::shard;
use crate::threads::PIECE;
use unbloat_trace::{Output, Protocols, Reached, ShardStats};
use unbloat_units::Time;
use unbloat_wire::Batch;

/// Rows that a shard wrote at one moment, or some of them.
pub(crate) struct Part {
    pub(crate) output: Output,
    /// Where it stopped, if these are not all.
    pub(crate) reached: Option<Reached>,
    /// How far they are merged.
    pub(crate) taken: Option<Reached>,
}

/// Has the rows of several shards about one moment merged into `merged`, and `take` called for it, piece by
/// piece. `next` puts another piece in the place of one that is merged, of the shard of that number.
pub(crate) fn merge_parts<E>(
    parts: &mut [Part],
    merged: &mut Output,
    next: &mut dyn FnMut(usize, &mut Part) -> Result<(), E>,
    take: &mut dyn FnMut(&Output) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        // Beyond this, rows of the shard that has come least far are still to come.
        let until = parts.iter().filter_map(|part| part.reached).min();
        let sources: Vec<_> = parts.iter().map(|p| (&p.output, p.taken)).collect();
        merged.append_merged_until(&sources, until);
        let result = take(merged);
        merged.clear();
        result?;
        if until.is_none() {
            return Ok(());
        }
        for (number, part) in parts.iter_mut().enumerate() {
            part.taken = until;
            if part.reached == until {
                next(number, part)?;
            }
        }
    }
}

/// When a shard wrote something, in the order in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// At the end of the batch that ends before the packet with this number.
    Batch(u64),
    /// At the end of the trace.
    End,
}

/// Analyses the packets of one part of the clients. `next` fills a batch with them and says whether one came: one for
/// each batch of the trace, also where none of its packets are of these clients. `sink` gets the rows, and how
/// far they go where more of that moment follow.
pub fn run_shard<E>(
    settings: &Settings,
    origin: Time,
    next: &mut dyn FnMut(&mut Batch) -> Result<bool, E>,
    sink: &mut dyn FnMut(At, &Output) -> Result<(), E>,
) -> Result<(ShardStats, Protocols), E> {
    let mut shard = shard(settings, origin);
    let mut batch = Batch::default();
    let mut packets = 0;
    while next(&mut batch)? {
        shard.process(&batch, 0..batch.headers.len() as u32);
        packets = batch.first_packet + u64::from(batch.packets);
        loop {
            let reached = shard.end_batch(&batch, PIECE);
            let output = shard.output();
            if reached.is_some() || !output.is_empty() {
                sink((Moment::Batch(packets), reached), output)?;
            }
            output.clear();
            if reached.is_none() {
                break;
            }
        }
    }
    let stats = shard.stats();
    shard.begin_finish();
    loop {
        let cut = shard.cut_after(PIECE);
        shard.finish_until(packets, cut);
        let reached = cut.map(|cut| Reached::new(packets, cut));
        sink((Moment::End, reached), shard.output())?;
        shard.output().clear();
        if cut.is_none() {
            return Ok((stats, shard.protocols().clone()));
        }
    }
}

/// When the rows of a piece were written, and how far they go where more of that moment follow.
pub type At = (Moment, Option<Reached>);

/// What [`run_shard`] gave to its sink, read again.
pub trait Pieces<E> {
    /// Puts the next rows in place of those in `output`; `None` after the last.
    fn next(&mut self, output: &mut Output) -> Result<Option<At>, E>;
}

/// A piece that was read and not merged.
struct Ahead<P> {
    pieces: P,
    moment: Option<Moment>,
    part: Part,
}

impl<P> Ahead<P> {
    fn read<E>(&mut self) -> Result<(), E>
    where
        P: Pieces<E>,
    {
        let next = self.pieces.next(&mut self.part.output)?;
        self.moment = next.map(|(moment, _)| moment);
        self.part.reached = next.and_then(|(_, reached)| reached);
        Ok(())
    }
}

/// Merges the rows of all shards: `sink` gets them in the order of all tables, as that of [`run`](crate::run()) does.
pub fn merge<E, P: Pieces<E>>(
    shards: Vec<P>,
    sink: &mut dyn FnMut(&Output) -> Result<(), E>,
) -> Result<(), E> {
    let ahead = shards.into_iter().map(|pieces| {
        let mut ahead = Ahead {
            pieces,
            moment: None,
            part: Part {
                output: Output::default(),
                reached: None,
                taken: None,
            },
        };
        ahead.read().map(|()| ahead)
    });
    let mut ahead: Vec<Ahead<P>> = ahead.collect::<Result<_, E>>()?;
    let mut merged = Output::default();
    while let Some(now) = ahead.iter().filter_map(|one| one.moment).min() {
        let is_now = |one: &&mut Ahead<P>| one.moment == Some(now);
        let mut due: Vec<&mut Ahead<P>> = ahead.iter_mut().filter(is_now).collect();
        let mut parts: Vec<Part> = due
            .iter_mut()
            .map(|one| Part {
                output: std::mem::take(&mut one.part.output),
                reached: one.part.reached,
                taken: None,
            })
            .collect();
        let mut next = |number: usize, part: &mut Part| {
            let one = &mut due[number];
            std::mem::swap(&mut one.part.output, &mut part.output);
            one.read()?;
            std::mem::swap(&mut one.part.output, &mut part.output);
            (part.reached, part.taken) = (one.part.reached, None);
            Ok(())
        };
        merge_parts(&mut parts, &mut merged, &mut next, sink)?;
        for (one, part) in due.into_iter().zip(parts) {
            one.part.output = part.output;
            one.read()?;
        }
    }
    Ok(())
}
