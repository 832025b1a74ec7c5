//! A synthetic trace as a capture file, and what happened as CSV beside it.

use crate::error::{ValidateError, at};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use unbloat_lte_trace::{FlowTruth, Params, UserTruth};
use unbloat_lte_trace_host::write;
use unbloat_units::Direction;

const HEADER: &str = "client,client_port,server,server_port,opened_ns,promotion_ms,core_rtt_ms,packets_down,packets_up,\
    retransmissions_down,retransmissions_up,lost_before_down,lost_behind_down,read_down_bytes,read_up_bytes,timeouts,undesired_slow_starts";

/// Writes the trace of one seed to `path`, and a row for each flow to the same name with `.truth.csv` added. Returns that name.
pub fn capture(users: u32, seed: u64, threads: u32, path: &Path) -> Result<PathBuf, ValidateError> {
    let params = Params {
        users,
        ..Params::default()
    };
    let truth = write(&params, seed, threads, path).map_err(at(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".truth.csv");
    let beside = PathBuf::from(name);
    rows(&truth, &beside).map_err(at(&beside))?;
    Ok(beside)
}

fn rows(truth: &[UserTruth], path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "{HEADER}")?;
    for flow in truth.iter().flat_map(|user| &user.flows) {
        writeln!(out, "{}", row(flow))?;
    }
    out.flush()
}

fn row(flow: &FlowTruth) -> String {
    let (down, up) = (Direction::Down, Direction::Up);
    let name = flow.name;
    let counts = [
        flow.packets[down],
        flow.packets[up],
        flow.retransmissions[down],
        flow.retransmissions[up],
        flow.lost_before[down],
        flow.lost_behind[down],
        flow.read[down],
        flow.read[up],
        flow.timeouts.len() as u64,
        flow.undesired.len() as u64,
    ];
    let counts = counts.map(|count| count.to_string()).join(",");
    format!(
        "{},{},{},{},{},{},{},{counts}",
        name.client,
        name.client_port,
        name.server,
        name.server_port,
        flow.opened.as_ns(),
        flow.promotion.as_ms(),
        flow.core_rtt.as_ms(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capture_has_the_flows_of_its_truth() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lte.pcap");
        let beside = capture(3, 1, 1, &path).unwrap();
        let truth = std::fs::read_to_string(beside).unwrap();
        let mut lines = truth.lines();
        let columns = lines.next().unwrap().split(',').count();
        let flows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert!(flows.len() > 3 && flows.iter().all(|flow| flow.len() == columns));
        let packets: u64 = flows
            .iter()
            .flat_map(|flow| &flow[7..9])
            .map(|count| count.parse::<u64>().unwrap())
            .sum();
        let bytes = std::fs::metadata(&path).unwrap().len();
        // A record has 16 bytes of header, a packet in GTP-U at least 36 + 40.
        assert!(
            packets > 0 && bytes >= 24 + packets * (16 + 76),
            "{packets} {bytes}"
        );
    }
}
