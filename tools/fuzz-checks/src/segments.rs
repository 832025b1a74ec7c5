//! Any sequence of TCP and UDP packets through a shard.

use std::sync::Arc;
use unbloat_table::ColumnData;
use unbloat_trace::{Output, Params, Shard, all_tables};
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{Address, Batch, PacketFlags, PacketHeader, TcpFlags, protocol};

/// Packets of a batch here, so that batches end within short inputs.
const BATCH: u32 = 16;
const MAX_FLOWS: usize = 6;
const ORIGIN: Time = Time::from_ns(1_700_000_000_000_000_000);

/// The bytes are packets: whatever they do, each is in one flow's row.
pub fn tcp(bytes: &[u8]) {
    let params = Params {
        max_flows: MAX_FLOWS,
        flow_idle: Delta::secs(100),
        user_idle: Delta::secs(300),
        deep_after: unbloat_units::Bytes::new(3000),
        ..Params::default()
    };
    let mut shard = Shard::new(Arc::new(params), Vec::new(), ORIGIN);
    let mut script = Script {
        bytes,
        now: ORIGIN,
        edges: [[Seq::default(); 2]; 8],
    };
    let mut batch = Batch {
        origin: ORIGIN,
        watermark: ORIGIN,
        ..Batch::default()
    };
    let (mut found, mut sent) = ([0; 3], [0; 3]);
    loop {
        batch.restart(batch.first_packet + u64::from(batch.packets));
        while batch.packets < BATCH && script.packet(&mut batch) {}
        for header in &batch.headers {
            sent[0] += 1;
            sent[1] += u64::from(header.payload_len);
            sent[2] += u64::from(header.wire_len);
        }
        shard.process(&batch, 0..batch.headers.len() as u32);
        while shard.end_batch(&batch, 64).is_some() {}
        assert!(shard.stats().live_flows <= MAX_FLOWS);
        take(shard.output(), &mut found);
        if batch.packets < BATCH {
            break;
        }
    }
    shard.begin_finish();
    shard.finish_until(batch.first_packet + u64::from(batch.packets), None);
    take(shard.output(), &mut found);
    assert_eq!(found, sent, "packets, payload, wire bytes");
    assert_eq!(shard.stats().live_flows + shard.stats().users, 0);
}

/// Adds what the rows of flows hold and forgets them; no number in any table is beyond sense.
fn take(output: &mut Output, sums: &mut [u64; 3]) {
    const PARTS: [(usize, &str); 5] = [
        (0, "packets_down"),
        (0, "packets_up"),
        (1, "payload_down_bytes"),
        (1, "payload_up_bytes"),
        (2, "wire_bytes"),
    ];
    let tables = all_tables();
    for (part, name) in PARTS {
        let column = tables[0].column(name).expect("a column of flows");
        let ColumnData::U64(values) = &output.flows.columns()[column] else {
            panic!("{name} are whole numbers");
        };
        let rows = 0..output.flows.len();
        sums[part] += rows.filter_map(|row| values.get(row)).sum::<u64>();
    }
    for (table, rows) in tables.iter().zip(output.tables()) {
        for (column, data) in table.columns.iter().zip(rows.columns()) {
            if let ColumnData::F64(values) = data {
                let mut known = (0..rows.len()).filter_map(|row| values.get(row));
                let bad = known.find(|value| !value.is_finite());
                assert_eq!(bad, None, "{}.{}", table.name, column.name);
            }
        }
    }
    output.clear();
}

/// Bytes read as packets.
struct Script<'a> {
    bytes: &'a [u8],
    now: Time,
    /// Where each flow's sides stand: numbers are spelt as distances from there.
    edges: [[Seq; 2]; 8],
}

impl Script<'_> {
    /// Adds the next packet; `false` when there is none.
    fn packet(&mut self, batch: &mut Batch) -> bool {
        let Some((&head, rest)) = self.bytes.split_first_chunk::<12>() else {
            return false;
        };
        let [
            who,
            tcp_flags,
            gap,
            gap_scale,
            seq,
            seq_scale,
            ack,
            ack_scale,
            len,
            win,
            opts,
            kept,
        ] = head;
        self.now += Delta::ns(scaled(gap, gap_scale % 54));
        let mut header = addressed(who);
        let (flow, up) = (usize::from(who & 7), usize::from(who >> 3 & 1));
        let from = self.edges[flow][up];
        header.seq = Seq::new(from.raw().wrapping_add(scaled(seq, seq_scale % 27) as u32));
        let other = self.edges[flow][1 - up];
        header.ack = Seq::new(other.raw().wrapping_add(scaled(ack, ack_scale % 27) as u32));
        header.tcp_flags = TcpFlags(tcp_flags);
        header.payload_len = u32::from(len) * u32::from(len);
        header.window = u16::from(win) * 257;
        header.wire_len = header.payload_len + 66;
        header.time = self.now;
        header.offset = batch.packets as u16;
        header.ip_id = u16::from(win ^ len);
        if win & 1 != 0 {
            header.flags.set(PacketFlags::TIMESTAMPS);
            // Also clocks that go on while the capture's steps back.
            header.tsval = Seq::new((self.now.as_ns() >> 20) as u32) + u32::from(win) * 8;
            header.tsecr = Seq::new(header.tsval.raw().wrapping_sub(u32::from(gap)));
        }
        self.edges[flow][up] = header.seq.later(from) + header.seq_len();
        self.bytes = rest;
        self.keep(usize::from(opts), usize::from(kept), &mut header, batch);
        batch.packets += 1;
        batch.watermark = batch.watermark.max(self.now);
        batch.headers.push(header);
        true
    }

    /// Options and payload stand behind the packet as they are.
    fn keep(&mut self, opts: usize, kept: usize, header: &mut PacketHeader, batch: &mut Batch) {
        let options = self.bytes.split_off(..(opts % 41).min(self.bytes.len()));
        let most = if kept < 200 {
            0
        } else {
            header.payload_len as usize
        };
        let payload = self.bytes.split_off(..most.min(kept).min(self.bytes.len()));
        let (options, payload) = (options.unwrap_or_default(), payload.unwrap_or_default());
        if !options.is_empty() {
            header.flags.set(PacketFlags::SLOW_OPTIONS);
        }
        if !payload.is_empty() {
            header.flags.set(PacketFlags::APP_PAYLOAD);
        }
        header.extra = batch.extra.len() as u32;
        header.options_len = options.len() as u8;
        header.extra_len = (options.len() + payload.len()) as u16;
        batch.extra.extend(options);
        batch.extra.extend(payload);
    }
}

/// `value` as a signed byte, shifted: small and large spans alike.
fn scaled(value: u8, shift: u8) -> i64 {
    i64::from(value as i8) << shift
}

/// Eight flows, two of them UDP, of three clients.
fn addressed(who: u8) -> PacketHeader {
    let flow = who & 7;
    let client = (Address::v4([10, 0, 0, flow % 3]), 40_000 + u16::from(flow));
    let port = [80, 443, 8080, 5201, 53, 80, 53, 443][usize::from(flow)];
    let server = (Address::v4([192, 0, 2, 1]), port);
    let up = who & 8 != 0;
    let (src, dst) = if up {
        (client, server)
    } else {
        (server, client)
    };
    let mut header = PacketHeader {
        flow_hash: u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        src: src.0,
        src_port: src.1,
        dst: dst.0,
        dst_port: dst.1,
        protocol: if flow >= 6 {
            protocol::UDP
        } else {
            protocol::TCP
        },
        ..PacketHeader::default()
    };
    if up {
        header.flags.set(PacketFlags::UPLINK);
    }
    header
}
