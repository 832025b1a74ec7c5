//! What `tcptrace -l -r -n` says: blocks of two columns, one a direction.

use super::flow::{Connection, Direction, Flows, Keys};
use crate::error::BenchError;
use crate::process;
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::Command;

pub fn read(capture: &Path) -> Result<Flows, BenchError> {
    parse(&process::output(
        Command::new("tcptrace")
            .args(["-l", "-r", "-n"])
            .arg(capture),
    )?)
}

fn parse(text: &str) -> Result<Flows, BenchError> {
    let mut keys = Keys::default();
    let mut flows = Flows::new();
    let blocks = text.split("\nTCP connection ").skip(1);
    // The head of the report is "TCP connection info"; connections are numbered.
    for block in blocks.filter(|b| b.starts_with(|c: char| c.is_ascii_digit())) {
        let mut hosts = block
            .lines()
            .filter_map(|line| line.trim().strip_prefix("host "));
        let mut host = || address(hosts.next().unwrap_or_default());
        let (a, b) = (host()?, host()?);
        let (key, first) = keys.next(a, b);
        let mut connection = Connection::default();
        connection[first] = direction(block, 0);
        connection[1 - first] = direction(block, 1);
        flows.insert(key, connection);
    }
    Ok(flows)
}

fn address(host: &str) -> Result<SocketAddrV4, BenchError> {
    let text = host.split_whitespace().last();
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| BenchError::Output {
            tool: "tcptrace",
            line: host.to_owned(),
        })
}

fn direction(block: &str, column: usize) -> Direction {
    let number = |label: &str| value(block, label, column);
    let count = |label: &str| number(label).unwrap_or(0.0) as u64;
    let samples = count("RTT samples");
    let known = |ms: Option<f64>| ms.filter(|_| samples > 0);
    Direction {
        packets: count("total packets"),
        payload_bytes: count("actual data bytes"),
        unique_bytes: Some(count("unique bytes sent")),
        retransmitted: count("rexmt data pkts"),
        out_of_order: count("outoforder pkts"),
        dup_acks: count("duplicate acks"),
        // A window is granted by the one who receives the data.
        zero_windows: value(block, "zero win adv", 1 - column).unwrap_or(0.0) as u64,
        rtt_samples: samples,
        rtt_min_ms: known(number("RTT min")),
        rtt_avg_ms: known(number("RTT avg")),
        handshake_ms: number("RTT from 3WHS").filter(|&ms| ms > 0.0),
    }
}

/// The number after `label:` in the left (0) or right (1) column of the line that has it twice.
fn value(block: &str, label: &str, column: usize) -> Option<f64> {
    let label = format!("{label}:");
    let line = block
        .lines()
        .find(|line| line.matches(&label).count() == 2)?;
    let after = line.split(&label).nth(1 + column)?;
    after.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_told_apart_and_windows_belong_to_the_other_side() {
        let text = "\
1 arg remaining
TCP connection info:
TCP connection 1:
\thost a:        10.45.0.6:32077
\thost b:        10.9.0.1:443
\ttotal packets: 10
   a->b:			      b->a:
     total packets:             6           total packets:             4
     rexmt data pkts:           1           rexmt data pkts:           2
     zero win adv:              3 times     zero win adv:              0 times
     RTT samples:               3           RTT samples:               0
     RTT min:                40.1 ms        RTT min:                 0.0 ms
";
        let flows = parse(text).expect("as tcptrace writes");
        let (key, connection) = flows.first_key_value().expect("one connection");
        assert_eq!(key.low.to_string(), "10.9.0.1:443");
        let [from_b, from_a] = connection;
        assert_eq!(
            (from_a.packets, from_a.retransmitted, from_a.zero_windows),
            (6, 1, 0)
        );
        assert_eq!(
            (from_b.packets, from_b.retransmitted, from_b.zero_windows),
            (4, 2, 3)
        );
        assert_eq!((from_a.rtt_min_ms, from_b.rtt_min_ms), (Some(40.1), None));
    }
}
