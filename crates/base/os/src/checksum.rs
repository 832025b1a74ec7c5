//! The Internet checksum (RFC 1071).

/// What belongs into the field over these bytes, in which it is still zero; zero where it is in them already.
pub fn of(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// The sum of 16-bit words in network byte order, not yet folded; an odd last byte counts as the upper half of a word.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words
        .iter()
        .map(|word| u64::from(u32::from_be_bytes(*word)))
        .sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

/// The one's complement sum in 16 bits.
#[inline]
pub fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum after one word has changed (RFC 1624 section 3, equation 3).
#[inline]
pub fn replace(checksum: u16, before: u16, after: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!before) + u64::from(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_sums_to_ddf2() {
        assert_eq!(fold(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(fold(sum(&[1])), 0x0100);
        assert_eq!(fold(sum(&[0, 1, 0xf2])), 0xf201);
    }

    #[test]
    fn replacing_a_word_is_the_same_as_summing_again() {
        let mut bytes = [0x45, 0, 0x12, 0x34, 0xff, 0xff, 0, 0];
        let before = of(&bytes);
        bytes[1] = 3;
        assert_eq!(replace(before, 0x4500, 0x4503), of(&bytes));
    }
}
