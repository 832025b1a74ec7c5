//! TCP sequence numbers (RFC 9293 §3.4): 32 bits that wrap, compared within half the space.

use std::ops::Add;

/// A position in a TCP byte stream, or a TSval: any 32-bit counter that wraps.
///
/// Not `Ord`: the order of wrapping numbers is not transitive. `before`/`after` compare two of
/// them, right when they are less than 2^31 apart (RFC 7323 §5.2 uses the same for TSval).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(u32);

impl Seq {
    pub const fn new(raw: u32) -> Seq {
        Seq(raw)
    }

    pub const fn raw(self) -> u32 {
        self.0
    }

    /// The signed distance from `from` to `self`.
    pub const fn since(self, from: Seq) -> i32 {
        self.0.wrapping_sub(from.0) as i32
    }

    pub const fn before(self, other: Seq) -> bool {
        self.since(other) < 0
    }

    pub const fn after(self, other: Seq) -> bool {
        self.since(other) > 0
    }

    /// The later of the two.
    pub const fn later(self, other: Seq) -> Seq {
        if self.after(other) { self } else { other }
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    fn add(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_survives_the_wrap() {
        let before_wrap = Seq::new(u32::MAX - 1);
        let after_wrap = before_wrap + 10;
        assert_eq!(after_wrap.raw(), 8);
        assert!(after_wrap.after(before_wrap) && before_wrap.before(after_wrap));
        assert_eq!(after_wrap.since(before_wrap), 10);
        assert_eq!(before_wrap.later(after_wrap), after_wrap);
    }
}
