//! What tshark and tcptrace say of a capture.

use crate::error::ValidateError;
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use unbloat_units::{Both, Direction};

fn output(command: &'static str, mut ready: Command) -> Result<String, ValidateError> {
    let output = ready
        .output()
        .map_err(|source| ValidateError::NoCommand { command, source })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ValidateError::Command { command, stderr });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// tshark's view of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TsharkPacket {
    pub(crate) time_ns: i64,
    pub(crate) tuple: Tuple,
    pub(crate) flags: u8,
    pub(crate) payload_bytes: u32,
    /// `tcp.analysis.retransmission`, which fast and spurious ones carry as well.
    pub(crate) is_retransmission: bool,
    pub(crate) is_out_of_order: bool,
    pub(crate) ack_rtt_ms: Option<f64>,
}

const FIELDS: [&str; 10] = [
    "frame.time_epoch",
    "ip.src",
    "tcp.srcport",
    "ip.dst",
    "tcp.dstport",
    "tcp.flags",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_rtt",
];

impl TsharkPacket {
    fn parse(line: &str) -> Option<TsharkPacket> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let time_ns = nanoseconds(next()?)?;
        let source = (next()?.parse().ok()?, next()?.parse().ok()?);
        let destination = (next()?.parse().ok()?, next()?.parse().ok()?);
        let flags = u16::from_str_radix(next()?.trim_start_matches("0x"), 16).ok()?;
        Some(TsharkPacket {
            time_ns,
            tuple: Tuple {
                source,
                destination,
            },
            flags: flags as u8,
            payload_bytes: next()?.parse().ok()?,
            is_retransmission: !next()?.is_empty(),
            is_out_of_order: !next()?.is_empty(),
            ack_rtt_ms: next()?.parse().ok().map(|s: f64| s * 1e3),
        })
    }
}

/// Seconds with nine decimals, exactly.
fn nanoseconds(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    let nanos: i64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(seconds.parse::<i64>().ok()? * 1_000_000_000 + nanos)
}

/// tshark's view of a capture's TCP packets.
pub(crate) struct Tshark {
    pub(crate) all: Vec<TsharkPacket>,
}

impl Tshark {
    /// With default preferences.
    pub(crate) fn read(capture: &Path) -> Result<Tshark, ValidateError> {
        let mut command = Command::new("tshark");
        command.args(["-n", "-Y", "tcp", "-T", "fields"]);
        FIELDS.iter().for_each(|field| {
            command.args(["-e", field]);
        });
        command.arg("-r").arg(capture);
        let text = output("tshark", command)?;
        Ok(Tshark {
            all: text.lines().filter_map(TsharkPacket::parse).collect(),
        })
    }

    /// Packets of one direction may pass at the same time.
    pub(crate) fn by_time(&self) -> BTreeMap<(Tuple, i64), Vec<&TsharkPacket>> {
        let mut by_time: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for packet in &self.all {
            by_time
                .entry((packet.tuple, packet.time_ns))
                .or_default()
                .push(packet);
        }
        by_time
    }
}

/// tcptrace's counts over all connections.
pub(crate) type Tcptrace = Both<TcptraceCounts>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcptraceCounts {
    pub(crate) retransmitted: usize,
    pub(crate) out_of_order: usize,
    pub(crate) unique_bytes: u64,
}

/// Has tcptrace count.
pub(crate) fn tcptrace(capture: &Path) -> Result<Tcptrace, ValidateError> {
    let mut command = Command::new("tcptrace");
    command.args(["-l", "-n"]).arg(capture);
    let text = output("tcptrace", command)?;
    let mut sums = Tcptrace::default();
    // Hosts are printed a, then b; clients open the connections, so a is the client.
    for line in text.lines() {
        let numbers = |label: &str| -> Option<Both<u64>> {
            let rest = line.trim_start().strip_prefix(label)?;
            let (a, b) = rest.split_once(label)?;
            let number = |count: &str| count.trim().trim_start_matches(':').trim().parse().ok();
            Some(Both::new(number(b)?, number(a)?))
        };
        for direction in Direction::BOTH {
            let sums = &mut sums[direction];
            if let Some(numbers) = numbers("rexmt data pkts:") {
                sums.retransmitted += numbers[direction] as usize;
            } else if let Some(numbers) = numbers("outoforder pkts:") {
                sums.out_of_order += numbers[direction] as usize;
            } else if let Some(numbers) = numbers("unique bytes sent:") {
                sums.unique_bytes += numbers[direction];
            }
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_tshark_is_read_to_the_nanosecond() {
        let line =
            "1795233047.199707748\t10.45.0.3\t21335\t10.99.0.1\t80\t0x0010\t1358\t\t1\t0.070123000";
        let packet = TsharkPacket::parse(line).unwrap();
        assert_eq!(packet.time_ns, 1_795_233_047_199_707_748);
        assert_eq!(packet.tuple.source, ([10, 45, 0, 3].into(), 21335));
        assert_eq!((packet.flags, packet.payload_bytes), (16, 1358));
        assert!(packet.is_out_of_order && !packet.is_retransmission);
        assert_eq!(packet.ack_rtt_ms, Some(70.123));
    }
}
