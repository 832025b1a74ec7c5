//! Files written by a thread of their own, so that a slow disk does not delay packets.

use crate::error::{LabError, at};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

const CHUNK: usize = 1 << 20;
/// At most this many chunks wait for the disk before writers have to.
const WAITING: usize = 256;

type Chunk = (Arc<File>, Vec<u8>);

/// The thread that writes.
pub(crate) struct DiskThread {
    sender: SyncSender<Chunk>,
    thread: JoinHandle<std::io::Result<()>>,
}

/// One file; what is written here reaches it a chunk at a time and at the latest on drop.
pub(crate) struct Sink {
    file: Arc<File>,
    buffer: Vec<u8>,
    sender: SyncSender<Chunk>,
}

impl DiskThread {
    pub(crate) fn start() -> DiskThread {
        let (sender, receiver) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || write_all(&receiver));
        DiskThread { sender, thread }
    }

    pub(crate) fn create(&self, path: &Path) -> Result<Sink, LabError> {
        Ok(Sink {
            file: Arc::new(File::create(path).map_err(at(path))?),
            buffer: Vec::with_capacity(CHUNK + 4096),
            sender: self.sender.clone(),
        })
    }

    /// Waits until everything is written; all sinks must have been dropped.
    pub(crate) fn finish(self, folder: &Path) -> Result<(), LabError> {
        drop(self.sender);
        let what = "disk";
        let written = self.thread.join().map_err(|_| LabError::Thread { what })?;
        written.map_err(at(folder))
    }
}

fn write_all(chunks: &Receiver<Chunk>) -> std::io::Result<()> {
    while let Ok((file, bytes)) = chunks.recv() {
        (&*file).write_all(&bytes)?;
    }
    Ok(())
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let next = Vec::with_capacity(CHUNK + 4096);
        let full = std::mem::replace(&mut self.buffer, next);
        let sent = self.sender.send((self.file.clone(), full));
        sent.map_err(|_| std::io::Error::other("the disk thread has stopped"))
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.buffer);
        // A stopped disk thread has its own error, which `finish` returns.
        let _ = self.sender.send((self.file.clone(), rest));
    }
}
