//! Packet by packet.

use super::Ear;
use crate::error::SteerError;
use unbloat_autorate::{Pairing, Seen};
use unbloat_capture::LiveHeaders;
use unbloat_units::Delta;

/// Longest wait for a packet.
const WAIT: Delta = Delta::ms(10);

pub(super) struct Packets {
    headers: LiveHeaders,
    pairing: Pairing,
}

impl Packets {
    pub(super) fn open(interface: &str) -> Result<Packets, SteerError> {
        Ok(Packets {
            headers: LiveHeaders::open(interface, WAIT)?,
            pairing: Pairing::default(),
        })
    }

    pub(super) fn tell(&mut self, ear: &mut dyn Ear) -> Result<(), SteerError> {
        let Packets { headers, pairing } = self;
        headers.each(&mut |passed| {
            let seen = Seen {
                flow: passed.header.map_or(0, |header| header.flow_hash),
                bytes: passed.wire_len,
                stamps: passed.header.and_then(unbloat_autorate::Stamps::of),
            };
            if passed.is_outgoing {
                ear.passed(passed.at, &pairing.outgoing(passed.at, &seen));
                return;
            }
            let (tally, heard) = pairing.incoming(passed.at, &seen);
            ear.passed(passed.at, &tally);
            if let Some(heard) = heard {
                ear.heard(passed.at, &heard);
            }
        })?;
        Ok(())
    }
}
