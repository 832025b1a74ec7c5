//! Captures to cut into slices and buckets, their rows by one process, and how rows are compared.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use unbloat_analyze::{Control, Outcome, Settings};
use unbloat_capture::{Input, PcapWriter, Reader, Record, Source, Trace};
use unbloat_cluster::{ClusterError, Reading};
use unbloat_table::Rows;
use unbloat_trace::{Output, Params, all_tables};
use unbloat_units::{Delta, Time};
use unbloat_wire::{LinkType, ParserParams};

/// A packet of the captures that tests are made of.
#[derive(Clone)]
pub struct Packet {
    pub time: Time,
    link: LinkType,
    wire_len: u32,
    data: Vec<u8>,
}

/// A download over a bloated link, about 90,000 packets.
pub fn real() -> Vec<Packet> {
    let capture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../captures/bloated-link.pcap.zst");
    let mut reader = Reader::open(&Input::File(capture)).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push(Packet {
            time: record.time,
            link: record.link,
            wire_len: record.wire_len,
            data: record.data.to_vec(),
        });
    }
    packets
}

/// A TCP packet over Ethernet without payload.
pub fn tcp(time: Time, (src, dst): ((u8, u16), (u8, u16)), flags: u8, seq: u32) -> Packet {
    let mut data = vec![2; 12];
    data.extend([
        8,
        0,
        0x45,
        0,
        0,
        40,
        (seq >> 8) as u8,
        seq as u8,
        0,
        0,
        64,
        6,
        0,
        0,
    ]);
    data.extend([10, 9, 9, src.0, 10, 9, 9, dst.0]);
    data.extend(src.1.to_be_bytes());
    data.extend(dst.1.to_be_bytes());
    data.extend(seq.to_be_bytes());
    data.extend([0, 0, 0, 1, 0x50, flags, 2, 0, 0, 0, 0, 0]);
    Packet {
        time,
        link: LinkType::from(1),
        wire_len: data.len() as u32,
        data,
    }
}

/// Adds flows whose ports tell the wrong direction: one keeps it to the end, one is opened from the other side
/// later, and one only then.
pub fn with_reversed(mut packets: Vec<Packet>) -> Vec<Packet> {
    let n = packets.len();
    let time = |share: f64| packets[(n as f64 * share) as usize].time + Delta::ns(1);
    let (client, server) = ((1, 2000), (2, 40_000));
    let mut new = Vec::new();
    for (flow, opened_again) in [(0, None), (1, Some(0.55)), (2, Some(0.1))] {
        let ends = ((client.0, client.1 + flow), server);
        let back = (ends.1, ends.0);
        if flow < 2 {
            new.push(tcp(time(0.05), ends, 2, 1));
        }
        if let Some(again) = opened_again {
            new.push(tcp(time(again), back, 2, 7));
        }
        for i in 0..180u16 {
            let at = time(0.06 + f64::from(i) / 200.0);
            let ends = if i % 2 == 0 { ends } else { back };
            new.push(tcp(at, ends, 0x10, 10 + u32::from(i)));
        }
    }
    packets.extend(new);
    packets.sort_by_key(|packet| packet.time);
    packets
}

pub fn write(path: &Path, packets: &[Packet]) {
    let mut writer = PcapWriter::new(Vec::new(), 1, 65_535).unwrap();
    for packet in packets {
        let record = Record {
            time: packet.time,
            link: packet.link,
            wire_len: packet.wire_len,
            data: &packet.data,
        };
        writer.write(&record).unwrap();
    }
    let bytes = writer.finish().unwrap();
    match path.extension().and_then(|e| e.to_str()) {
        Some("gz") => {
            let file = File::create(path).unwrap();
            let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            gzip.write_all(&bytes).unwrap();
            gzip.finish().unwrap();
        }
        Some("cut") => std::fs::write(path, &bytes[..bytes.len() * 2 / 3]).unwrap(),
        _ => std::fs::write(path, bytes).unwrap(),
    }
}

/// Three taps with four files each: one compressed, one cut; the second tap captured some packets of the first again.
pub fn taps(folder: &Path, packets: &[Packet]) -> Vec<PathBuf> {
    let mut taps: [Vec<Packet>; 3] = Default::default();
    for (i, packet) in packets.iter().enumerate() {
        taps[i % 3].push(packet.clone());
        if i % 15 == 0 {
            let mut again = packet.clone();
            again.time += Delta::us(70);
            taps[1].push(again);
        }
    }
    let mut files = Vec::new();
    for (t, tap) in taps.iter().enumerate() {
        for (f, few) in tap.chunks(tap.len().div_ceil(4)).enumerate() {
            let extension = match (t, f) {
                (0, 1) => "pcap.gz",
                (2, 2) => "pcap.cut",
                _ => "pcap",
            };
            let file = folder.join(format!("tap{t}-{f}.{extension}"));
            write(&file, few);
            files.push(file);
        }
    }
    files
}

/// All rows of all tables, in order, and what there is to know beside them.
pub struct Result {
    pub rows: Vec<Rows>,
    pub outcome: Outcome,
}

pub fn empty() -> Vec<Rows> {
    all_tables().iter().map(Rows::new).collect()
}

pub fn append(tables: &mut [Rows], output: &Output) {
    for (all, rows) in tables.iter_mut().zip(output.tables()) {
        (0..rows.len()).for_each(|row| all.push_from(rows, row));
    }
}

pub fn by_one_process(files: &[PathBuf]) -> Result {
    let inputs: Vec<Input> = files.iter().cloned().map(Input::File).collect();
    let settings = Settings {
        params: Params::default(),
        parser: ParserParams::default(),
        client_nets: Vec::new(),
        threads: 1,
        hash_seed: 5,
        summary_only: false,
        reads: None,
    };
    let mut rows = empty();
    let mut trace = Trace::open(&inputs).unwrap();
    let outcome = unbloat_analyze::run::<ClusterError>(&mut trace, &settings, &mut |output, _| {
        append(&mut rows, output);
        Ok(Control::Continue)
    });
    Result {
        rows,
        outcome: outcome.unwrap(),
    }
}

pub fn reading() -> Reading {
    Reading {
        client_nets: Vec::new(),
        gtp_ports: vec![2152],
    }
}

#[track_caller]
pub fn assert_same(name: &str, truth: &Result, found: &Result) {
    for ((table, wanted), rows) in all_tables().iter().zip(&truth.rows).zip(&found.rows) {
        assert_eq!(wanted.len(), rows.len(), "{name}: rows of {}", table.name);
        let places = wanted.order().iter().zip(rows.order());
        let same = places.take_while(|(a, b)| a == b).count();
        assert_eq!(same, wanted.len(), "{name}: order in {}", table.name);
        let columns = wanted.columns().iter().zip(rows.columns());
        for (column, (a, b)) in table.columns.iter().zip(columns) {
            assert!(a == b, "{name}: {}.{}", table.name, column.name);
        }
    }
    let (a, b) = (&truth.outcome, &found.outcome);
    assert_eq!(a.health, b.health, "{name}");
    assert_eq!(a.notes, b.notes, "{name}");
    assert_eq!((a.packets, a.origin), (b.packets, b.origin), "{name}");
    assert_eq!(a.skipped, b.skipped, "{name}");
    assert_eq!(a.stats.evicted_flows, b.stats.evicted_flows, "{name}");
}
