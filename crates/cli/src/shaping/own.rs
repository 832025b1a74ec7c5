//! Our own CAKE on a thread, while the process does something else.

use crate::exit::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};
use unbloat_cake_nfqueue::{Options, ShapeError, Shaper};
use unbloat_undo::{Claim, Purpose, Resource};

/// Shapes on its own thread until ended or dropped. The kernel removes its rules if the process dies.
pub struct Own {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ShapeError>>>,
    _claim: Claim,
}

impl Own {
    pub fn begin(options: Options) -> Result<Own, Failure> {
        let queues = Resource::Queues {
            device: options.interface.clone(),
        };
        let claim = Claim::take(&queues, &Purpose::this_command())?;
        let stop = Arc::new(AtomicBool::new(false));
        let (begun, begins) = sync_channel(1);
        let until = Arc::clone(&stop);
        let shape = move || match Shaper::start(&options) {
            Ok(mut shaper) => {
                let _ = begun.send(Ok(()));
                shaper.run(&until, &mut |_| {})
            }
            Err(error) => {
                let _ = begun.send(Err(error));
                Ok(())
            }
        };
        let thread = Builder::new().name("shape".to_owned()).spawn(shape);
        let own = Own {
            stop,
            thread: Some(thread.map_err(ShapeError::Thread)?),
            _claim: claim,
        };
        // Nothing is sent only after a panic, which `join` reports.
        begins.recv().unwrap_or(Ok(()))?;
        Ok(own)
    }

    pub fn end(mut self) -> Result<(), Failure> {
        Ok(self.join()?)
    }

    fn join(&mut self) -> Result<(), ShapeError> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            let _ = self.join();
        }
    }
}
