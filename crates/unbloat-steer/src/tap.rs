//! What passes an interface, as [`Autorate`] is told of it.

use crate::error::SteerError;
use unbloat_autorate::{Autorate, Seen, Stamps};
use unbloat_capture::LiveHeaders;
use unbloat_units::Delta;

/// Longest wait for a packet.
const WAIT: Delta = Delta::ms(10);

/// An interface that is listened to.
pub(crate) struct Tap {
    headers: LiveHeaders,
}

impl Tap {
    pub(crate) fn open(interface: &str) -> Result<Tap, SteerError> {
        Ok(Tap {
            headers: LiveHeaders::open(interface, WAIT)?,
        })
    }

    /// Tells of what has passed since; waits a little for the first.
    pub(crate) fn tell(&mut self, autorate: &mut Autorate) -> Result<(), SteerError> {
        self.headers.each(&mut |passed| {
            let seen = Seen {
                flow: passed.header.map_or(0, |header| header.flow_hash),
                bytes: passed.wire_len,
                stamps: passed.header.and_then(Stamps::of),
            };
            if passed.is_outgoing {
                autorate.outgoing(passed.at, &seen);
            } else {
                autorate.incoming(passed.at, &seen);
                // What the shaper behind lets through is not seen here: over a while it is what came.
                autorate.shaped(passed.at, seen.bytes);
            }
        })?;
        Ok(())
    }
}
