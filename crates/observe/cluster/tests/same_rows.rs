//! The law of this crate: the rows of all tables are those of one process, however a trace was cut.

mod chain;

use chain::{
    Packet, Result, append, assert_same, by_one_process, empty, reading, real, taps, with_reversed,
    write,
};
use std::path::PathBuf;
use unbloat_capture::Input;
use unbloat_cluster::{AskedCut, ClusterError, Place, deal, index, merge, plan, seal, shard};
use unbloat_trace::Params;
use unbloat_units::Delta;

/// By all steps; also how many slices had to be dealt again.
fn by_steps(files: &[PathBuf], slices: u32, buckets: u32, warm_up: u32) -> (Result, usize) {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::open(folder.path().to_str().unwrap()).unwrap();
    let go_on = || false;
    for file in files {
        index(&place, &[Input::File(file.clone())], &reading(), &go_on).unwrap();
    }
    let asked = AskedCut {
        slices: Some(slices),
        buckets: Some(buckets),
        warm_up_batches: Some(warm_up),
    };
    plan(&place, &Params::default(), asked).unwrap();
    // In no particular order, and some twice.
    for slice in (0..slices).rev().chain([0]) {
        deal(&place, slice, &go_on).unwrap();
    }
    let sealed = seal(&place, &go_on).unwrap();
    for bucket in (0..buckets).chain([0]) {
        shard(&place, bucket, &go_on).unwrap();
    }
    let mut rows = empty();
    let (_, outcome) = merge::<ClusterError>(&place, &mut |output| {
        append(&mut rows, output);
        Ok(())
    })
    .unwrap();
    (Result { rows, outcome }, sealed.dealt_again.len())
}

/// For some numbers of slices, buckets and batches of warm-up.
fn check(name: &str, packets: &[Packet], cuts: &[(u32, u32, u32)]) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let files = taps(folder.path(), packets);
    let truth = by_one_process(&files);
    assert!(
        truth.rows[0].len() > 5,
        "{name}: {} flows",
        truth.rows[0].len()
    );
    assert_eq!(truth.outcome.health.damage.len(), 1, "{name}");
    let each = cuts.iter().map(|&(slices, buckets, warm_up)| {
        let (found, again) = by_steps(&files, slices, buckets, warm_up);
        let name = format!("{name}, {slices} slices, {buckets} buckets, warm-up {warm_up}");
        assert_same(&name, &truth, &found);
        again
    });
    each.collect()
}

#[test]
fn any_number_of_slices_and_buckets_gives_the_rows_of_one_process() {
    let packets = with_reversed(real());
    let cuts = [
        (1, 1, 16),
        (1, 32, 16),
        (3, 2, 16),
        (17, 1, 16),
        (17, 2, 16),
        (17, 32, 16),
    ];
    check("plain", &packets, &cuts);
}

#[test]
fn slices_that_remember_too_little_are_dealt_again() {
    let packets = with_reversed(real());
    let again = check("plain", &packets, &[(8, 2, 0), (8, 2, 11)]);
    assert!(again[0] >= 6, "{again:?}: nothing remembered");
    assert!(again[1] < again[0], "{again:?}: much remembered");
}

#[test]
fn a_clock_that_steps_back_or_forth_is_the_same_clock() {
    for step in [Delta::secs(-30), Delta::ms(-400), Delta::secs(500)] {
        let mut packets = with_reversed(real());
        let n = packets.len();
        for packet in &mut packets[n / 2..] {
            packet.time += step;
        }
        let name = format!("step of {step}");
        let folder = tempfile::tempdir().unwrap();
        // One capture: those of three taps would be merged by their wrong times.
        let file = folder.path().join("one.pcap");
        write(&file, &packets);
        let files = [file];
        let truth = by_one_process(&files);
        assert_eq!(truth.outcome.health.clock.steps, 1, "{name}");
        let (found, _) = by_steps(&files, 9, 3, 3);
        assert_same(&name, &truth, &found);
        check(&name, &packets, &[(5, 2, 4)]);
    }
}

#[test]
fn one_tap_whose_clock_is_wrong_does_not_matter() {
    let mut packets = with_reversed(real());
    let n = packets.len();
    for packet in packets[n / 3..n / 2].iter_mut().step_by(3) {
        packet.time += Delta::secs(-2);
    }
    check("one tap", &packets, &[(6, 3, 4)]);
}
