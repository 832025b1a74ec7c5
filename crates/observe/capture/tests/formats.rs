//! Every format, byte order and resolution, built by hand.

mod support;

use std::io::Write;
use support::*;
use unbloat_capture::{CaptureError, DamageKind, Input, Reader, Source, read_all};
use unbloat_wire::LinkType;

#[test]
fn pcap_is_read_in_all_magics_and_both_byte_orders() {
    let expected = packets(20);
    for order in Order::BOTH {
        for magic in [MICROSECONDS, NANOSECONDS, MODIFIED] {
            let (found, notes) = read(&pcap(order, magic, &expected));
            assert_eq!(found, expected, "{order:?} {magic:#x}");
            assert_eq!(notes.damage, []);
            assert_eq!(notes.packets, 20);
            assert_eq!(notes.kernel_drops, None);
        }
    }
}

#[test]
fn nanoseconds_are_kept() {
    let mut expected = packets(3);
    expected[2].time_ns += 123;
    assert_eq!(read(&pcap(Order::Big, NANOSECONDS, &expected)).0, expected);
}

#[test]
fn the_frame_check_bits_of_the_link_type_field_are_masked() {
    let mut bytes = pcap(Order::Big, MICROSECONDS, &packets(1));
    bytes[20] = 0x44;
    assert_eq!(read(&bytes).0[0].link, LinkType::Ethernet);
}

#[test]
fn old_versions_may_have_the_two_lengths_exchanged() {
    for (version, exchanged) in [
        ((2, 2), true),
        ((2, 3), false),
        ((2, 3), true),
        ((543, 0), true),
    ] {
        let mut bytes = pcap_header(Order::Little, MICROSECONDS, version, 1);
        let lengths: [u32; 2] = if exchanged { [90, 4] } else { [4, 90] };
        bytes.extend([0; 8]);
        bytes.extend(lengths.map(u32::to_le_bytes).concat());
        bytes.extend(*b"data");
        let (found, _) = read(&bytes);
        assert_eq!(
            (found[0].wire_len, &found[0].data[..]),
            (90, &b"data"[..]),
            "{version:?}"
        );
    }
}

#[test]
fn pcapng_packets_of_all_kinds_and_clocks_are_read() {
    let packet = &packets(1)[0];
    for order in Order::BOTH {
        let mut bytes = section(order);
        bytes.extend(interface(order, 1, 96, &[]));
        bytes.extend(interface(order, 101, 0, &[option(order, 9, &[9])]));
        let offset = option(order, 14, &order.u64(1_000));
        bytes.extend(interface(
            order,
            113,
            0,
            &[option(order, 9, &[0x80 | 10]), offset],
        ));
        bytes.extend(block(order, 4, &[0; 100]));
        bytes.extend(enhanced(order, 0, 1_500_000, packet));
        bytes.extend(enhanced(order, 1, 1_500_000, packet));
        bytes.extend(enhanced(order, 2, 1_536, packet));
        let mut obsolete = order.u16(1).to_vec();
        obsolete.extend(order.u16(0));
        obsolete.extend(packet_body(order, 77, packet));
        bytes.extend(block(order, 2, &obsolete));
        let mut simple = order.u32(1_200).to_vec();
        simple.extend([9; 96]);
        bytes.extend(block(order, 3, &simple));

        let (found, notes) = read(&bytes);
        let seen: Vec<(i64, LinkType, u32, usize)> = found
            .iter()
            .map(|p| (p.time_ns, p.link, p.wire_len, p.data.len()))
            .collect();
        assert_eq!(
            seen,
            [
                (1_500_000_000, LinkType::Ethernet, 1_000, 40),
                (1_500_000, LinkType::RawIp, 1_000, 40),
                (1_001_500_000_000, LinkType::LinuxCooked, 1_000, 40),
                (77, LinkType::RawIp, 1_000, 40),
                (77, LinkType::Ethernet, 1_200, 96),
            ],
            "{order:?}"
        );
        assert_eq!(notes.backward_steps, 2);
        assert_eq!(notes.damage, []);
    }
}

#[test]
fn sections_may_differ_in_byte_order_and_have_interfaces_of_their_own() {
    let expected = packets(6);
    let mut bytes = pcapng(Order::Little, &expected[..3]);
    bytes.extend(pcapng(Order::Big, &expected[3..]));
    assert_eq!(read(&bytes).0, expected);

    let mut orphan = pcapng(Order::Little, &expected[..3]);
    orphan.extend(section(Order::Little));
    orphan.extend(enhanced(Order::Little, 0, 1, &expected[3]));
    let (found, damage) = read_damaged(&orphan);
    assert_eq!(found, expected[..3]);
    assert_eq!(
        damage.kind,
        DamageKind::Interface {
            interface: 0,
            described: 0
        }
    );
}

#[test]
fn drop_counts_are_the_last_of_each_interface_over_all_sections() {
    let order = Order::Big;
    let statistics = |id: u32, options: &[Vec<u8>]| {
        let mut body = order.u32(id).to_vec();
        body.extend([0; 8]);
        body.extend(options.concat());
        block(order, 5, &body)
    };
    let count = |code, n: u64| option(order, code, &order.u64(n));
    let mut bytes = section(order);
    bytes.extend(interface(order, 1, 0, &[]));
    bytes.extend(interface(order, 1, 0, &[]));
    bytes.extend(statistics(0, &[count(5, 10)]));
    bytes.extend(statistics(0, &[count(4, 999), count(5, 12), count(7, 3)]));
    bytes.extend(statistics(1, &[count(5, u64::MAX)]));
    bytes.extend(section(order));
    bytes.extend(interface(order, 1, 0, &[]));
    bytes.extend(statistics(0, &[count(5, 100)]));
    assert_eq!(read(&bytes).1.kernel_drops, Some(115));
}

#[test]
fn a_corrupt_length_stops_the_file_and_says_where() {
    let expected = packets(5);
    let mut bytes = pcap(Order::Little, MICROSECONDS, &expected);
    let third = pcap(Order::Little, MICROSECONDS, &expected[..3]).len();
    bytes[third + 8..third + 12].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    let (found, damage) = read_damaged(&bytes);
    assert_eq!(found, expected[..3]);
    assert_eq!((damage.offset, damage.packets), (third as u64, 3));
    assert_eq!(
        damage.to_string(),
        format!(
            "capture: stopped at byte {third} after 3 packets: a record claims 2147483647 \
             captured bytes, more than any capture stores"
        )
    );
}

/// What a disk that was full leaves, and what a stranger makes as long as any: a hole.
#[test]
fn zeros_are_no_packets() {
    let expected = packets(3);
    let mut bytes = pcap(Order::Little, MICROSECONDS, &expected);
    let end = bytes.len();
    bytes.resize(end + 4096, 0);
    let (found, damage) = read_damaged(&bytes);
    assert_eq!(found, expected);
    assert_eq!((damage.offset, damage.packets), (end as u64, 3));
    assert!(matches!(damage.kind, DamageKind::Zeros), "{damage}");
}

#[test]
fn a_pcapng_block_must_say_the_same_length_at_both_ends() {
    let mut bytes = pcapng(Order::Little, &packets(2));
    let last = bytes.len() - 4;
    bytes[last] ^= 1;
    let (found, damage) = read_damaged(&bytes);
    assert_eq!(found.len(), 1);
    assert!(
        matches!(damage.kind, DamageKind::BlockTrailer { .. }),
        "{damage}"
    );
}

#[test]
fn a_long_unknown_block_is_skipped_without_being_held() {
    let mut bytes = pcapng(Order::Little, &packets(1));
    bytes.extend(block(Order::Little, 0x0bad, &vec![1; 40 << 20]));
    bytes.extend(enhanced(Order::Little, 0, 5, &packets(2)[1]));
    assert_eq!(read(&bytes).0.len(), 2);
}

#[test]
fn what_is_no_capture_is_refused_with_what_it_looks_like() {
    for (bytes, message) in [
        (&b""[..], "is empty"),
        (
            b"<!DOCTYPE html>",
            "begins with 3c 21 44 4f 43 54 59 50 (text)",
        ),
        (b"\xfd7zXZ\0\0\0", "xz -dc"),
        (b"\xa1", "begins with a1"),
    ] {
        let error = read_all(bytes, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let unknown = pcap_header(Order::Big, MICROSECONDS, (3, 0), 1);
    let error = read_all(&unknown, &mut |_| {}).unwrap_err();
    assert!(
        matches!(error, CaptureError::PcapVersion { major: 3, .. }),
        "{error}"
    );
}

#[test]
fn a_path_that_cannot_be_read_is_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &std::path::Path| {
        Reader::open(&Input::File(path.to_owned()))
            .err()
            .unwrap()
            .to_string()
    };
    let error = open(&folder.path().join("gone.pcap"));
    assert!(
        error.contains("gone.pcap") && error.contains("check the path"),
        "{error}"
    );
    assert!(open(folder.path()).contains("is a directory"));
}

#[test]
fn patterns_give_their_files_in_order_and_existing_names_stand_for_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["b.pcap", "a.pcap", "[1].pcap"] {
        std::fs::File::create(path(name))
            .unwrap()
            .write_all(b"x")
            .unwrap();
    }
    let files = |names: &[&str]| -> Vec<Input> {
        names.iter().map(|n| Input::File(path(n).into())).collect()
    };
    assert_eq!(
        Input::expand([path("?.pcap")]).unwrap(),
        files(&["a.pcap", "b.pcap"])
    );
    assert_eq!(
        Input::expand([path("[1].pcap")]).unwrap(),
        files(&["[1].pcap"])
    );
    assert_eq!(Input::expand(["-"]).unwrap(), [Input::Stdin]);
    assert!(matches!(
        Input::expand([path("*.gone")]),
        Err(CaptureError::NoMatch { .. })
    ));
}

#[test]
fn progress_counts_the_bytes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.pcap");
    let bytes = pcap(Order::Little, MICROSECONDS, &packets(10));
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = Reader::open(&Input::File(path)).unwrap();
    drain(&mut reader);
    let progress = reader.progress();
    assert_eq!(progress.done.as_u64(), bytes.len() as u64);
    assert_eq!(progress.total, Some(progress.done));
}
