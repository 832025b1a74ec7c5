//! Data that the steps of a distributed analysis hand to each other.

use super::heap::within;
use unbloat_health::{State, Watch};
use unbloat_trace::Output;

/// Of what bytes of data may hold: columns are typed, and a list has room for as many as it claims and can have.
const MOST: usize = 16 << 20;

/// The bytes are, by the first of them, rows of all tables, packets of a bucket, or what a slice remembers. They are refused, or read and then written as
/// they were.
pub fn place(bytes: &[u8]) {
    let Some((kind, data)) = bytes.split_first() else {
        return;
    };
    within(MOST + 64 * data.len(), || match kind % 3 {
        0 => rows(data),
        1 => drop(unbloat_cluster::fuzz::bucket(data)),
        _ => remembered(data),
    });
}

fn rows(data: &[u8]) {
    let mut output = Output::default();
    if output.read(data).is_none() {
        return;
    }
    let mut written = Vec::new();
    output.write(&mut written);
    let mut again = Output::default();
    again.read(&written).expect("as it was written");
    let same = output.tables().into_iter().zip(again.tables());
    assert!(
        same.into_iter()
            .all(|(a, b)| a.len() == b.len() && a.order() == b.order())
    );
    let mut rewritten = Vec::new();
    again.write(&mut rewritten);
    assert_eq!(written, rewritten);
}

fn remembered(data: &[u8]) {
    let Some((latest, remembered)) = data.split_first_chunk() else {
        return;
    };
    let state = State {
        latest_ns: i64::from_le_bytes(*latest),
        correction_ns: 0,
        remembered: remembered.to_vec(),
    };
    if let Some(watch) = Watch::resume(&state) {
        let once = watch.state();
        let twice = Watch::resume(&once).expect("as it was written").state();
        assert_eq!(once, twice);
    }
}
