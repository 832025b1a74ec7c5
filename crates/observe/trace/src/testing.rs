//! Packets written by hand, run through a shard in virtual time; for tests only.
//!
//! ```text
//! Script::opened()                    handshake: upstream RTT 20 ms, downstream RTT 50 ms
//!     .at(100.0, "< 1+1448 ack 1")    time in ms; < towards the client, > towards the server;
//!     .at(150.0, "> ack 1449")        first+length, both sides counted from their SYN as 0
//!     .run()
//! ```
//! Words of a packet: `syn`, `fin`, `rst`, `first+length`, `ack N`, `win N` (raw field, else 1000),
//! `ws N`, `mss N` and `sackok` (SYN options), `sack A-B,C-D`, `ts VALUE ECHO`, `id N` (IP identification),
//! `copy` (captured twice, and this is the second).

use crate::output::{Output, all_tables};
use crate::{Params, Shard};
use std::sync::Arc;
use unbloat_table::ColumnData;
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{Address, Batch, PacketFlags, PacketHeader, TcpFlags, protocol};

/// Initial sequence numbers down and up: the first wraps within the first 50 kB.
const ISN: [u32; 2] = [u32::MAX - 50_000, 7_000];

pub(crate) struct Script {
    batch: Batch,
    params: Params,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            batch: Batch::default(),
            params: Params {
                standing_of_all_flows: true,
                ..Params::default()
            },
        }
    }
}

impl Script {
    /// Begins after a handshake with window scale 7 and an MSS of 1,460, at 0, 20 and 70 ms.
    pub(crate) fn opened() -> Script {
        Script::default()
            .at(0.0, "> syn 0+0 mss 1460 ws 7 sackok")
            .at(20.0, "< syn 0+0 ack 1 mss 1460 ws 7 sackok")
            .at(70.0, "> 1+0 ack 1")
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Params)) -> Script {
        change(&mut self.params);
        self
    }

    pub(crate) fn at(mut self, ms: f64, words: &str) -> Script {
        self.packet(ms, words);
        self
    }

    /// As `at`, with the beginning of the payload as captured; its length is that of `words`.
    pub(crate) fn says(mut self, ms: f64, words: &str, payload: &str) -> Script {
        self.packet(ms, words);
        let header = self.batch.headers.last_mut().expect("just written");
        header.flags.set(PacketFlags::APP_PAYLOAD);
        header.extra_len += payload.len() as u16;
        self.batch.extra.extend(payload.bytes());
        self
    }

    /// As `at`, for loops.
    pub(crate) fn packet(&mut self, ms: f64, words: &str) {
        let up = words.starts_with('>');
        let mut header = addressed(up);
        header.time = Time::from_ns((ms * 1e6).round() as i64);
        header.offset = self.batch.headers.len() as u16;
        header.window = 1000;
        header.seq = Seq::new(ISN[usize::from(up)]);
        let mut options = Vec::new();
        let mut words = words.split_whitespace().skip(1);
        while let Some(word) = words.next() {
            read(word, &mut words, &mut header, &mut options);
        }
        if !options.is_empty() {
            header.flags.set(PacketFlags::SLOW_OPTIONS);
        }
        header.extra = self.batch.extra.len() as u32;
        header.extra_len = options.len() as u16;
        header.options_len = options.len() as u8;
        header.wire_len = header.payload_len + 66;
        self.batch.extra.extend(options);
        self.batch.wire_bytes += u64::from(header.wire_len);
        self.batch.watermark = self.batch.watermark.max(header.time);
        self.batch.packets += 1;
        self.batch.headers.push(header);
    }

    pub(crate) fn run(self) -> Results {
        let mut shard = Shard::new(Arc::new(self.params), Vec::new(), Time::default());
        shard.process(&self.batch, 0..self.batch.packets);
        while shard.end_batch(&self.batch, 1).is_some() {}
        shard.begin_finish();
        shard.finish_until(u64::from(self.batch.packets), None);
        Results(std::mem::take(shard.output()))
    }
}

fn addressed(up: bool) -> PacketHeader {
    let client = (Address::v4([10, 0, 0, 1]), 40_000);
    let server = (Address::v4([192, 0, 2, 1]), 443);
    let (src, dst) = if up {
        (client, server)
    } else {
        (server, client)
    };
    let mut header = PacketHeader {
        flow_hash: 0x9e37_79b9_7f4a_7c15,
        src: src.0,
        src_port: src.1,
        dst: dst.0,
        dst_port: dst.1,
        protocol: protocol::TCP,
        ..PacketHeader::default()
    };
    if up {
        header.flags.set(PacketFlags::UPLINK);
    }
    header
}

fn read<'a>(
    word: &str,
    rest: &mut impl Iterator<Item = &'a str>,
    header: &mut PacketHeader,
    options: &mut Vec<u8>,
) {
    let own = ISN[usize::from(header.is_uplink())];
    let other = ISN[usize::from(!header.is_uplink())];
    let mut number = || -> u32 { number(rest.next().expect("a number")) };
    match word {
        "syn" => header.tcp_flags.0 |= TcpFlags::SYN,
        "fin" => header.tcp_flags.0 |= TcpFlags::FIN,
        "rst" => header.tcp_flags.0 |= TcpFlags::RST,
        "ack" => {
            header.tcp_flags.0 |= TcpFlags::ACK;
            header.ack = Seq::new(other) + number();
        }
        "win" => header.window = number() as u16,
        "sackok" => options.extend([4, 2]),
        "ws" => options.extend([3, 3, number() as u8]),
        "mss" => {
            options.extend([2, 4]);
            options.extend((number() as u16).to_be_bytes());
        }
        "ts" => {
            header.flags.set(PacketFlags::TIMESTAMPS);
            header.tsval = Seq::new(number());
            header.tsecr = Seq::new(number());
        }
        "copy" => header.flags.set(PacketFlags::COPY),
        "id" => {
            header.flags.set(PacketFlags::IP_ID);
            header.ip_id = number() as u16;
        }
        "sack" => sack(rest.next().expect("blocks"), other, options),
        span => {
            let (first, len) = span.split_once('+').expect("first+length");
            header.seq = Seq::new(own) + self::number(first);
            header.payload_len = self::number(len);
        }
    }
}

fn number(text: &str) -> u32 {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is no number"))
}

fn sack(blocks: &str, isn: u32, options: &mut Vec<u8>) {
    let blocks: Vec<(&str, &str)> = blocks
        .split(',')
        .map(|b| b.split_once('-').expect("left-right"))
        .collect();
    options.extend([5, 2 + 8 * blocks.len() as u8]);
    for (left, right) in blocks {
        options.extend((Seq::new(isn) + number(left)).raw().to_be_bytes());
        options.extend((Seq::new(isn) + number(right)).raw().to_be_bytes());
    }
}

/// What the shard wrote about the first flow that ended.
pub(crate) struct Results(Output);

/// An entry of the events table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EventRow {
    pub(crate) side: String,
    pub(crate) ms: f64,
    pub(crate) value: Option<f64>,
    pub(crate) detail: Option<String>,
}

impl Results {
    /// A column, and how many rows its table has.
    fn column(&self, table: &str, name: &str) -> (usize, &ColumnData) {
        let tables = all_tables();
        let at = tables.iter().position(|t| t.name == table);
        let at = at.unwrap_or_else(|| panic!("no table {table}"));
        let column = tables[at].columns.iter().position(|c| c.name == name);
        let column = column.unwrap_or_else(|| panic!("no column {name} in {table}"));
        let rows = self.0.tables()[at];
        (rows.len(), &rows.columns()[column])
    }

    /// A numeric column of the flow; `None` is null.
    pub(crate) fn flow(&self, column: &str) -> Option<f64> {
        self.column("flows", column).1.as_f64(0)
    }

    pub(crate) fn flow_text(&self, column: &str) -> Option<&str> {
        self.column("flows", column).1.as_text(0)
    }

    /// All values of a numeric column of any table.
    pub(crate) fn values(&self, table: &str, column: &str) -> Vec<Option<f64>> {
        let (rows, column) = self.column(table, column);
        (0..rows).map(|row| column.as_f64(row)).collect()
    }

    pub(crate) fn texts(&self, table: &str, column: &str) -> Vec<Option<&str>> {
        let (rows, column) = self.column(table, column);
        (0..rows).map(|row| column.as_text(row)).collect()
    }

    /// Numbers of the packets at which the rows of a table were written.
    pub(crate) fn written_at(&self, table: &str) -> Vec<u64> {
        let at = all_tables().iter().position(|t| t.name == table);
        let at = at.unwrap_or_else(|| panic!("no table {table}"));
        let order = self.0.tables()[at].order();
        order.iter().map(|order| order.written_at).collect()
    }

    pub(crate) fn events(&self, kind: &str) -> Vec<EventRow> {
        let kinds = self.texts("events", "kind");
        let rows = (0..kinds.len()).filter(|&row| kinds[row] == Some(kind));
        rows.map(|row| EventRow {
            side: self.texts("events", "side")[row]
                .unwrap_or_default()
                .to_owned(),
            ms: self.values("events", "time_ns")[row].unwrap_or(f64::NAN) / 1e6,
            value: self.values("events", "value")[row],
            detail: self.texts("events", "detail")[row].map(str::to_owned),
        })
        .collect()
    }
}

#[test]
fn a_script_gives_what_it_spells() {
    let results = Script::opened()
        .with(|params| params.bin = Delta::ZERO)
        .at(100.0, "< 1+1448 ack 1 ts 5 4")
        .at(150.0, "> 1+0 ack 1449 ts 4 5")
        .at(160.0, "> 1+0 ack 2897")
        .run();
    assert_eq!(results.flow("handshake_up_ms"), Some(20.0));
    assert_eq!(results.flow("handshake_down_ms"), Some(50.0));
    assert_eq!(results.flow("payload_down_bytes"), Some(1448.0));
    assert_eq!(results.flow_text("end_cause"), Some("trace_end"));
    assert!(results.values("rtt", "rtt_ms").contains(&Some(50.0)));
    assert!(results.texts("rtt", "side").contains(&Some("down")));
    let hole = &results.events("hole")[0];
    assert_eq!((hole.side.as_str(), hole.ms), ("down", 160.0));
    assert_eq!(hole.value, Some(1448.0));
    assert!(hole.detail.is_some());
}
