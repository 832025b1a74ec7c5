//! For the fuzz target: the guard without a connection around it.

use crate::frames::Meter;

/// Looks at the bytes of one stream.
pub struct Guard(Meter);

impl Guard {
    /// Of a request whose frames other than DATA have at most `most` bytes.
    pub fn of_request(most: u64) -> Guard {
        Guard(Meter::of_request(most))
    }

    /// Of a stream that goes one way.
    pub fn of_one_way() -> Guard {
        Guard(Meter::of_one_way())
    }

    /// Whether the stream may go on.
    pub fn passes(&mut self, bytes: &[u8]) -> bool {
        self.0.take(bytes).is_ok()
    }
}
