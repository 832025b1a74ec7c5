//! Shards on threads of their own.

use crate::deal::Dealt;
use crate::parts::{Part, merge_parts};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};
use unbloat_trace::{Output, Shard};

/// Batches that may wait for a shard: enough to even out their different pace, few enough to stay
/// in the cache.
const QUEUE: usize = 4;

/// Flows and users that end at once: their rows stay in a core's own cache.
pub(crate) const PIECE: usize = 512;

struct Worker<'scope> {
    work: SyncSender<Arc<Dealt>>,
    done: Receiver<Part>,
    spare: SyncSender<Output>,
    thread: ScopedJoinHandle<'scope, Shard>,
}

impl Worker<'_> {
    /// `None` when the shard has died.
    fn next_part(&self) -> Option<Part> {
        self.done.recv().ok()
    }

    /// Gives a buffer back.
    fn recycle(&self, mut output: Output) {
        output.clear();
        // A worker that is gone needs none.
        let _ = self.spare.try_send(output);
    }
}

/// Several shards that work on the same batches at once.
pub(crate) struct Workers<'scope> {
    workers: Vec<Worker<'scope>>,
    in_flight: usize,
}

impl<'scope> Workers<'scope> {
    pub(crate) fn start(scope: &'scope Scope<'scope, '_>, shards: Vec<Shard>) -> Workers<'scope> {
        let workers = shards.into_iter().enumerate().map(|(number, shard)| {
            let (work, work_in) = sync_channel(QUEUE);
            let (done_out, done) = sync_channel(QUEUE + 2);
            let (spare, spare_in) = sync_channel(QUEUE + 2);
            let thread = scope.spawn(move || serve(number, shard, &work_in, &done_out, &spare_in));
            Worker {
                work,
                done,
                spare,
                thread,
            }
        });
        Workers {
            workers: workers.collect(),
            in_flight: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether a further batch would have to wait; then outputs are to be taken first.
    pub(crate) fn is_full(&self) -> bool {
        self.in_flight > QUEUE
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Hands out a batch. `None` when a shard has died; `finish` tells of what.
    pub(crate) fn submit(&mut self, dealt: &Arc<Dealt>) -> Option<()> {
        for worker in &self.workers {
            worker.work.send(Arc::clone(dealt)).ok()?;
        }
        self.in_flight += 1;
        Some(())
    }

    /// Has what the shards wrote about the oldest batch that was handed out merged into `merged`, and
    /// `take` called for it, piece by piece. `None` when a shard has died.
    pub(crate) fn collect<E>(
        &mut self,
        merged: &mut Output,
        take: &mut dyn FnMut(&Output) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        self.in_flight -= 1;
        let workers = &self.workers;
        let mut parts: Vec<Part> = workers
            .iter()
            .map(Worker::next_part)
            .collect::<Option<_>>()?;
        let mut next = |number: usize, part: &mut Part| {
            let worker: &Worker<'_> = &workers[number];
            let new = worker.next_part().ok_or(None)?;
            let old = std::mem::replace(part, new);
            worker.recycle(old.output);
            Ok(())
        };
        let result = merge_parts(&mut parts, merged, &mut next, &mut |rows| {
            take(rows).map_err(Some)
        });
        for (worker, part) in workers.iter().zip(parts) {
            worker.recycle(part.output);
        }
        match result {
            Ok(()) => Some(Ok(())),
            Err(Some(error)) => Some(Err(error)),
            // A shard has died.
            Err(None) => None,
        }
    }

    /// Ends the threads and returns their shards; a panic in one goes on here.
    pub(crate) fn finish(self) -> Vec<Shard> {
        let threads: Vec<_> = self
            .workers
            .into_iter()
            .map(|worker| worker.thread)
            .collect();
        let joined = threads.into_iter().map(ScopedJoinHandle::join);
        joined
            .map(|shard| shard.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    }
}

fn serve(
    number: usize,
    mut shard: Shard,
    work: &Receiver<Arc<Dealt>>,
    done: &SyncSender<Part>,
    spare: &Receiver<Output>,
) -> Shard {
    let blank = shard.output().clone();
    while let Ok(dealt) = work.recv() {
        shard.process(&dealt.batch, dealt.hands[number].iter().copied());
        let next = |from: &mut Shard| {
            let reached = from.end_batch(&dealt.batch, PIECE);
            let fresh = spare.try_recv().unwrap_or_else(|_| blank.clone());
            Part {
                output: std::mem::replace(from.output(), fresh),
                reached,
                taken: None,
            }
        };
        let mut part = next(&mut shard);
        while part.reached.is_some() {
            if done.send(part).is_err() {
                return shard;
            }
            part = next(&mut shard);
        }
        // Before the last part goes, so that the batch can be used again.
        drop(dealt);
        if done.send(part).is_err() {
            break;
        }
    }
    shard
}
