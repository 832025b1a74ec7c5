//! DNS look-ups: questions paired with their answers (§4.2, Fig. 7).
//!
//! The latency is that between monitor and resolver. A question is known by asker, port, resolver
//! and identifier, and by its name where both messages show one. The same question again is a retry;
//! the latency counts from the first, because that is what the asker waits for. Stubs that retry
//! from another port or with another identifier begin a look-up of its own.
//!
//! # References
//! RFC 1035 §4.1.1 and §4.2 (identifiers, port 53, the length before messages over TCP), RFC 5452
//! §9.1 (what an answer must match). Multicast DNS has no resolver and is left out.
//!
//! # Where we differ
//! tshark's `dns.time` counts from the last question if the one before is more than 5 s older, knows
//! no end of patience, takes a message in fragments or several segments at its last, and reads TCP
//! connections whose beginning the capture missed.

use crate::tables::{DnsRow, SideTables, order};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use unbloat_dissect::{DnsMessage, DnsName, DnsType};
use unbloat_table::Rows;
use unbloat_units::{Delta, Time};
use unbloat_wire::{Address, PacketHeader, protocol};

const PORT: u16 = 53;

/// After this long nobody listens any more: resolv.conf(5) gives two attempts of 5 s each.
const PATIENCE: Delta = Delta::secs(10);

/// Questions awaited at once; beyond it the oldest is given up, and counted.
const MAX_AWAITED: usize = 65_536;

/// What an answer must match besides the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    asker: Address,
    port: u16,
    resolver: Address,
    id: u16,
}

#[derive(Clone, Debug)]
struct Question {
    key: Key,
    time: Time,
    name: Option<DnsName>,
    record_type: Option<DnsType>,
    retries: u64,
}

impl Question {
    /// Nothing that both messages show differs.
    fn agrees(&self, message: &DnsMessage) -> bool {
        let names = self.name.zip(message.name);
        let types = self.record_type.zip(message.record_type);
        names.is_none_or(|(a, b)| a.same_as(&b)) && types.is_none_or(|(a, b)| a == b)
    }
}

/// Where rows of the `dns` table go.
pub(crate) struct DnsRows<'a> {
    /// `None` if nobody reads them.
    rows: Option<&'a mut Rows>,
    /// Number of the packet that is being looked at.
    number: u64,
    origin: Time,
}

impl<'a> DnsRows<'a> {
    pub(crate) fn new(
        tables: &'a mut SideTables,
        summary_only: bool,
        number: u64,
        origin: Time,
    ) -> DnsRows<'a> {
        DnsRows {
            rows: (!summary_only).then_some(&mut tables.dns),
            number,
            origin,
        }
    }

    fn write(&mut self, asked: u64, question: &Question, answer: Option<(&DnsMessage, Time)>) {
        let Some(rows) = self.rows.as_deref_mut() else {
            return;
        };
        let Question { key, time, .. } = question;
        let message = answer.map(|(message, _)| message);
        let name = question.name.or(message.and_then(|m| m.name));
        let record_type = question.record_type.or(message.and_then(|m| m.record_type));
        let row = DnsRow {
            time_ns: time.since(self.origin).as_ns(),
            client: key.asker.to_string(),
            server: key.resolver.to_string(),
            name: name.map(|n| n.to_string()),
            r#type: record_type.map(|t| t.to_string()),
            rcode: message.map(|m| m.rcode.to_string()),
            latency_ms: answer.map(|(_, at)| at.since(*time).as_ms()),
            retries: question.retries,
        };
        rows.push(order(self.number, asked), row);
    }
}

/// The bytes of the packet's DNS message. Over TCP only the first message of a connection is read,
/// because only of that it is known where it begins.
fn message<'a>(
    header: &PacketHeader,
    payload: &'a [u8],
    is_first: impl FnOnce() -> bool,
) -> Option<&'a [u8]> {
    match header.protocol {
        _ if header.src_port != PORT && header.dst_port != PORT => None,
        protocol::UDP => Some(payload),
        _ => payload.get(2..).filter(|_| is_first()),
    }
}

/// Questions that await their answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// By the number of the packet that asked first: the oldest is the first.
    awaited: BTreeMap<u64, Question>,
    by_key: HashMap<Key, u64>,
    given_up: u64,
}

impl Lookups {
    /// Questions forgotten to stay within bounds; they have no rows.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Takes in a packet whose payload was kept; `is_first` says whether it is the first of its
    /// sender's TCP connection.
    pub(crate) fn on_payload(
        &mut self,
        header: &PacketHeader,
        payload: &[u8],
        is_first: impl FnOnce() -> bool,
        out: &mut DnsRows<'_>,
    ) {
        const QUERY: u8 = 0;
        let bytes = message(header, payload, is_first);
        let message = bytes.and_then(DnsMessage::parse);
        match message.filter(|m| m.opcode == QUERY) {
            Some(message) if message.is_response && header.src_port == PORT => {
                self.on_answer(header, &message, out);
            }
            Some(message) if !message.is_response && header.dst_port == PORT => {
                self.on_question(header, &message, out);
            }
            _ => {}
        }
    }

    fn on_question(&mut self, header: &PacketHeader, message: &DnsMessage, out: &mut DnsRows<'_>) {
        let key = Key {
            asker: header.src,
            port: header.src_port,
            resolver: header.dst,
            id: message.id,
        };
        if let Some(&asked) = self.by_key.get(&key) {
            let question = self.awaited.get_mut(&asked).expect("indexed while awaited");
            let is_fresh = header.time.since(question.time) <= PATIENCE;
            if is_fresh && question.agrees(message) {
                question.retries += 1;
                return;
            }
            self.end_unanswered(asked, out);
        }
        if self.awaited.len() == MAX_AWAITED
            && let Some((_, oldest)) = self.awaited.pop_first()
        {
            self.by_key.remove(&oldest.key);
            self.given_up += 1;
        }
        let question = Question {
            key,
            time: header.time,
            name: message.name,
            record_type: message.record_type,
            retries: 0,
        };
        self.awaited.insert(out.number, question);
        self.by_key.insert(key, out.number);
    }

    fn on_answer(&mut self, header: &PacketHeader, message: &DnsMessage, out: &mut DnsRows<'_>) {
        let key = Key {
            asker: header.dst,
            port: header.dst_port,
            resolver: header.src,
            id: message.id,
        };
        let Some(&asked) = self.by_key.get(&key) else {
            return;
        };
        let question = &self.awaited[&asked];
        let is_in_time = header.time.since(question.time) <= PATIENCE;
        if is_in_time && question.agrees(message) {
            out.write(asked, question, Some((message, header.time)));
            self.awaited.remove(&asked);
            self.by_key.remove(&key);
        }
    }

    fn end_unanswered(&mut self, asked: u64, out: &mut DnsRows<'_>) {
        if let Some(question) = self.awaited.remove(&asked) {
            self.by_key.remove(&question.key);
            out.write(asked, &question, None);
        }
    }

    /// Ends what nobody will answer any more at `now`.
    pub(crate) fn expire(&mut self, now: Time, out: &mut DnsRows<'_>) {
        while let Some((&asked, question)) = self.awaited.first_key_value() {
            if now.since(question.time) <= PATIENCE {
                return;
            }
            self.end_unanswered(asked, out);
        }
    }

    /// Ends all: what has no answer in the trace has none.
    pub(crate) fn finish(&mut self, out: &mut DnsRows<'_>) {
        self.expire(Time::MAX, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    const ASKER: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
    const RESOLVER: ([u8; 4], u16) = ([10, 0, 0, 53], PORT);

    /// A message of `id` about one name of one letter; `cut` before the name if that is empty.
    fn dns(id: u16, is_response: bool, name: &str) -> Vec<u8> {
        let mut bytes = id.to_be_bytes().to_vec();
        bytes.extend([u8::from(is_response) << 7, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        if !name.is_empty() {
            bytes.push(name.len() as u8);
            bytes.extend(name.bytes());
            bytes.extend([0, 0, 28, 0, 1]);
        }
        bytes
    }

    #[derive(Default)]
    struct Script {
        lookups: Lookups,
        output: Output,
        number: u64,
        now: Time,
    }

    impl Script {
        fn packet(&mut self, ms: i64, from: ([u8; 4], u16), to: ([u8; 4], u16), bytes: &[u8]) {
            self.now = Time::default() + Delta::ms(ms);
            let header = PacketHeader {
                time: self.now,
                src: Address::v4(from.0),
                src_port: from.1,
                dst: Address::v4(to.0),
                dst_port: to.1,
                protocol: protocol::UDP,
                ..PacketHeader::default()
            };
            self.act(|lookups, out| lookups.on_payload(&header, bytes, || true, out));
            self.number += 1;
        }

        fn act(&mut self, act: impl FnOnce(&mut Lookups, &mut DnsRows<'_>)) {
            let side = &mut self.output.side;
            let mut out = DnsRows::new(side, false, self.number, Time::default());
            act(&mut self.lookups, &mut out);
        }

        fn ask(&mut self, ms: i64, id: u16, name: &str) {
            self.packet(ms, ASKER, RESOLVER, &dns(id, false, name));
        }

        fn answer(&mut self, ms: i64, id: u16, name: &str) {
            self.packet(ms, RESOLVER, ASKER, &dns(id, true, name));
        }

        fn expire(&mut self, ms: i64) {
            let now = Time::default() + Delta::ms(ms);
            self.act(|lookups, out| lookups.expire(now, out));
        }

        /// Name, latency and retries of every row.
        fn rows(&mut self) -> Vec<(String, Option<f64>, f64)> {
            self.act(Lookups::finish);
            let columns = self.output.side.dns.columns();
            let row = |row: usize| {
                let name = columns[3].as_text(row).unwrap_or("?").to_owned();
                let retries = columns[7].as_f64(row).unwrap();
                (name, columns[6].as_f64(row), retries)
            };
            (0..self.output.side.dns.len()).map(row).collect()
        }
    }

    fn row(
        name: &str,
        latency_ms: impl Into<Option<f64>>,
        retries: f64,
    ) -> (String, Option<f64>, f64) {
        (name.to_owned(), latency_ms.into(), retries)
    }

    #[test]
    fn an_answer_is_paired_with_its_question() {
        let mut script = Script::default();
        script.ask(0, 7, "a");
        script.ask(1, 8, "b");
        script.answer(5, 8, "b");
        script.answer(9, 7, "A");
        assert_eq!(script.rows(), [row("b", 4.0, 0.0), row("a", 9.0, 0.0)]);
        let columns = script.output.side.dns.columns();
        let texts = [1, 2, 4, 5].map(|column: usize| columns[column].as_text(0));
        let expected = ["10.0.0.1", "10.0.0.53", "AAAA", "NOERROR"].map(Some);
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_latency_counts_from_the_first_of_several_tries() {
        let mut script = Script::default();
        for ms in [0, 2_000, 4_000] {
            script.ask(ms, 7, "a");
        }
        script.answer(4_020, 7, "a");
        script.answer(4_021, 7, "a");
        assert_eq!(script.rows(), [row("a", 4_020.0, 2.0)]);
    }

    #[test]
    fn an_answer_after_ten_seconds_comes_too_late() {
        for expire_first in [true, false] {
            let mut script = Script::default();
            script.ask(0, 7, "a");
            if expire_first {
                script.expire(10_000);
                assert_eq!(script.lookups.awaited.len(), 1);
                script.expire(10_001);
            }
            script.answer(10_001, 7, "a");
            assert_eq!(script.rows(), [row("a", None, 0.0)]);
        }
    }

    #[test]
    fn another_question_under_the_same_identifier_ends_the_first() {
        let mut script = Script::default();
        script.ask(0, 7, "a");
        script.ask(1, 7, "b");
        script.answer(2, 7, "a");
        script.answer(3, 7, "b");
        assert_eq!(script.rows(), [row("a", None, 0.0), row("b", 2.0, 0.0)]);
    }

    #[test]
    fn a_name_that_is_cut_off_is_taken_from_the_other_message() {
        let mut script = Script::default();
        script.ask(0, 7, "");
        script.answer(1, 7, "a");
        script.ask(2, 8, "");
        script.answer(5, 8, "");
        assert_eq!(script.rows(), [row("a", 1.0, 0.0), row("?", 3.0, 0.0)]);
    }

    #[test]
    fn other_ports_and_strangers_answer_nothing() {
        let mut script = Script::default();
        script.ask(0, 7, "a");
        script.packet(1, RESOLVER, (ASKER.0, 40_001), &dns(7, true, "a"));
        script.packet(2, ([10, 0, 0, 54], PORT), ASKER, &dns(7, true, "a"));
        script.packet(3, ASKER, ([224, 0, 0, 251], 5353), &dns(0, false, "a"));
        assert_eq!(script.rows(), [row("a", None, 0.0)]);
    }

    #[test]
    fn what_is_awaited_is_bounded_and_what_is_given_up_is_counted() {
        let mut script = Script::default();
        for i in 0..=MAX_AWAITED {
            let port = (i % 60_000) as u16 + 1_000;
            let id = (i / 60_000) as u16;
            script.packet(0, (ASKER.0, port), RESOLVER, &dns(id, false, "a"));
        }
        assert_eq!(script.lookups.given_up(), 1);
        assert_eq!(script.rows().len(), MAX_AWAITED);
    }

    #[test]
    fn over_tcp_the_first_message_is_read_after_its_length() {
        let header = PacketHeader {
            protocol: protocol::TCP,
            src_port: 40_000,
            dst_port: PORT,
            ..PacketHeader::default()
        };
        assert_eq!(
            message(&header, b"\0\x05hello", || true),
            Some(&b"hello"[..])
        );
        assert_eq!(message(&header, b"\0\x05hello", || false), None);
        assert_eq!(message(&PacketHeader::default(), b"hello", || true), None);
    }
}
