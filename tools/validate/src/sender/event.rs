//! One event as the BPF programs lay it out, and its row.

use crate::clock::Clock;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use zerocopy::FromBytes;

pub(crate) const COLUMNS: &str = "time_ns,kind,source,source_port,destination,\
    destination_port,snd_una,snd_nxt,snd_cwnd,snd_ssthresh,packets_out,retrans_out,sacked_out,\
    lost_out,srtt_us,high_seq,ca_state,retransmits,backoff,pending,ip_id,seq,end_seq,value";

const KINDS: [&str; 5] = ["rtt", "ack", "ca_state", "retransmit", "synack_retransmit"];

/// `struct event` of `bpf/sender.bpf.c`: same members, same order.
#[derive(Clone, Copy, Debug, FromBytes)]
#[repr(C)]
pub(crate) struct Event {
    time_ns: u64,
    local: [u8; 4],
    remote: [u8; 4],
    local_port: u16,
    remote_port: u16,
    snd_una: u32,
    snd_nxt: u32,
    snd_cwnd: u32,
    snd_ssthresh: u32,
    packets_out: u32,
    retrans_out: u32,
    sacked_out: u32,
    lost_out: u32,
    srtt_us: u32,
    high_seq: u32,
    seq: u32,
    end_seq: u32,
    value: u32,
    kind: u8,
    ca_state: u8,
    retransmits: u8,
    backoff: u8,
    pending: u8,
    unused: u8,
    ip_id: u16,
}

impl Event {
    pub(crate) fn write(&self, clock: Clock, out: &mut impl Write) -> io::Result<()> {
        let [local, remote] = [self.local, self.remote].map(Ipv4Addr::from);
        write!(
            out,
            "{},{},{local},{},{remote},{}",
            clock.wall(self.time_ns).as_ns(),
            KINDS[usize::from(self.kind)],
            self.local_port,
            self.remote_port
        )?;
        for value in [
            self.snd_una,
            self.snd_nxt,
            self.snd_cwnd,
            self.snd_ssthresh,
            self.packets_out,
            self.retrans_out,
            self.sacked_out,
            self.lost_out,
            self.srtt_us,
            self.high_seq,
            u32::from(self.ca_state),
            u32::from(self.retransmits),
            u32::from(self.backoff),
            u32::from(self.pending),
            u32::from(self.ip_id),
            self.seq,
            self.end_seq,
            self.value,
        ] {
            write!(out, ",{value}")?;
        }
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn a_row_has_a_value_for_every_column() {
        let mut event = Event::new_zeroed();
        event.kind = 1;
        event.local = [10, 99, 0, 1];
        event.value = 77;
        let mut row = Vec::new();
        event.write(Clock::start(), &mut row).unwrap();
        let row = String::from_utf8(row).unwrap();
        assert_eq!(row.split(',').count(), COLUMNS.split(',').count());
        assert!(
            row.contains(",ack,10.99.0.1,0,") && row.ends_with(",77\n"),
            "{row}"
        );
    }

    #[test]
    fn the_layout_is_that_of_the_c_struct() {
        assert_eq!(size_of::<Event>(), 80);
        assert_eq!(std::mem::offset_of!(Event, value), 68);
    }
}
