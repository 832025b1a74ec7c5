//! Packet by packet.

use super::Ear;
use crate::clock::{self, Stamps, Wall};
use crate::error::SteerError;
use unbloat_autorate::{Pairing, Seen};
use unbloat_capture::LiveHeaders;
use unbloat_units::Delta;

/// Longest wait for a packet.
const WAIT: Delta = Delta::ms(10);

pub(super) struct Packets {
    headers: LiveHeaders,
    pairing: Pairing,
    stamps: Stamps,
}

impl Packets {
    pub(super) fn open(interface: &str) -> Result<Packets, SteerError> {
        Ok(Packets {
            headers: LiveHeaders::open(interface, WAIT)?,
            pairing: Pairing::default(),
            stamps: Stamps::from(clock::now()),
        })
    }

    pub(super) fn tell(&mut self, ear: &mut dyn Ear) -> Result<(), SteerError> {
        let Packets {
            headers,
            pairing,
            stamps,
        } = self;
        let mut all = Vec::new();
        headers.each(&mut |passed| {
            let seen = Seen {
                flow: passed.header.map_or(0, |header| header.flow_hash),
                bytes: passed.wire_len,
                stamps: passed.header.and_then(unbloat_autorate::Stamps::of),
            };
            all.push((passed.at, passed.is_outgoing, seen));
        })?;
        // Looked at behind them: a clock that was set before has its new difference then.
        let wall = Wall::look();
        for (stamp, is_outgoing, seen) in all {
            let at = stamps.time(stamp, wall);
            if is_outgoing {
                ear.passed(at, &pairing.outgoing(at, &seen));
                continue;
            }
            let (tally, heard) = pairing.incoming(at, &seen);
            ear.passed(at, &tally);
            if let Some(heard) = heard {
                ear.heard(at, &heard);
            }
        }
        Ok(())
    }
}
