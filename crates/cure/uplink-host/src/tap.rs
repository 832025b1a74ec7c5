//! What passes a device, as [`Listener`] is told of it.

use crate::error::UplinkError;
use crate::news::News;
use std::error::Error;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Instant;
use unbloat_capture::{CaptureError, LiveHeaders};
use unbloat_os::clock::monotonic;
use unbloat_units::{Bytes, Delta, Time};
use unbloat_uplink::Listener;
use unbloat_wire::{PacketFlags, PacketHeader, protocol};

/// Longest wait for a packet: news are no older for it.
const WAIT: Delta = Delta::ms(5);
/// Segments that carry less are not counted on to be answered.
const LEAST_DATA: u32 = 100;

/// Tells on a thread of its own what has left the device and what has arrived, until nobody listens any more.
pub(crate) fn listen(
    device: &str,
    begun: Instant,
    tell: SyncSender<News>,
) -> Result<(), UplinkError> {
    let (opened, result) = sync_channel(1);
    let name = device.to_owned();
    let thread = std::thread::Builder::new().name("tap".to_owned());
    let run = move || match Tap::open(&name, begun) {
        Err(error) => drop(opened.send(Err(error))),
        Ok(mut tap) => {
            let _ = opened.send(Ok(()));
            while tap.tell(&tell).is_some() {}
        }
    };
    let spawned = thread.spawn(run);
    spawned.map_err(|source| failed(device, source.into()))?;
    match result.recv() {
        Ok(Err(error)) => Err(failed(device, error.into())),
        _ => Ok(()),
    }
}

pub(crate) fn failed(device: &str, source: Box<dyn Error + Send + Sync>) -> UplinkError {
    let device = device.to_owned();
    UplinkError::Tap { device, source }
}

/// A device that is listened to.
struct Tap {
    headers: LiveHeaders,
    /// When the control began.
    begun: Time,
    listener: Listener,
}

impl Tap {
    fn open(device: &str, begun: Instant) -> Result<Tap, CaptureError> {
        Ok(Tap {
            headers: LiveHeaders::open(device, WAIT)?,
            begun: monotonic() - Delta::from_secs_f64(begun.elapsed().as_secs_f64()),
            listener: Listener::default(),
        })
    }

    /// Of what has passed since; waits a little for the first. None: nobody listens, or the device is gone.
    fn tell(&mut self, tell: &SyncSender<News>) -> Option<()> {
        let Tap {
            headers,
            begun,
            listener,
        } = self;
        let (mut left, mut news) = (Bytes::ZERO, Vec::new());
        let filled = headers.each(&mut |passed| {
            let (bytes, at) = (Bytes::new(passed.wire_len.into()), since(*begun, passed.at));
            let header = passed.header.filter(|header| is_stamped(header));
            if passed.is_outgoing {
                left += bytes;
                listener.left(bytes);
                if let Some(data) = header.filter(|header| header.payload_len >= LEAST_DATA) {
                    listener.sent(at, data.flow_hash, data.seq + data.payload_len);
                }
            } else if let Some(ack) = header {
                news.extend(listener.heard(at, ack.flow_hash, ack.ack, ack.tsval.raw()));
            }
        });
        if let Err(error) = filled {
            let _ = tell.send(News::Ended(error.into()));
            return None;
        }
        let left = (left > Bytes::ZERO).then_some(News::Left(left));
        let mut all = left
            .into_iter()
            .chain(news.into_iter().map(News::Occupancy));
        all.try_for_each(|one| tell.send(one).ok())
    }
}

/// Whether it is a TCP segment with a timestamp.
fn is_stamped(header: &PacketHeader) -> bool {
    header.protocol == protocol::TCP && header.flags.has(PacketFlags::TIMESTAMPS)
}

fn since(zero: Time, at: Time) -> Time {
    Time::from_ns((at - zero).as_ns())
}
