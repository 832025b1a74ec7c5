//! What a packet capture on each host sees.

use super::{CaptureFile, Captures, ETHERNET, RAW_IP, unwritable};
use crate::error::LabError;
use crate::stage::{DEVICE, Place, Stage};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use unbloat_capture::{LiveOptions, LiveSource, PcapWriter, Source};
use unbloat_units::{Bytes, Delta};

/// Packets that are taken at once.
const BATCH: usize = 4_096;
/// How long it waits for a packet before it looks whether it is to stop.
const PATIENCE: Delta = Delta::ms(100);
const RING: Bytes = Bytes::mib(8);

/// Captures that are under way, one thread for each host.
pub(crate) struct HostCaptures<'scope> {
    threads: Vec<ScopedJoinHandle<'scope, Result<CaptureFile, LabError>>>,
}

impl<'scope> HostCaptures<'scope> {
    /// Begins to capture at every host, until `over`.
    pub(crate) fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        stage: &'env Stage,
        captures: &'env Captures,
        over: &'env AtomicBool,
    ) -> Result<Self, LabError> {
        let is_wanted = |place: &&Place| {
            let hosts = captures.hosts.as_ref();
            hosts.is_none_or(|hosts| hosts.iter().any(|host| host == place.host.role()))
        };
        let places = stage.sides.iter().flat_map(|side| side.values());
        let places = places.filter(is_wanted);
        let threads = places.map(|place| {
            let source = open(place, captures)?;
            let link = match place.is_on_ethernet {
                true => ETHERNET,
                false => RAW_IP,
            };
            let path = captures.folder.join(format!("{}.pcap", place.host.role()));
            let name = place.host.role().to_owned();
            let thread = std::thread::Builder::new().name("capture".to_owned());
            let capture = move || write(source, name, path, (link, captures.snap_len), over);
            thread
                .spawn_scoped(scope, capture)
                .map_err(LabError::Thread)
        });
        Ok(HostCaptures {
            threads: threads.collect::<Result<_, _>>()?,
        })
    }

    /// What was captured, once `over` is set.
    pub(crate) fn finish(self) -> Result<Vec<CaptureFile>, LabError> {
        let threads = self.threads.into_iter();
        threads
            .map(|thread| thread.join().map_err(|_| LabError::Panicked)?)
            .collect()
    }
}

fn open(place: &Place, captures: &Captures) -> Result<LiveSource, LabError> {
    let options = LiveOptions {
        snap_len: captures.snap_len,
        timeout: PATIENCE,
        ring: RING,
        ..LiveOptions::default()
    };
    let source = place.host.within(|| LiveSource::open(DEVICE, &options))?;
    Ok(source?)
}

fn write(
    mut source: LiveSource,
    name: String,
    path: PathBuf,
    (link, snap_len): (u16, u32),
    over: &AtomicBool,
) -> Result<CaptureFile, LabError> {
    let file = File::create(&path).map_err(unwritable(&path))?;
    let writer = PcapWriter::new(BufWriter::new(file), link, snap_len);
    let mut writer = writer.map_err(unwritable(&path))?;
    let mut packets = 0;
    loop {
        // Asked before the last look, so that nothing is left behind.
        let is_over = over.load(Ordering::Relaxed);
        let mut written = Ok(());
        let taken = source.fill(BATCH, &mut |record| {
            if written.is_ok() {
                written = writer.write(&record);
            }
        })?;
        written.map_err(unwritable(&path))?;
        packets += taken as u64;
        if is_over && taken == 0 {
            break;
        }
    }
    let missed = source.notes().kernel_drops.unwrap_or(0);
    writer.finish().map_err(unwritable(&path))?;
    Ok(CaptureFile {
        name,
        path,
        packets,
        missed,
    })
}
