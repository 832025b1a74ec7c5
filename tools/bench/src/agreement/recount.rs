//! Counts once more, packet by packet, by each tool's own definition.
//!
//! A difference between two tools is explained where both say what their definitions give. Slow and
//! plain on purpose: lists instead of rings, no bounds, nothing shared with the engine but the parser.
//!
//! # References
//! tcptrace 6.6.7 `rexmit.c` (`ack_in`, `rtt_ackin`, `addseg`) and `trace.c` (`owin_tot`); Wireshark
//! 4.0 `packet-tcp.c` (`tcp_analyze_sequence_number`, `tcp_analyze_get_acked_struct`).

use super::flow::{Key, Keys};
use crate::error::BenchError;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddrV4};
use std::path::Path;
use unbloat_capture::{Input, Reader, Source};
use unbloat_units::{Seq, Time};
use unbloat_wire::{Batch, FlowHasher, PacketHeader, Parser, ParserParams, TcpFlags, protocol};

const ENDS: u8 = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST;

/// One direction of data, and the ACKs about it.
#[derive(Clone, Debug, Default)]
pub struct Recount {
    /// Packets with payload of which a byte had been seen.
    pub data_copies: u64,
    /// SYNs and FINs without payload sent again.
    pub control_copies: u64,
    pub dup_acks: DupAcks,
    pub zero_windows: ZeroWindows,
    /// RTT samples by three rules.
    pub karn: Samples,
    pub tcptrace: Samples,
    pub tshark: Samples,
}

/// Packets without payload that repeat the highest ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct DupAcks {
    /// tcptrace: the same window, once the data's sender had sent anything after its SYN.
    pub tcptrace: u64,
    /// tshark: the same window, not zero, no FIN or RST, at the next sequence number.
    pub tshark: u64,
    /// unbloat: data outstanding, no FIN or RST, the same window or SACK blocks.
    pub unbloat: u64,
}

/// Packets of the data's receiver, SYN, FIN and RST aside, with a window of zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroWindows {
    /// tcptrace and tshark: all of them.
    pub packets: u64,
    /// unbloat: those before which the window was open.
    pub closings: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Samples {
    pub count: u64,
    sum_ms: f64,
    pub min_ms: Option<f64>,
}

impl Samples {
    fn add(&mut self, sent: Time, now: Time) {
        let ms = now.since(sent).as_ms();
        self.count += 1;
        self.sum_ms += ms;
        self.min_ms = Some(self.min_ms.map_or(ms, |min| min.min(ms)));
    }

    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ms / self.count as f64)
    }
}

pub type Recounts = BTreeMap<Key, [Recount; 2]>;

pub fn read(capture: &Path) -> Result<Recounts, BenchError> {
    let mut reader = Reader::open(&Input::File(capture.to_owned()))?;
    let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(1));
    let mut batch = Batch::default();
    let mut flows: BTreeMap<Key, [Half; 2]> = BTreeMap::new();
    while let Some(r) = reader.next()? {
        batch.restart(0);
        parser.push(&mut batch, r.link, r.data, r.wire_len, r.time);
        for header in &batch.headers {
            take(&mut flows, header);
        }
    }
    let recounts = flows
        .into_iter()
        .map(|(key, halves)| (key, halves.map(|half| half.counts)));
    Ok(recounts.collect())
}

/// Ports are taken as used once: the beds never use a pair of ports again.
fn take(flows: &mut BTreeMap<Key, [Half; 2]>, header: &PacketHeader) {
    let end = |address: unbloat_wire::Address, port| match address.to_ip() {
        IpAddr::V4(ip) => Some(SocketAddrV4::new(ip, port)),
        IpAddr::V6(_) => None,
    };
    let (from, to) = (
        end(header.src, header.src_port),
        end(header.dst, header.dst_port),
    );
    let Some((from, to)) = from.zip(to).filter(|_| header.protocol == protocol::TCP) else {
        return;
    };
    let (key, sent) = Keys::default().next(from, to);
    let halves = flows.entry(key).or_default();
    let at_next = halves[sent].high.is_some_and(|high| high == header.seq);
    halves[sent].on_data(header);
    halves[1 - sent].on_ack(header, at_next);
}

/// What was sent in one direction and how far it is acknowledged.
#[derive(Default)]
struct Half {
    high: Option<Seq>,
    acked: Option<Seq>,
    window: u16,
    /// Not acknowledged yet, in the order in which they first passed.
    outstanding: Vec<Sent>,
    /// Copies of what was acknowledged before, by their ends.
    needless: Vec<(Seq, Time)>,
    /// The latest transmission of anything that is acknowledged now.
    last_below: Option<Time>,
    /// Sent anything after the SYN.
    begun: bool,
    counts: Recount,
}

#[derive(Clone, Copy)]
struct Sent {
    begin: Seq,
    end: Seq,
    first: Time,
    last: Time,
    /// It filled a gap: below the highest byte, and new.
    late: bool,
}

impl Half {
    fn on_data(&mut self, header: &PacketHeader) {
        self.begun |= !header.tcp_flags.syn();
        if header.seq_len() == 0 || header.tcp_flags.rst() {
            return;
        }
        let (begin, end, now) = (header.seq, header.seq + header.seq_len(), header.time);
        let high = *self.high.get_or_insert(begin);
        let is_acked = self.acked.is_some_and(|acked| begin.before(acked));
        let overlaps = |s: &&mut Sent| begin.before(s.end) && s.begin.before(end);
        let mut again = 0;
        for sent in self.outstanding.iter_mut().filter(overlaps) {
            sent.last = now;
            again += 1;
        }
        if again > 0 || begin.before(high) && is_acked {
            let count = if header.payload_len > 0 {
                &mut self.counts.data_copies
            } else {
                &mut self.counts.control_copies
            };
            *count += 1;
            if again == 0 {
                self.last_below = self.last_below.max(Some(now));
                self.needless.push((end, now));
            }
        } else {
            let late = begin.before(high);
            self.outstanding.push(Sent {
                begin,
                end,
                first: now,
                last: now,
                late,
            });
        }
        self.high = Some(high.later(end));
    }

    fn on_ack(&mut self, header: &PacketHeader, at_next: bool) {
        if !header.tcp_flags.ack() {
            return;
        }
        let ack = header.ack;
        match self.acked {
            Some(acked) if ack == acked => self.same(header, at_next),
            Some(acked) if ack.before(acked) => return,
            _ => self.advance(header, ack),
        }
        if let Some(i) = self.needless.iter().position(|&(end, _)| end == ack) {
            self.counts
                .tshark
                .add(self.needless.swap_remove(i).1, header.time);
        }
        if header.window == 0 && header.tcp_flags.0 & ENDS == 0 {
            self.counts.zero_windows.packets += 1;
            self.counts.zero_windows.closings += u64::from(self.window > 0);
        }
        self.window = header.window;
    }

    fn same(&mut self, header: &PacketHeader, at_next: bool) {
        let flags = header.tcp_flags;
        if header.payload_len > 0 || flags.syn() {
            return;
        }
        let same_window = header.window == self.window;
        let is_plain = !flags.fin() && !flags.rst();
        let ahead = |high: Seq| self.acked.is_some_and(|acked| high.after(acked));
        let is_outstanding = self.high.is_some_and(ahead);
        let has_sack = header.options_len > 0;
        let dup = &mut self.counts.dup_acks;
        dup.tcptrace += u64::from(same_window && self.begun);
        dup.tshark += u64::from(same_window && is_plain && header.window > 0 && at_next);
        dup.unbloat += u64::from(is_plain && is_outstanding && (same_window || has_sack));
    }

    fn advance(&mut self, header: &PacketHeader, ack: Seq) {
        let now = header.time;
        let (acked, outstanding): (Vec<Sent>, Vec<Sent>) = self
            .outstanding
            .iter()
            .partition(|sent| !sent.end.after(ack));
        self.outstanding = outstanding;
        self.acked = Some(ack);
        let latest = acked
            .iter()
            .map(|sent| sent.last)
            .max()
            .max(self.last_below);
        self.last_below = latest;
        let Some(hit) = acked.iter().find(|sent| sent.end == ack) else {
            return;
        };
        let is_once = |sent: &Sent| sent.first == sent.last;
        self.counts.tshark.add(hit.first, now);
        if is_once(hit) && latest <= Some(hit.last) {
            self.counts.tcptrace.add(hit.first, now);
        }
        if acked.iter().all(|sent| is_once(sent) && !sent.late) && !header.tcp_flags.rst() {
            self.counts.karn.add(hit.first, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_wire::Address;

    const SERVER: [u8; 4] = [10, 0, 0, 1];
    const CLIENT: [u8; 4] = [10, 0, 0, 2];

    fn packet(ms: i64, from: [u8; 4], seq: u32, len: u32, ack: u32) -> PacketHeader {
        let to = if from == SERVER { CLIENT } else { SERVER };
        PacketHeader {
            time: Time::from_ns(ms * 1_000_000),
            src: Address::v4(from),
            dst: Address::v4(to),
            src_port: 80,
            dst_port: 80,
            seq: Seq::new(seq),
            ack: Seq::new(ack),
            payload_len: len,
            window: 100,
            tcp_flags: TcpFlags(TcpFlags::ACK),
            protocol: protocol::TCP,
            ..PacketHeader::default()
        }
    }

    fn recount(packets: &[PacketHeader]) -> Recount {
        let mut flows = BTreeMap::new();
        packets.iter().for_each(|header| take(&mut flows, header));
        let (_, [server, _]) = flows.into_iter().next().expect("one flow");
        server.counts
    }

    #[test]
    fn a_copy_below_the_ack_spoils_tcptraces_sample_and_not_karns() {
        let counts = recount(&[
            packet(0, CLIENT, 1, 0, 1000),
            packet(10, SERVER, 1000, 100, 1),
            packet(11, SERVER, 1100, 100, 1),
            packet(40, CLIENT, 1, 0, 1100),
            packet(41, SERVER, 1000, 100, 1),
            packet(51, CLIENT, 1, 0, 1200),
        ]);
        assert_eq!(counts.data_copies, 1);
        assert_eq!((counts.karn.count, counts.tcptrace.count), (2, 1));
        assert_eq!(counts.karn.min_ms, Some(30.0));
    }

    #[test]
    fn an_ack_that_repeats_with_nothing_outstanding_is_no_duplicate_to_unbloat() {
        let mut reset = packet(50, CLIENT, 1, 0, 1100);
        reset.tcp_flags = TcpFlags(TcpFlags::ACK | TcpFlags::RST);
        let counts = recount(&[
            packet(5, CLIENT, 0, 1, 1000),
            packet(10, SERVER, 1000, 100, 1),
            packet(40, CLIENT, 1, 0, 1100),
            packet(45, CLIENT, 1, 0, 1100),
            reset,
        ]);
        let dup = counts.dup_acks;
        assert_eq!((dup.unbloat, dup.tshark, dup.tcptrace), (0, 1, 2));
    }
}
