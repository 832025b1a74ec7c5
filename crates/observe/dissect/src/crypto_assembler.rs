//! Puts a hello together that comes in pieces, in any order.

/// The beginning of a byte stream, out of pieces at offsets: QUIC's CRYPTO frames (RFC 9000
/// §19.6), or the first TCP segments of a TLS client.
///
/// Bounded by [`Self::MAX_BYTES`] and [`Self::MAX_PIECES`] and by what was put in: a stranger's
/// piece at a far offset costs no more than its own bytes. Where pieces overlap, the first holds.
#[derive(Clone, Debug, Default)]
pub struct CryptoAssembler {
    /// In order of `start`, neither overlapping nor touching.
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    start: usize,
    bytes: Vec<u8>,
}

impl Piece {
    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }
}

impl CryptoAssembler {
    /// Stream bytes kept. Hellos with post-quantum keys take about 1,800, with tickets and an
    /// encrypted inner hello some 3,000; the largest TLS record holds 16,384.
    pub const MAX_BYTES: usize = 16_384;

    /// Separate pieces kept. Chrome cuts and shuffles a hello into about 20.
    pub const MAX_PIECES: usize = 64;

    /// Adds `data` at `offset`; what lies beyond the bounds is left out.
    pub fn insert(&mut self, offset: u64, data: &[u8]) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let room = Self::MAX_BYTES.saturating_sub(offset);
        let data = &data[..data.len().min(room)];
        if data.is_empty() {
            return;
        }
        let end = offset + data.len();
        let first = self.pieces.partition_point(|p| p.end() < offset);
        let after = self.pieces.partition_point(|p| p.start <= end);
        if first < after || self.pieces.len() < Self::MAX_PIECES {
            let merged = merge(offset, data, &self.pieces[first..after]);
            self.pieces.splice(first..after, [merged]);
        }
    }

    /// The bytes from offset 0 to the first hole.
    pub fn prefix(&self) -> &[u8] {
        match self.pieces.first() {
            Some(piece) if piece.start == 0 => &piece.bytes,
            _ => &[],
        }
    }
}

/// One piece out of new data and the pieces that it overlaps or touches.
fn merge(offset: usize, data: &[u8], others: &[Piece]) -> Piece {
    let start = others.first().map_or(offset, |p| p.start.min(offset));
    let data_end = offset + data.len();
    let end = others.last().map_or(data_end, |p| p.end().max(data_end));
    let mut bytes = vec![0; end - start];
    bytes[offset - start..data_end - start].copy_from_slice(data);
    for piece in others {
        bytes[piece.start - start..piece.end() - start].copy_from_slice(&piece.bytes);
    }
    Piece { start, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_prefix_ends_at_the_first_hole() {
        let mut assembler = CryptoAssembler::default();
        assembler.insert(6, b"world");
        assert_eq!(assembler.prefix(), b"");
        assembler.insert(0, b"hello");
        assert_eq!(assembler.prefix(), b"hello");
        assembler.insert(5, b" ");
        assert_eq!(assembler.prefix(), b"hello world");
    }

    #[test]
    fn the_first_of_overlapping_pieces_holds() {
        let mut assembler = CryptoAssembler::default();
        assembler.insert(2, b"cd");
        assembler.insert(0, b"abXXef");
        assert_eq!(assembler.prefix(), b"abcdef");
    }

    #[test]
    fn memory_is_bounded_by_bytes_and_pieces() {
        let mut assembler = CryptoAssembler::default();
        assembler.insert(u64::MAX, b"far");
        assembler.insert(CryptoAssembler::MAX_BYTES as u64 - 1, b"edge");
        for i in 0..1000 {
            assembler.insert(i * 2 + 1, b"x");
        }
        assert_eq!(assembler.pieces.len(), CryptoAssembler::MAX_PIECES);
        let kept: usize = assembler.pieces.iter().map(|p| p.bytes.len()).sum();
        assert_eq!(kept, CryptoAssembler::MAX_PIECES);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_give_the_stream(
            stream in prop::collection::vec(any::<u8>(), 1..400),
            cuts in prop::collection::vec((0usize..400, 1usize..60), 0..40),
        ) {
            let mut assembler = CryptoAssembler::default();
            let mut seen = vec![false; stream.len()];
            for (at, len) in cuts {
                let at = at.min(stream.len());
                let end = (at + len).min(stream.len());
                assembler.insert(at as u64, &stream[at..end]);
                seen[at..end].fill(true);
            }
            let known = seen.iter().take_while(|&&s| s).count();
            prop_assert_eq!(assembler.prefix(), &stream[..known]);
        }
    }
}
