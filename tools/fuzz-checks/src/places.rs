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

/// The bytes change what is remembered at the beginning of a trace, which has a table of fixed size: numbers of eight bytes, each behind its place in three
/// bytes. A place beyond the end cuts there, or adds the number.
fn remembered(data: &[u8]) {
    let mut remembered = Watch::default().state().remembered;
    for change in data.chunks_exact(11) {
        let (at, number) = change.split_at(3);
        let at = usize::from(at[0]) << 16 | usize::from(at[1]) << 8 | usize::from(at[2]);
        match remembered.get_mut(at..at + 8) {
            Some(old) => old.copy_from_slice(number),
            None if at > 1 << 22 => remembered.truncate(at & 0xF_FFFF),
            None => remembered.extend(number),
        }
    }
    let state = State {
        latest_ns: 7,
        correction_ns: 0,
        remembered,
    };
    if let Some(watch) = Watch::resume(&state) {
        let once = watch.state();
        let twice = Watch::resume(&once).expect("as it was written").state();
        assert_eq!(once, twice);
    }
}
