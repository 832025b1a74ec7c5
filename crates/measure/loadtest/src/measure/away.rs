//! Whether the server is still there: asked only once there are signs that it is not.

use super::Test;
use crate::measured::Gone;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpStream;
use tracing::debug;
use unbloat_os::lock::lock;
use unbloat_responsiveness::Leaving;
use unbloat_units::{Bytes, Delta, Time};

/// For so long neither a datagram nor a byte of load came: longer than the deepest buffers hold.
const SILENCE: Delta = Delta::secs(5);
/// For a new connection, which may have to wait in such a buffer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A server that answered is not asked again for so long.
const AGAIN: Delta = Delta::secs(2);

/// What was last seen of the server.
pub(super) struct Life {
    last: Time,
    carried: Bytes,
    not_before: Time,
}

impl Life {
    pub(super) fn new(now: Time) -> Life {
        Life {
            last: now,
            carried: Bytes::ZERO,
            not_before: now,
        }
    }
}

impl Test<'_> {
    /// Looks for signs of life and of death; the load carried so much, and ended if it has none open.
    pub(super) async fn look_for_server(
        &self,
        life: &mut Life,
        now: Time,
        (carried, has_ended): (Bytes, bool),
    ) -> Option<Gone> {
        if let Some(status) = self.carrier.as_ref().and_then(|carrier| carrier.asked()) {
            let how = Leaving::Asked { status };
            return Some(Gone { at: now, how });
        }
        let last_heard = || self.echoing.as_ref().and_then(|echoing| echoing.heard());
        let heard = last_heard();
        if carried > life.carried {
            (life.carried, life.last) = (carried, now);
        }
        life.last = heard.map_or(life.last, |heard| heard.max(life.last));
        let account = self.account.as_ref();
        let is_told = account.is_some_and(|(account, _)| lock(account).failure.is_some());
        // Without datagrams and without load nobody would have been heard.
        let is_silent = heard.is_some() && now.since(life.last) > SILENCE;
        if !(is_told || has_ended || is_silent) || now < life.not_before {
            return None;
        }
        let asked = self.clock.now();
        let address = self.carrier.as_ref()?.dialer.address;
        let connecting = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await;
        life.not_before = self.clock.now() + AGAIN;
        debug!(
            %address,
            silent_ms = now.since(life.last).as_ms(),
            is_there = matches!(connecting, Ok(Ok(_))),
            "looked whether the server is still there"
        );
        let how = match connecting {
            Ok(Ok(_)) => return None,
            // On a full line the handshake may be lost again and again while datagrams come back.
            Err(_) if last_heard().is_some_and(|last| last > asked) => return None,
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Leaving::Refused,
            Ok(Err(_)) | Err(_) => Leaving::Silent,
        };
        Some(Gone { at: life.last, how })
    }
}

/// Body bytes of load connections, and whether all of them have ended.
pub(super) fn of_loads<'a>(
    flows: impl Iterator<Item = &'a crate::flow::Flow> + Clone,
) -> (Bytes, bool) {
    let bytes = flows.clone();
    let bytes = bytes
        .map(|flow| flow.pace.bytes.load(Ordering::Relaxed))
        .sum();
    let mut open = flows.clone().map(crate::flow::Flow::is_open);
    let has_any = flows.count() > 0;
    (Bytes::new(bytes), has_any && !open.any(|open| open))
}
