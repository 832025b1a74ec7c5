//! Shards on threads of their own.

use crate::deal::Dealt;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};
use unbloat_trace::{Output, Shard};

/// Batches that may wait for a shard: enough to even out their different pace, few enough to stay
/// in the cache.
const QUEUE: usize = 4;

struct Worker<'scope> {
    work: Sender<Arc<Dealt>>,
    done: Receiver<Output>,
    spare: Sender<Output>,
    thread: ScopedJoinHandle<'scope, Shard>,
}

/// Several shards that work on the same batches at once.
pub(crate) struct Workers<'scope> {
    workers: Vec<Worker<'scope>>,
    in_flight: usize,
}

impl<'scope> Workers<'scope> {
    pub(crate) fn start(scope: &'scope Scope<'scope, '_>, shards: Vec<Shard>) -> Workers<'scope> {
        let workers = shards.into_iter().enumerate().map(|(number, shard)| {
            let (work, work_in) = bounded(QUEUE);
            let (done_out, done) = bounded(QUEUE + 2);
            let (spare, spare_in) = bounded(QUEUE + 2);
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

    /// What the shards wrote about the oldest batch that was handed out.
    pub(crate) fn collect(&mut self) -> Option<Vec<Output>> {
        self.in_flight -= 1;
        self.workers
            .iter()
            .map(|worker| worker.done.recv().ok())
            .collect()
    }

    /// Gives the buffers back.
    pub(crate) fn recycle(&self, outputs: Vec<Output>) {
        for (worker, mut output) in self.workers.iter().zip(outputs) {
            output.clear();
            // A worker that is gone needs no buffers.
            let _ = worker.spare.try_send(output);
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
    done: &Sender<Output>,
    spare: &Receiver<Output>,
) -> Shard {
    while let Ok(dealt) = work.recv() {
        shard.process(&dealt.batch, dealt.hands[number].iter().copied());
        shard.end_batch(&dealt.batch);
        drop(dealt);
        let fresh = spare.try_recv().unwrap_or_default();
        if done.send(std::mem::replace(shard.output(), fresh)).is_err() {
            break;
        }
    }
    shard
}
