//! The whole way: generated on threads, written, read, analysed, compared with the truth.

use std::path::Path;
use std::process::Command;
use unbloat_capture::{Input, Trace};
use unbloat_lte_trace::{Params, score};
use unbloat_lte_trace_host::{analyse, analyse_source, write};
use unbloat_units::Delta;

fn params() -> Params {
    Params {
        users: 6,
        session: Delta::secs(1_200),
        drain: Delta::secs(600),
        ..Params::default()
    }
}

fn a_capture_has_the_same_bytes_for_one_and_two_threads() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = [1, 2].map(|threads| {
        let path = folder.path().join(format!("{threads}.pcap"));
        let truth = write(&params(), 5, threads, &path).unwrap();
        (std::fs::read(path).unwrap(), truth)
    });
    assert!(one.0 == two.0);
    assert_eq!(one.1, two.1);
}

fn a_compressed_capture_gives_the_same_analysis_as_no_capture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcap.zst");
    write(&params(), 5, 1, &path).unwrap();
    let mut trace = Trace::open(&[Input::File(path)]).unwrap();
    let from_file = analyse_source(&mut trace, 1, Default::default()).unwrap();
    let (direct, _) = analyse(&params(), 5, 2, Default::default()).unwrap();
    assert_eq!(from_file, direct);
}

/// Bounds and their reasons stand with the checks.
fn the_analysis_keeps_its_bounds_against_the_truth() {
    let (seen, truth) = analyse(&params(), 9, 1, Default::default()).unwrap();
    assert!(seen.packets > 10_000 && seen.flows.len() > 300);
    for check in score::checks(&seen, &truth) {
        assert_ne!(check.is_hit(), Some(false), "{check:?}");
    }
}

/// One pass: message type of GTP-U, port of TCP inside it, state of the checksums, and what is malformed.
fn tshark(path: &Path) -> String {
    let fields = [
        "gtp.message",
        "tcp.srcport",
        "ip.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
    ];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args([
            "-o",
            "ip.check_checksum:TRUE",
            "-T",
            "fields",
            "-E",
            "separator=|",
        ])
        .args(fields)
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn tshark_reads_every_tunnel_and_finds_nothing_malformed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcap");
    let few = Params {
        users: 3,
        ..params()
    };
    let truth = write(&few, 5, 1, &path).unwrap();
    let flows = truth.iter().flat_map(|user| &user.flows);
    let packets: u64 = flows.map(|flow| flow.packets.down + flow.packets.up).sum();
    let lines = tshark(&path);
    let mut tcp = 0;
    for line in lines.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[0], "0xff", "a packet of a user: {line}");
        // Good (1) for both IP headers. Of TCP, payload is cut, so it can be judged in packets without any.
        assert_eq!(fields[2], "1,1", "{line}");
        assert!(fields[3] != "0" && fields[4].is_empty(), "{line}");
        tcp += u64::from(!fields[1].is_empty());
    }
    assert_eq!(tcp, packets);
}

unbloat_testkit::main! {
    always() => [
        a_capture_has_the_same_bytes_for_one_and_two_threads,
        a_compressed_capture_gives_the_same_analysis_as_no_capture,
        the_analysis_keeps_its_bounds_against_the_truth,
    ],
    tools(&["tshark"]) => [tshark_reads_every_tunnel_and_finds_nothing_malformed],
}
