//! What holds for every trace, however it was captured, cut, timed, addressed or spread.

mod made;
mod support;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::IpAddr;
use std::path::Path;
use support::frames::{self, Tcp};
use support::steps::{Step, steps};
use support::tables::Tables;
use support::world::{self, Addresses, Packet};
use support::{Played, play, run, settings, with};
use unbloat_analyze::{Control, Standing};
use unbloat_capture::{CaptureError, Input, Notes, PcapWriter, Progress, Record, Source, Trace};
use unbloat_health::Watch;
use unbloat_trace::{Output, Params, all_tables};
use unbloat_units::Delta;
use unbloat_wire::{
    Batch, FlowHasher, PacketFlags, PacketHeader, Parser, ParserParams, TcpFlags, protocol,
};

fn packets(steps: &[Step]) -> Vec<Packet> {
    world::packets(steps, &Addresses::usual())
}

/// A world of many batches, the same at every run.
fn long_world(count: usize) -> Vec<Step> {
    let tree = steps(count..=count).new_tree(&mut TestRunner::deterministic());
    tree.expect("no step is ever refused").current()
}

fn equal(a: &Tables, b: &Tables) -> Result<(), TestCaseError> {
    match a.difference(b, &BTreeMap::new()) {
        None => Ok(()),
        Some(difference) => Err(TestCaseError::fail(difference)),
    }
}

/// What headers say in sum: TCP and UDP packets, their payload, their bytes on the wire; skipped, and
/// captured twice, which the others do not hold.
fn sums(packets: &[Packet]) -> [u64; 5] {
    let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(9));
    let mut sums = [0; 5];
    let mut watch = Watch::default();
    for few in packets.chunks(Batch::PACKETS as usize) {
        let mut batch = Batch::default();
        for packet in few {
            let record = packet.record();
            parser.push(
                &mut batch,
                record.link,
                record.data,
                record.wire_len,
                record.time,
            );
        }
        sums[3] += batch.skipped.total();
        watch.look(&mut batch);
        let is_copy = |h: &&PacketHeader| h.flags.has(PacketFlags::COPY);
        sums[4] += batch.headers.iter().filter(is_copy).count() as u64;
        let counted = batch.headers.iter().filter(|h| !is_copy(h));
        for header in counted.filter(|h| [protocol::TCP, protocol::UDP].contains(&h.protocol)) {
            sums[0] += 1;
            sums[1] += u64::from(header.payload_len);
            sums[2] += u64::from(header.wire_len);
        }
    }
    sums
}

fn flow_sums(tables: &Tables) -> [u64; 3] {
    let sum = |column| tables.sum("flows", column);
    [
        sum("packets_down") + sum("packets_up"),
        sum("payload_down_bytes") + sum("payload_up_bytes"),
        sum("wire_bytes"),
    ]
}

/// Nothing comes from nowhere, nothing is lost, and users have what their flows have.
fn conserved(packets: &[Packet], tables: &Tables) -> Result<(), TestCaseError> {
    let [count, payload, wire, _, _] = sums(packets);
    prop_assert_eq!(flow_sums(tables), [count, payload, wire]);
    for column in ["payload_down_bytes", "payload_up_bytes"] {
        prop_assert_eq!(tables.sum("users", column), tables.sum("flows", column));
    }
    prop_assert_eq!(tables.sum("users", "flows"), tables.len("flows") as u64);
    prop_assert_eq!(tables.nonsense(), None);
    Ok(())
}

fn check_conservation(packets: &[Packet]) -> Result<(), TestCaseError> {
    let (tables, outcome) = play(packets, &settings());
    conserved(packets, &tables)?;
    prop_assert_eq!(outcome.packets, packets.len() as u64);
    let [.., skipped, copies] = sums(packets);
    prop_assert_eq!(outcome.skipped.total(), skipped);
    let copied = outcome.health.copied;
    prop_assert_eq!(copied.down.copies + copied.up.copies, copies);
    let analysed = tables.sum("protocols", "packets");
    prop_assert_eq!(analysed + skipped + copies, outcome.packets);
    Ok(())
}

fn check_threads(packets: &[Packet]) -> Result<(), TestCaseError> {
    let (alone, _) = play(packets, &settings());
    for (threads, hash_seed) in [(1, 2), (2, 1), (7, 3)] {
        let changed = with(|s| (s.threads, s.hash_seed) = (threads, hash_seed));
        let (tables, _) = play(packets, &changed);
        equal(&alone, &tables)?;
    }
    Ok(())
}

fn check_time_shift(packets: &[Packet], shift_ns: i64) -> Result<(), TestCaseError> {
    let (tables, _) = play(packets, &settings());
    let later = packets.iter().cloned().map(|mut packet| {
        packet.time_ns += shift_ns;
        packet
    });
    let later: Vec<Packet> = later.collect();
    equal(&tables, &play(&later, &settings()).0)
}

/// Clients and servers change their places among themselves, and some move elsewhere.
fn moved() -> Addresses {
    let [c0, c1, _, _] = Addresses::usual().clients;
    let [s0, s1, s2, _] = Addresses::usual().servers;
    let [client, client6, server6] =
        ["203.0.113.250", "2001:db8::ffff:1", "fd00::1"].map(|a| a.parse::<IpAddr>().unwrap());
    Addresses {
        clients: [c1, client, c0, client6],
        servers: [s2, s0, s1, server6],
    }
}

fn check_addresses(steps: &[Step]) -> Result<(), TestCaseError> {
    let (usual, moved) = (Addresses::usual(), moved());
    let old = usual.clients.iter().chain(&usual.servers);
    let new = moved.clients.iter().chain(&moved.servers);
    let names: BTreeMap<String, String> = old
        .zip(new)
        .map(|(old, new)| (old.to_string(), new.to_string()))
        .collect();
    let (before, _) = play(&world::packets(steps, &usual), &settings());
    let (after, _) = play(&world::packets(steps, &moved), &settings());
    prop_assert_eq!(before.difference(&after, &names), None);
    Ok(())
}

/// Packets of one link type, which is what one pcap file holds, in time order.
fn fileable(steps: &[Step]) -> Vec<Packet> {
    let mut packets = packets(steps);
    packets.retain(|packet| packet.link == 101);
    packets.sort_by_key(|packet| packet.time_ns);
    packets
}

fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), 101, 65_535).unwrap();
    packets
        .iter()
        .for_each(|packet| writer.write(&packet.record()).unwrap());
    writer.finish().unwrap()
}

fn trace_of(folder: &Path, files: &[Vec<u8>]) -> Trace {
    let inputs: Vec<Input> = (0..)
        .zip(files)
        .map(|(i, bytes)| {
            let path = folder.join(format!("{i}.pcap"));
            std::fs::write(&path, bytes).unwrap();
            Input::File(path)
        })
        .collect();
    Trace::open(&inputs).unwrap()
}

fn check_splits(packets: &[Packet], cuts: &[usize]) -> Result<(), TestCaseError> {
    let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(packets.len())).collect();
    cuts.extend([0, packets.len()]);
    cuts.sort_unstable();
    let files: Vec<Vec<u8>> = cuts
        .windows(2)
        .map(|w| pcap(&packets[w[0]..w[1]]))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let (split, outcome) = run(&mut trace_of(folder.path(), &files), &settings());
    prop_assert_eq!(outcome.packets, packets.len() as u64);
    equal(&play(packets, &settings()).0, &split)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn packets_and_bytes_are_conserved(steps in steps(0..400)) {
        check_conservation(&packets(&steps))?;
    }

    #[test]
    fn the_number_of_threads_and_the_hash_keys_cannot_be_seen(steps in steps(0..400)) {
        check_threads(&packets(&steps))?;
    }

    #[test]
    fn a_column_is_the_same_whatever_else_is_read(steps in steps(0..300), nth in any::<usize>()) {
        let packets = packets(&steps);
        let tables = all_tables();
        let all = tables.iter().flat_map(|table| table.columns.iter().map(|c| (table.name, c.name)));
        let all: Vec<_> = all.collect();
        let (table, column) = all[nth % all.len()];
        let read = BTreeMap::from([(table, BTreeSet::from([column]))]);
        let (few, _) = play(&packets, &with(|s| s.reads = Some(read)));
        let (whole, _) = play(&packets, &settings());
        prop_assert_eq!(few.column(table, column), whole.column(table, column), "{}.{}", table, column);
    }

    #[test]
    fn tables_do_not_depend_on_when_the_trace_was_taken(
        steps in steps(0..300),
        shift_s in -3_000_000_000i64..3_000_000_000,
        shift_ns in 0i64..1_000_000_000,
    ) {
        check_time_shift(&packets(&steps), shift_s * 1_000_000_000 + shift_ns)?;
    }

    #[test]
    fn addresses_are_names_and_nothing_else(steps in steps(0..300)) {
        check_addresses(&steps)?;
    }

    #[test]
    fn how_a_trace_is_cut_into_files_cannot_be_seen(
        steps in steps(0..300),
        cuts in prop::collection::vec(0usize..300, 0..6),
    ) {
        check_splits(&fileable(&steps), &cuts)?;
    }

    #[test]
    fn how_many_packets_a_read_gives_cannot_be_seen(steps in steps(0..300), at_once in 1usize..20) {
        let packets = packets(&steps);
        let (tables, _) = run(&mut Played::new(&packets[..], at_once), &settings());
        equal(&play(&packets, &settings()).0, &tables)?;
    }

    #[test]
    fn a_cut_file_gives_all_packets_before_the_cut(
        steps in steps(1..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let packets = fileable(&steps);
        let whole = pcap(&packets);
        let cut = 24 + cut.index(whole.len() - 23);
        let before = (0..=packets.len()).rfind(|&n| pcap(&packets[..n]).len() <= cut).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = whole[..cut].to_vec();
        let (tables, outcome) = run(&mut trace_of(folder.path(), &[file]), &settings());
        prop_assert_eq!(outcome.packets, before as u64);
        let within = pcap(&packets[..before]).len() < cut;
        prop_assert_eq!(!outcome.notes.damage.is_empty(), within);
        equal(&play(&packets[..before], &settings()).0, &tables)?;
    }

    #[test]
    fn no_more_flows_live_than_allowed_and_none_is_lost(
        steps in steps(0..400),
        max_flows in 1usize..12,
        threads in 1usize..3,
    ) {
        let packets = packets(&steps);
        let limited = with(|s| (s.params.max_flows, s.threads) = (max_flows, threads));
        let (tables, outcome) = play(&packets, &limited);
        conserved(&packets, &tables)?;
        // Each thread has its part of the limit, rounded up.
        prop_assert!(outcome.stats.peak_flows <= max_flows.div_ceil(threads) * threads);
        let told = tables.count("flows", "end_cause", "evicted") as u64;
        prop_assert!(told <= outcome.stats.evicted_flows, "{told} told");
    }
}

#[test]
fn the_laws_hold_over_many_batches() {
    let world = long_world(30_000);
    let all = packets(&world);
    assert!(
        all.len() > 5 * Batch::PACKETS as usize,
        "{} packets",
        all.len()
    );
    let (tables, _) = play(&all, &settings());
    assert!(
        tables.count("flows", "end_cause", "idle") > 50,
        "flows end by silence"
    );
    check_conservation(&all).unwrap();
    check_threads(&all).unwrap();
    check_time_shift(&all, -1_234_567_890_123_456_789).unwrap();
    check_addresses(&world).unwrap();
    check_splits(&fileable(&world), &[1, 4095, 4096, 4097, 9000]).unwrap();
}

#[test]
fn after_a_long_pause_what_was_silent_ends_in_pieces() {
    const FLOWS: u32 = 6000;
    let syn = Tcp {
        flags: TcpFlags::SYN,
        ..Tcp::default()
    };
    let packet = |n: u32, time_ns: i64| {
        let client = IpAddr::from((0x0a00_0000 + n % 2500).to_be_bytes());
        let ends = (client, IpAddr::from([192, 0, 2, 1]));
        let ports = (20_000 + (n / 2500) as u16, 443);
        let data = match n % 5 {
            0 => frames::ip(ends, 17, 0, &frames::udp(ports, b"hello")),
            _ => frames::ip(ends, 6, 0, &frames::tcp(ports, &syn, &[])),
        };
        let wire_len = data.len() as u32;
        Packet {
            time_ns,
            link: 101,
            data,
            wire_len,
        }
    };
    let mut packets: Vec<Packet> = (0..FLOWS).map(|n| packet(n, i64::from(n))).collect();
    packets.extend((0..5000).map(|n| packet(n % 7, 3_600_000_000_000 + i64::from(n))));
    for threads in 1..=3 {
        let settings = with(|s| s.threads = threads);
        let mut most = 0;
        let source = &mut Played::new(&packets[..], usize::MAX);
        let sink = &mut |output: &Output, _: Standing| {
            let ended = [output.flows.len(), output.side.users.len()];
            most = ended.into_iter().fold(most, usize::max);
            Ok::<_, Infallible>(Control::Continue)
        };
        unbloat_analyze::run(source, &settings, sink).unwrap();
        // Pieces of 512, and the few that return.
        assert!(most <= 520 * threads, "{most} rows at once");
    }
    check_threads(&packets).unwrap();
    check_conservation(&packets).unwrap();
}

#[test]
fn a_flood_of_handshakes_is_survived_and_what_was_given_up_is_told() {
    const FLOWS: u32 = 200_000;
    let syn = Tcp {
        flags: TcpFlags::SYN,
        window: 1000,
        ..Tcp::default()
    };
    let packets: Vec<Packet> = (0..FLOWS)
        .map(|n| {
            let client = IpAddr::from((0x0a00_0000 + n / 3).to_be_bytes());
            let ends = (client, IpAddr::from([192, 0, 2, 1]));
            let data = frames::ip(
                ends,
                6,
                0,
                &frames::tcp((20_000 + (n % 3) as u16, 443), &syn, &[]),
            );
            let wire_len = data.len() as u32;
            Packet {
                time_ns: i64::from(n) * 1000,
                link: 101,
                data,
                wire_len,
            }
        })
        .collect();
    let limited = with(|s| s.params.max_flows = 10_000);
    let (tables, outcome) = play(&packets, &limited);
    conserved(&packets, &tables).unwrap();
    assert_eq!(tables.len("flows"), FLOWS as usize);
    assert_eq!(outcome.stats.peak_flows, 10_000);
    assert_eq!(outcome.stats.evicted_flows, u64::from(FLOWS) - 10_000);
    assert_eq!(
        tables.count("flows", "end_cause", "evicted"),
        FLOWS as usize - 10_000
    );
    assert!(outcome.stats.evicted_users > 50_000, "{:?}", outcome.stats);
}

/// How `captures/README.md` says that it was made: 20 ms from server to monitor and 15 ms from there
/// to clients, each way; 10 Mbit/s behind a queue of 1 MB in front of each of two clients.
#[test]
fn the_shipped_capture_obeys_the_path_that_it_was_taken_on() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = shipped.join("../../../captures/bloated-link.pcap.zst");
    let mut trace = Trace::open(&[Input::File(shipped)]).expect("it ships");
    let settings = with(|settings| settings.params = Params::default());
    let (tables, _) = run(&mut trace, &settings);
    let values = |table: &str, column: &str| -> Vec<f64> {
        let column = tables.column(table, column);
        (0..tables.len(table))
            .filter_map(|row| column.as_f64(row))
            .collect()
    };

    // Nothing queues between server and monitor, and little towards the server.
    let up = values("flows", "handshake_up_ms");
    assert_eq!(up.len(), 10);
    assert!(up.iter().all(|ms| (40.0..41.0).contains(ms)), "{up:?}");
    // The path down and back, then the full queue's 800 ms and a delayed ACK's 40 ms on top.
    let least = values("flows", "rtt_down_min_ms");
    let smallest = least.iter().copied().fold(f64::MAX, f64::min);
    assert!((30.0..31.0).contains(&smallest), "{least:?}");
    let most = values("flows", "rtt_down_max_ms");
    assert!(most.iter().all(|&ms| ms < 30.0 + 800.0 + 45.0), "{most:?}");
    // Only the queue drops.
    assert_eq!(tables.sum("flows", "retransmitted_up_packets"), 0);
    assert_eq!(tables.sum("flows", "upstream_loss_down_packets"), 0);
    assert!(tables.sum("flows", "retransmitted_down_packets") > 500);
    // Of packets of 1,410 bytes 1,358 are payload.
    let mut rates = values("bandwidth", "bandwidth_bps");
    rates.sort_unstable_by(f64::total_cmp);
    let payload_bps = 10e6 * 1358.0 / 1410.0;
    let off = rates[rates.len() / 2] / payload_bps - 1.0;
    assert!(off.abs() < 0.001, "{off}");
    let carried_bits = 8.0 * tables.sum("flows", "payload_down_bytes") as f64;
    let lasted_s = values("flows", "start_ns")
        .iter()
        .zip(values("flows", "duration_ms"))
        .map(|(start, ms)| start / 1e9 + ms / 1e3)
        .fold(0.0, f64::max);
    // Copies that crossed the monitor before the queue dropped them do not cross the link.
    assert!(carried_bits < 2.0 * payload_bps * lasted_s * 1.02);
    assert!(carried_bits > 2.0 * payload_bps * lasted_s * 0.9);
}

/// An interface whose packets wait until it is closed.
struct Waiting {
    packets: Played,
    is_closed: bool,
}

impl Source for Waiting {
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        match self.is_closed {
            true => self.packets.next(),
            false => Ok(None),
        }
    }

    fn fill(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Result<usize, CaptureError> {
        match self.is_closed {
            true => self.packets.fill(max, sink),
            false => Ok(0),
        }
    }

    /// Batches end at packets, not at times that a busy machine would decide.
    fn patience(&self) -> Option<Delta> {
        Some(Delta::secs(3_600))
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    fn ended(&self) -> bool {
        self.is_closed && self.packets.ended()
    }

    fn progress(&self) -> Progress {
        self.packets.progress()
    }

    fn notes(&mut self) -> Notes {
        self.packets.notes()
    }
}

#[test]
fn a_capture_that_is_stopped_holds_what_was_captured_before() {
    let packets = packets(&long_world(5_000));
    assert!(packets.len() > Batch::PACKETS as usize);
    let mut source = Waiting {
        packets: Played::new(packets.clone(), 700),
        is_closed: false,
    };
    let mut tables = Tables::new();
    let outcome =
        unbloat_analyze::run_live::<Infallible>(&mut source, &settings(), &mut |output, _, _| {
            tables.take(output);
            Ok(Control::Stop)
        });
    assert_eq!(outcome.unwrap().packets, packets.len() as u64);
    assert!(
        tables
            .difference(&play(&packets, &settings()).0, &BTreeMap::new())
            .is_none()
    );
}
