//! The few bytes of payload that the monitor keeps: heads of HTTP, and messages of DNS.

use crate::body::Kind;
use crate::flow::Flow;
use crate::truth::FlowName;
use unbloat_units::Direction;

/// The head of a request or response that begins at `offset`; empty if none does, or if there is no room for one.
pub(super) fn head(flow: &Flow, direction: Direction, offset: u64) -> String {
    let Some(content) = flow.plan.content else {
        return String::new();
    };
    let begun = flow.heads[direction]
        .iter()
        .find(|(start, _)| *start == offset);
    let Some((_, len)) = begun else {
        return String::new();
    };
    let host = host(&flow.truth.name);
    let text = match direction {
        Direction::Up => format!("GET /{offset} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        Direction::Down => {
            let kind = match content {
                "" => String::new(),
                content => format!("Content-Type: {content}\r\n"),
            };
            let rest =
                |body: u64| format!("HTTP/1.1 200 OK\r\n{kind}Content-Length: {body}\r\n\r\n");
            // The length of the head depends on the number of digits in it.
            let mut text = rest(*len);
            for _ in 0..3 {
                text = rest(len.saturating_sub(text.len() as u64));
            }
            text
        }
    };
    if text.len() as u64 <= *len {
        text
    } else {
        String::new()
    }
}

fn host(name: &FlowName) -> String {
    format!("h{:x}.example", name.server.to_bits() & 0x1_ffff)
}

/// A question for the server's address, or the answer.
pub(super) fn dns(name: &FlowName, kind: &Kind) -> Vec<u8> {
    let is_answer = matches!(kind, Kind::Answer);
    let mut message = Vec::with_capacity(64);
    let flags: u16 = if is_answer { 0x8180 } else { 0x0100 };
    for word in [name.client_port, flags, 1, is_answer.into(), 0, 0] {
        message.extend(word.to_be_bytes());
    }
    for label in host(name).split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    if is_answer {
        // The name again, an address for five minutes.
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4]);
        message.extend(name.server.octets());
    }
    message
}
