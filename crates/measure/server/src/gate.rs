//! Lets a sender put the next piece into HTTP only when the last one is in the kernel.
//!
//! `TCP_NOTSENT_LOWAT` bounds what waits in the kernel; HTTP/2 and TLS have queues above it, which would fill
//! instead. A piece that is one frame is written and flushed by itself, so one piece between two flushes is all that
//! these ever hold.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use unbloat_os::lock::lock;

#[derive(Default)]
pub struct Gate(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    flushes: u64,
    /// At most one for each transfer of the connection.
    waiting: Vec<Waker>,
}

/// Where one transfer stands before the gate.
#[derive(Default)]
pub struct Pass(Option<u64>);

impl Gate {
    /// All that was written is in the kernel.
    pub fn flushed(&self) {
        let mut inner = lock(&self.0);
        inner.flushes += 1;
        let waiting = std::mem::take(&mut inner.waiting);
        drop(inner);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ready once after each flush.
    pub fn poll_pass(&self, pass: &mut Pass, context: &Context<'_>) -> Poll<()> {
        let mut inner = lock(&self.0);
        if pass.0 == Some(inner.flushes) {
            if !inner.waiting.iter().any(|w| w.will_wake(context.waker())) {
                inner.waiting.push(context.waker().clone());
            }
            return Poll::Pending;
        }
        pass.0 = Some(inner.flushes);
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_passes_between_two_flushes() {
        let gate = Gate::default();
        let (mut one, mut other) = (Pass::default(), Pass::default());
        let context = Context::from_waker(Waker::noop());
        assert!(gate.poll_pass(&mut one, &context).is_ready());
        assert!(gate.poll_pass(&mut one, &context).is_pending());
        assert!(gate.poll_pass(&mut other, &context).is_ready());
        gate.flushed();
        assert!(gate.poll_pass(&mut one, &context).is_ready());
        assert!(gate.poll_pass(&mut one, &context).is_pending());
        assert_eq!(gate.0.lock().unwrap().waiting.len(), 1);
    }
}
