//! Other people's tools as the truth: their captures read, their decompressors undone, their
//! counts compared.

mod support;

use std::process::Command;
use support::*;
use unbloat_capture::{DamageKind, Input, PcapWriter, Reader, Source, Trace};

fn nanosecond_pcap(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), 1, 65_535).unwrap();
    for packet in packets {
        writer.write(&packet.record()).unwrap();
    }
    writer.finish().unwrap()
}

fn editcap_converts_a_capture_to_every_format_and_the_packets_stay() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.pcap");
    let expected = packets(50);
    std::fs::write(&source, nanosecond_pcap(&expected)).unwrap();
    for format in ["pcap", "nsecpcap", "pcapng", "modpcap"] {
        let converted = folder.path().join(format);
        let status = Command::new("editcap")
            .args(["-F", format])
            .args([&source, &converted])
            .status();
        assert!(status.unwrap().success());
        let (found, notes) = read(&std::fs::read(&converted).unwrap());
        assert_eq!(found, expected, "{format}");
        assert_eq!(notes.damage, [], "{format}");
    }
}

fn tcpdump_reads_what_the_writer_writes_and_we_read_what_it_writes() {
    let expected = packets(30);
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-r", "-", "-w", "-", "--time-stamp-precision=nano"]);
    let written = pipe(&mut tcpdump, &nanosecond_pcap(&expected));
    assert_eq!(read(&written).0, expected);
}

fn compressed_captures_of_one_and_of_several_members_are_read() {
    let expected = packets(5_000);
    let bytes = pcapng(Order::Little, &expected);
    let (front, back) = bytes.split_at(bytes.len() / 3);
    for tool in ["gzip", "zstd", "lz4"] {
        let compress = |part: &[u8]| pipe(Command::new(tool).arg("-c"), part);
        let whole = compress(&bytes);
        assert_eq!(read(&whole).0, expected, "{tool}");
        let members = [compress(front), compress(back)].concat();
        assert_eq!(read(&members).0, expected, "{tool}, two members");

        let (found, damage) = read_damaged(&whole[..whole.len() / 2]);
        assert_eq!(found, expected[..found.len()], "{tool}, cut");
        assert!(
            matches!(damage.kind, DamageKind::Compression(_)),
            "{tool}: {damage}"
        );
    }
}

fn compressed_captures_cut_at_any_byte_are_never_taken_for_whole() {
    let expected = packets(100);
    let bytes = pcap(Order::Big, MICROSECONDS, &expected);
    for tool in ["gzip", "zstd", "lz4"] {
        let whole = pipe(Command::new(tool).arg("-c"), &bytes);
        for cut in 4..whole.len() {
            let mut found = Vec::new();
            let notes =
                unbloat_capture::read_all(&whole[..cut], &mut |r| found.push(Packet::of(r)));
            assert_eq!(found, expected[..found.len()], "{tool} cut at {cut}");
            assert!(
                notes.is_ok_and(|notes| !notes.damage.is_empty()),
                "{tool} cut at {cut}"
            );
        }
    }
}

fn mergecap_merges_the_same_packets_in_the_same_order() {
    let folder = tempfile::tempdir().unwrap();
    let all = packets(300);
    let paths: Vec<_> = (0..3)
        .map(|lane| {
            let part: Vec<Packet> = all.iter().skip(lane).step_by(3).cloned().collect();
            let path = folder.path().join(format!("{lane}.pcap"));
            std::fs::write(&path, nanosecond_pcap(&part)).unwrap();
            path
        })
        .collect();
    let merged = folder.path().join("merged");
    let mut mergecap = Command::new("mergecap");
    mergecap
        .args(["-F", "nsecpcap", "-w"])
        .arg(&merged)
        .args(&paths);
    assert!(mergecap.status().unwrap().success());
    let inputs: Vec<Input> = paths.into_iter().map(Input::File).collect();
    let ours = drain(&mut Trace::open(&inputs).unwrap());
    assert_eq!(
        ours,
        drain(&mut Reader::open(&Input::File(merged)).unwrap())
    );
    assert_eq!(ours, all);
}

fn capinfos_counts_the_same_packets_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.pcapng");
    std::fs::write(&path, pcapng(Order::Big, &packets(123))).unwrap();
    let output = Command::new("capinfos")
        .args(["-T", "-m", "-r", "-c", "-d"])
        .arg(&path)
        .output();
    let line = String::from_utf8(output.unwrap().stdout).unwrap();
    let counts: Vec<&str> = line.trim().rsplit(',').take(2).collect();

    let mut reader = Reader::open(&Input::File(path)).unwrap();
    let mut wire_bytes = 0u64;
    while reader
        .fill(4096, &mut |r| wire_bytes += u64::from(r.wire_len))
        .unwrap()
        > 0
    {}
    assert_eq!(
        counts,
        [wire_bytes.to_string(), reader.notes().packets.to_string()]
    );
}

unbloat_testkit::main! {
    tools(&["editcap"]) => [
        editcap_converts_a_capture_to_every_format_and_the_packets_stay,
    ],
    tools(&["tcpdump"]) => [
        tcpdump_reads_what_the_writer_writes_and_we_read_what_it_writes,
    ],
    tools(&["gzip", "zstd", "lz4"]) => [
        compressed_captures_of_one_and_of_several_members_are_read,
        compressed_captures_cut_at_any_byte_are_never_taken_for_whole,
    ],
    tools(&["mergecap"]) => [
        mergecap_merges_the_same_packets_in_the_same_order,
    ],
    tools(&["capinfos"]) => [
        capinfos_counts_the_same_packets_and_bytes,
    ],
}
