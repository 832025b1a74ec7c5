//! What must hold for any bytes at all; shared by the fuzz targets and by the test that replays
//! their corpora.

mod answers;
mod echo;
mod files;
mod frames;
mod heap;
mod places;
mod runs;
mod segments;
mod words;

use unbloat_capture::read_all;
use unbloat_dissect::{
    ClientHello, ContentClass, CryptoAssembler, DnsMessage, HttpRequest, HttpResponse, QuicClient,
};
use unbloat_units::Time;
use unbloat_wire::{Batch, FlowHasher, LinkType, Parser, ParserParams};

pub use answers::{
    account, device, journal, kernel, ndt7, neighbour, page, probe, router, service, tested,
};
pub use echo::echo;
pub use files::{campaign, configuration, link, scenario, value};
pub use frames::{frames, request};
pub use places::place;
pub use runs::{run, tables};
pub use segments::tcp;
pub use unbloat_server::fuzz::connection as serve;
pub use words::said;

/// A check, by the name of its corpus.
pub type Check = fn(&[u8]);

/// All checks.
pub const ALL: [(&str, Check); 28] = [
    ("capture", capture),
    ("parse", parse),
    ("tcp", tcp),
    ("app", app),
    ("echo", echo),
    ("serve", serve),
    ("frames", frames),
    ("request", request),
    ("said", said),
    ("link", link),
    ("scenario", scenario),
    ("campaign", campaign),
    ("configuration", configuration),
    ("value", value),
    ("run", run),
    ("tables", tables),
    ("place", place),
    ("router", router),
    ("kernel", kernel),
    ("account", account),
    ("ndt7", ndt7),
    ("service", service),
    ("probe", probe),
    ("neighbour", neighbour),
    ("journal", journal),
    ("page", page),
    ("tested", tested),
    ("device", device),
];

fn parser() -> Parser {
    Parser::new(ParserParams::default(), FlowHasher::with_seed(1))
}

/// Each packet is a header or is skipped, and what is kept of it is where the header says.
fn is_consistent(batch: &Batch) {
    assert_eq!(
        u64::from(batch.packets),
        batch.headers.len() as u64 + batch.skipped.total()
    );
    for header in &batch.headers {
        assert!(batch.options(header).len() <= 40);
        assert!(batch.payload(header).len() <= header.payload_len as usize);
    }
}

/// The bytes are a capture file, and its packets are parsed.
pub fn capture(bytes: &[u8]) {
    let (parser, mut batch) = (parser(), Batch::default());
    let mut count = 0;
    let result = read_all(bytes, &mut |record| {
        if batch.packets == Batch::PACKETS {
            is_consistent(&batch);
            batch.restart(count);
        }
        parser.push(
            &mut batch,
            record.link,
            record.data,
            record.wire_len,
            record.time,
        );
        count += 1;
    });
    is_consistent(&batch);
    if let Ok(notes) = result {
        assert_eq!(notes.packets, count);
    }
}

/// The bytes are a packet behind its link type and the bits of its length on the wire that are not
/// as stored.
pub fn parse(bytes: &[u8]) {
    let Some((&[l0, l1, w0, w1], data)) = bytes.split_first_chunk() else {
        return;
    };
    let link = LinkType::from(u16::from_be_bytes([l0, l1]));
    let wire_len = data.len() as u32 ^ u32::from(u16::from_be_bytes([w0, w1]));
    let mut batch = Batch::default();
    parser().push(&mut batch, link, data, wire_len, Time::default());
    is_consistent(&batch);
    // A capture that keeps less of it must not trip either.
    for cut in 0..data.len().min(200) {
        batch.restart(0);
        parser().push(&mut batch, link, &data[..cut], wire_len, Time::default());
        is_consistent(&batch);
    }
}

/// The bytes are a payload, of the protocol that the first of them names.
pub fn app(bytes: &[u8]) {
    let Some((&kind, payload)) = bytes.split_first() else {
        return;
    };
    match kind % 6 {
        0 => drop(DnsMessage::parse(payload).map(|message| format!("{message:?}"))),
        1 => drop(HttpRequest::parse(payload).map(|request| format!("{request:?}"))),
        2 => drop(HttpResponse::parse(payload).map(|response| format!("{response:?}"))),
        3 => {
            drop(ClientHello::parse_records(payload));
            drop(ClientHello::parse_handshake(payload));
            ContentClass::of(payload);
        }
        4 => {
            let mut client = QuicClient::default();
            pieces(payload).for_each(|datagram| drop(client.read(datagram)));
        }
        _ => {
            let mut assembler = CryptoAssembler::default();
            for piece in pieces(payload) {
                let (offset, data) = piece.split_at(piece.len().min(2));
                let offset = offset
                    .iter()
                    .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                assembler.insert(offset, data);
                assert!(assembler.prefix().len() <= CryptoAssembler::MAX_BYTES);
            }
        }
    }
}

/// Each behind its length in two bytes; the last as long as there are bytes.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&length, rest) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(length)).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        bytes = rest;
        Some(piece)
    })
}
