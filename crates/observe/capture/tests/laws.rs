//! What holds for all captures: cuts, splits and arbitrary bytes.

mod support;

use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use support::*;
use unbloat_capture::{CaptureError, DamageKind, Input, PcapWriter, Source, Trace, read_all};
use unbloat_wire::LinkType;

type Build<'a> = &'a dyn Fn(&[Packet]) -> Vec<u8>;

/// The length of each capture's beginning that holds the first n packets whole.
fn ends(build: Build<'_>, packets: &[Packet]) -> Vec<usize> {
    (0..=packets.len())
        .map(|n| build(&packets[..n]).len())
        .collect()
}

#[test]
fn a_file_cut_at_any_byte_gives_the_whole_packets_before_the_cut() {
    let expected = packets(4);
    for order in Order::BOTH {
        let formats: [Build<'_>; 3] = [
            &|p| pcap(order, MICROSECONDS, p),
            &|p| pcap(order, MODIFIED, p),
            &|p| pcapng(order, p),
        ];
        for build in formats {
            check_cuts(&build(&expected), &ends(build, &expected), &expected);
        }
    }
}

fn check_cuts(bytes: &[u8], ends: &[usize], expected: &[Packet]) {
    for cut in 4..bytes.len() {
        let (found, notes) = read(&bytes[..cut]);
        let whole = ends
            .iter()
            .filter(|&&end| end <= cut)
            .count()
            .saturating_sub(1);
        assert_eq!(found, expected[..whole], "cut at {cut}");
        // A pcapng may also end rightly behind its section header.
        let between_blocks = ends.contains(&cut) || whole == 0 && notes.damage.is_empty();
        assert_eq!(notes.damage.is_empty(), between_blocks, "cut at {cut}");
        for damage in notes.damage {
            assert_eq!(damage.kind, DamageKind::Cut);
            assert!(damage.offset < cut as u64 && damage.packets == whole as u64);
        }
    }
}

/// Writes each part to a file and opens all files as one trace.
fn trace_of(folder: &Path, parts: &[&[Packet]]) -> Trace {
    let inputs: Vec<Input> = parts
        .iter()
        .enumerate()
        .map(|(i, part)| {
            let path = folder.join(format!("{i}.pcap"));
            let file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
            let mut writer = PcapWriter::new(file, 1, 65_535).unwrap();
            for packet in *part {
                writer.write(&packet.record()).unwrap();
            }
            writer.finish().unwrap();
            Input::File(path)
        })
        .collect();
    Trace::open(&inputs).unwrap()
}

/// Packets told apart by their bytes, at the given times.
fn numbered(times: &[i64]) -> Vec<Packet> {
    let packet = |(i, &time_ns): (usize, &i64)| Packet {
        time_ns,
        link: LinkType::Ethernet,
        wire_len: 60,
        data: (i as u32).to_le_bytes().to_vec(),
    };
    times.iter().enumerate().map(packet).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_trace_cut_into_files_anywhere_is_the_same_trace(
        mut times in prop::collection::vec(0i64..50, 0..200),
        mut cuts in prop::collection::vec(0usize..200, 0..6),
    ) {
        times.sort_unstable();
        let expected = numbered(&times);
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(expected.len()));
        cuts.extend([0, expected.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[Packet]> = cuts.windows(2).map(|w| &expected[w[0]..w[1]]).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut trace = trace_of(folder.path(), &parts);
        prop_assert_eq!(drain(&mut trace), expected);
        let notes = trace.notes();
        prop_assert_eq!((notes.packets, notes.backward_steps), (times.len() as u64, 0));
        let progress = trace.progress();
        prop_assert_eq!(Some(progress.done), progress.total);
    }

    #[test]
    fn files_that_overlap_merge_by_time_each_in_its_own_order(
        a in prop::collection::vec(0i64..1000, 0..60),
        b in prop::collection::vec(0i64..1000, 0..60),
        c in prop::collection::vec(0i64..1000, 0..60),
    ) {
        let all = numbered(&[a.clone(), b.clone(), c.clone()].concat());
        let (first, rest) = all.split_at(a.len());
        let (second, third) = rest.split_at(b.len());
        let folder = tempfile::tempdir().unwrap();
        let mut trace = trace_of(folder.path(), &[first, second, third]);
        let merged = drain(&mut trace);
        for part in [first, second, third] {
            let of_part: Vec<Packet> =
                merged.iter().filter(|p| part.contains(p)).cloned().collect();
            prop_assert_eq!(&of_part[..], part);
        }
        prop_assert_eq!(merged.len(), all.len());

        // The same by single steps.
        let mut stepped = Vec::new();
        let mut stepper = trace_of(folder.path(), &[first, second, third]);
        while let Some(record) = stepper.next().unwrap() {
            stepped.push(Packet::of(record));
        }
        prop_assert_eq!(&stepped, &merged);
        prop_assert_eq!(stepper.notes(), trace.notes());

        let steps = |times: &[i64]| times.windows(2).filter(|w| w[1] < w[0]).count() as u64;
        prop_assert_eq!(trace.notes().backward_steps, steps(&a) + steps(&b) + steps(&c));
        if trace.notes().backward_steps == 0 {
            prop_assert!(merged.is_sorted_by_key(|p| p.time_ns));
        }
    }

    #[test]
    fn arbitrary_bytes_end_in_packets_notes_or_an_error(
        start in 0usize..8,
        noise in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let order = if start % 2 == 0 { Order::Little } else { Order::Big };
        let mut bytes = match start / 2 {
            0 => pcap_header(order, MICROSECONDS, (2, 4), 1),
            1 => pcapng(order, &packets(1)),
            2 => vec![0x1f, 0x8b, 8, 0],
            _ => Vec::new(),
        };
        bytes.extend(&noise);
        let mut captured = 0;
        let result = read_all(&bytes, &mut |record| captured += record.data.len());
        prop_assert!(result.is_err() || captured <= bytes.len());
    }

    #[test]
    fn a_capture_with_any_bytes_changed_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        ng in any::<bool>(),
    ) {
        let expected = packets(6);
        let mut bytes = if ng {
            pcapng(Order::Big, &expected)
        } else {
            pcap(Order::Big, MICROSECONDS, &expected)
        };
        let length = bytes.len();
        for (place, value) in changes {
            bytes[place.index(length)] = value;
        }
        let mut count = 0u64;
        if let Ok(notes) = read_all(&bytes, &mut |_| count += 1) {
            prop_assert_eq!(notes.packets, count);
        }
    }

    #[test]
    fn what_the_writer_writes_the_reader_reads(
        times in prop::collection::vec(0i64..4_294_967_296_000_000_000, 0..40),
    ) {
        let expected = numbered(&times);
        let mut writer = PcapWriter::new(Vec::new(), 1, 256).unwrap();
        for packet in &expected {
            writer.write(&packet.record()).unwrap();
        }
        prop_assert_eq!(read(&writer.finish().unwrap()).0, expected);
    }
}

#[test]
fn the_writer_refuses_what_pcap_cannot_hold() {
    let mut writer = PcapWriter::new(Vec::new(), 1, 256).unwrap();
    let good = &packets(1)[0];
    let other = Packet {
        link: LinkType::RawIp,
        ..good.clone()
    };
    let early = Packet {
        time_ns: -1,
        ..good.clone()
    };
    for (packet, message) in [(other, "one link type"), (early, "1970")] {
        let error = writer.write(&packet.record()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    writer.write(&good.record()).unwrap();
}

#[test]
fn among_several_files_an_empty_one_is_noted_and_a_foreign_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(trace_of(folder.path(), &[&packets(3)]));
    let [good, empty, foreign] =
        ["0.pcap", "empty", "foreign"].map(|name| Input::File(folder.path().join(name)));
    std::fs::write(folder.path().join("empty"), b"").unwrap();
    std::fs::write(folder.path().join("foreign"), b"hello, world").unwrap();

    let mut trace = Trace::open(&[good.clone(), empty.clone()]).unwrap();
    assert_eq!(drain(&mut trace).len(), 3);
    assert_eq!(trace.notes().damage[0].kind, DamageKind::Empty);
    assert!(matches!(
        Trace::open(&[empty]),
        Err(CaptureError::Empty { .. })
    ));
    assert!(matches!(
        Trace::open(&[good, foreign]),
        Err(CaptureError::NotACapture { .. })
    ));
}

#[test]
fn ten_thousand_files_in_a_row_are_open_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let expected = packets(10_000);
    let parts: Vec<&[Packet]> = expected.chunks(1).collect();
    let mut trace = trace_of(folder.path(), &parts);
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut most = 0;
    let mut count = 0;
    while trace.fill(1, &mut |_| count += 1).unwrap() > 0 {
        most = most.max(open_files());
    }
    assert_eq!(count, 10_000);
    // Other tests of this process have files open too.
    assert!(most < 100, "{most} files open");
}

#[test]
fn a_file_that_vanishes_before_its_turn_is_noted_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let expected = packets(9);
    let parts: Vec<&[Packet]> = expected.chunks(3).collect();
    let mut trace = trace_of(folder.path(), &parts);
    std::fs::remove_file(folder.path().join("1.pcap")).unwrap();
    let found = drain(&mut trace);
    assert_eq!(found, [&expected[..3], &expected[6..]].concat());
    let damage = &trace.notes().damage[0];
    assert!(damage.input.ends_with("1.pcap"), "{damage}");
    assert!(matches!(damage.kind, DamageKind::Read(_)), "{damage}");
}

#[test]
fn a_stream_is_delivered_as_it_comes() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let bytes = pcap(Order::Little, MICROSECONDS, &packets(2));
    writer.write_all(&bytes).unwrap();
    let mut source = unbloat_capture::Reader::from_stream("pipe", reader).unwrap();
    // The pipe stays open: a reader that waited for a full batch would hang here.
    let mut count = 0;
    while count < 2 {
        source.fill(4096, &mut |_| count += 1).unwrap();
    }
    assert!(!source.ended());
    drop(writer);
    assert_eq!(source.fill(4096, &mut |_| ()).unwrap(), 0);
    assert!(source.ended());
    assert_eq!(source.notes().damage, []);
}
