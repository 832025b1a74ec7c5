//! What connections beside the load carry: it takes from the path as the load does, so it belongs to what the path carried.

use crate::measured::Beside;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use unbloat_stream_limits::Hook;
use unbloat_units::{Both, Bytes, Direction, Time};

/// Bytes of all connections that are counted here.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Both<AtomicU64>>);

impl Tally {
    pub fn look(&self, at: Time) -> Beside {
        let bytes = self.0.as_ref().as_ref();
        let bytes = bytes.map(|bytes| Bytes::new(bytes.load(Ordering::Relaxed)));
        Beside { at, bytes }
    }

    fn add(&self, direction: Direction, bytes: usize) {
        self.0[direction].fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A connection that is counted where there is a tally.
pub struct Tallied(pub Option<Tally>);

impl<S> Hook<S> for Tallied {
    fn read(&mut self, bytes: usize) {
        self.0
            .iter()
            .for_each(|tally| tally.add(Direction::Down, bytes));
    }

    fn wrote(&mut self, bytes: usize) {
        self.0
            .iter()
            .for_each(|tally| tally.add(Direction::Up, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use unbloat_stream_limits::Layer;

    #[tokio::test]
    async fn bytes_of_both_ways_are_counted_where_there_is_a_tally() {
        let (here, mut there) = tokio::io::duplex(64);
        let tally = Tally::default();
        let mut stream = Layer {
            stream: here,
            hook: Tallied(Some(tally.clone())),
        };
        there.write_all(&[0; 30]).await.unwrap();
        stream.read_exact(&mut [0; 20]).await.unwrap();
        stream.write_all(&[0; 7]).await.unwrap();
        stream.hook = Tallied(None);
        stream.write_all(&[0; 7]).await.unwrap();
        let seen = tally.look(Time::from_ns(0));
        assert_eq!(seen.bytes, Both::new(Bytes::new(20), Bytes::new(7)));
    }
}
