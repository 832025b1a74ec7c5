//! What tshark's `tcp.analysis` says, packet by packet, added up by stream.

use super::flow::{Connection, Flows, Key, Keys};
use crate::error::BenchError;
use crate::process;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::Command;

const FIELDS: [&str; 11] = [
    "tcp.stream",
    "ip.src",
    "tcp.srcport",
    "ip.dst",
    "tcp.dstport",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.zero_window",
    "tcp.analysis.ack_rtt",
];

/// Retransmissions and out-of-order packets without payload (SYN, FIN) are left out, as the other two do.
pub fn read(capture: &Path) -> Result<Flows, BenchError> {
    let mut command = Command::new("tshark");
    command
        .arg("-n")
        .arg("-r")
        .arg(capture)
        .args(["-Y", "tcp", "-T", "fields"]);
    FIELDS.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    parse(&process::output(&mut command)?)
}

fn parse(text: &str) -> Result<Flows, BenchError> {
    let mut keys = Keys::default();
    let mut streams: BTreeMap<u32, (Key, Connection, [f64; 2])> = BTreeMap::new();
    for line in text.lines() {
        let packet = Packet::of(line).ok_or_else(|| BenchError::Output {
            tool: "tshark",
            line: line.to_owned(),
        })?;
        let (key, connection, rtt_sums) = streams.entry(packet.stream).or_insert_with(|| {
            (
                keys.next(packet.from, packet.to).0,
                Connection::default(),
                [0.0; 2],
            )
        });
        let sent = usize::from(packet.from != key.low);
        add(connection, &mut rtt_sums[1 - sent], sent, &packet);
    }
    let streams = streams.into_values().map(|(key, mut connection, sums)| {
        for (direction, sum) in connection.iter_mut().zip(sums) {
            let samples = direction.rtt_samples;
            direction.rtt_avg_ms = (samples > 0).then(|| sum / samples as f64);
        }
        (key, connection)
    });
    Ok(streams.collect())
}

fn add(connection: &mut Connection, rtt_sum: &mut f64, sent: usize, packet: &Packet) {
    let own = &mut connection[sent];
    own.packets += 1;
    own.payload_bytes += packet.len;
    own.retransmitted += u64::from(packet.retransmission && packet.len > 0);
    own.out_of_order += u64::from(packet.out_of_order && packet.len > 0);
    // What it acknowledges and the window that it grants are about the data of the other end.
    let other = &mut connection[1 - sent];
    other.dup_acks += u64::from(packet.dup_ack);
    other.zero_windows += u64::from(packet.zero_window);
    if let Some(ms) = packet.ack_rtt_ms {
        other.rtt_samples += 1;
        other.rtt_min_ms = Some(other.rtt_min_ms.map_or(ms, |min| min.min(ms)));
        *rtt_sum += ms;
    }
}

struct Packet {
    stream: u32,
    from: SocketAddrV4,
    to: SocketAddrV4,
    len: u64,
    retransmission: bool,
    out_of_order: bool,
    dup_ack: bool,
    zero_window: bool,
    ack_rtt_ms: Option<f64>,
}

impl Packet {
    fn of(line: &str) -> Option<Packet> {
        let fields: Vec<&str> = line.split('\t').collect();
        let is_set = |i: usize| fields.get(i).is_some_and(|f| !f.is_empty());
        let end = |i: usize| {
            let ip = fields.get(i)?.parse().ok()?;
            Some(SocketAddrV4::new(ip, fields.get(i + 1)?.parse().ok()?))
        };
        Some(Packet {
            stream: fields.first()?.parse().ok()?,
            from: end(1)?,
            to: end(3)?,
            len: fields.get(5)?.parse().ok()?,
            retransmission: is_set(6),
            out_of_order: is_set(7),
            dup_ack: is_set(8),
            zero_window: is_set(9),
            ack_rtt_ms: fields
                .get(10)
                .and_then(|f| f.parse::<f64>().ok())
                .map(|s| s * 1e3),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_count_for_the_data_that_they_are_about() {
        let text = "0\t10.0.0.1\t80\t10.0.0.2\t9\t100\t1\t\t\t\t\n\
                    0\t10.0.0.2\t9\t10.0.0.1\t80\t0\t\t\t1\t1\t0.025\n";
        let flows = parse(text).expect("as tshark writes");
        let (_, [server, client]) = flows.first_key_value().expect("one stream");
        assert_eq!(
            (server.packets, server.payload_bytes, server.retransmitted),
            (1, 100, 1)
        );
        assert_eq!(
            (server.dup_acks, server.zero_windows, server.rtt_samples),
            (1, 1, 1)
        );
        assert_eq!(server.rtt_avg_ms, Some(25.0));
        assert_eq!((client.packets, client.dup_acks), (1, 0));
    }
}
