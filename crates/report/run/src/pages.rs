//! The sizes that page headers claim, checked before the Parquet library allocates memory for them.
//!
//! The library reserves as many bytes as a header claims that the page will have once it is decompressed, and room for as many values as a
//! dictionary claims. A file from others may claim gigabytes in a few bytes. The library does not show these claims, so the headers are
//! parsed here: Thrift's compact protocol (its specification, "Thrift compact protocol encoding"), of which `PageHeader` of parquet.thrift
//! needs two fields and three nested ones, and `FileMetaData` one.

use parquet::errors::ParquetError;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};

/// Our pages have 1 MiB and a batch at most.
const LONGEST_PAGE: i64 = 32 << 20;
/// With the least and the largest text of a page, of which the library keeps 64 bytes each.
const LONGEST_HEADER: u64 = 1 << 20;
/// Structs within structs.
const DEEPEST: u32 = 8;

/// Refuses a column chunk that claims more than it can have. It lies at these bytes of the file; a chunk that is not compressed has no more
/// than these. Returns the most bytes that a value has in the mean of a page, and how many values there are.
pub(crate) fn check(
    file: &File,
    (begin, length): (u64, u64),
    is_compressed: bool,
) -> Result<(u64, u64), ParquetError> {
    let (mut at, end) = (begin, begin + length);
    let (mut densest, mut values) = (0, 0_u64);
    while at < end {
        let mut source = BufReader::with_capacity(256, file);
        source.seek(SeekFrom::Start(at))?;
        let (claims, header) = Claims::read(source).ok_or_else(|| damaged("a page header"))?;
        claims.check(is_compressed)?;
        densest = densest.max(claims.density());
        values = values.saturating_add(claims.rows.unsigned_abs());
        at += header + claims.compressed.unsigned_abs();
        if at > end {
            return Err(damaged("the length of a page"));
        }
    }
    Ok((densest, values))
}

/// Refuses a table with columns within columns, of which ours have none: the library descends into them as deep as the file says.
pub(crate) fn check_flat(mut file: &File) -> Result<(), ParquetError> {
    /// At the end: how long the footer before it is, and "PAR1".
    const TAIL: u32 = 8;
    let unread = |_| damaged("the footer");
    let mut length = [0; 4];
    file.seek(SeekFrom::End(-i64::from(TAIL))).map_err(unread)?;
    file.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let begin = -i64::from(length) - i64::from(TAIL);
    file.seek(SeekFrom::End(begin)).map_err(unread)?;
    let mut footer = Compact {
        source: BufReader::new(file).take(length.into()),
    };
    footer.flat_schema().ok_or_else(|| damaged("the footer"))
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("{what} is invalid"))
}

/// Of one page.
#[derive(Debug, Default, PartialEq)]
struct Claims {
    uncompressed: i64,
    compressed: i64,
    /// Of a dictionary.
    values: i64,
    /// Of a page of rows.
    rows: i64,
}

impl Claims {
    /// Bytes of a value, in the mean; those of a dictionary are looked at themselves.
    fn density(&self) -> u64 {
        let is_rows = self.rows > 0;
        let mean = self.uncompressed / self.rows.max(1);
        if is_rows { mean.unsigned_abs() } else { 0 }
    }

    fn check(&self, is_compressed: bool) -> Result<(), ParquetError> {
        if !(0..=LONGEST_PAGE).contains(&self.uncompressed) || self.compressed < 0 {
            return Err(damaged("the length of a page"));
        }
        let bytes = match is_compressed {
            true => self.uncompressed,
            false => self.compressed,
        };
        if self.values > bytes {
            let text = "a dictionary claims more values than it has".to_owned();
            return Err(ParquetError::General(text));
        }
        Ok(())
    }

    /// The claims, and how long their header is. `None` if it cannot be read, or names a field twice.
    fn read(source: impl BufRead) -> Option<(Claims, u64)> {
        const UNCOMPRESSED: i64 = 2;
        const COMPRESSED: i64 = 3;
        const DICTIONARY: i64 = 7;
        /// Rows, in two versions.
        const FIRST: i64 = 5;
        const SECOND: i64 = 8;
        let mut from = Compact {
            source: source.take(LONGEST_HEADER),
        };
        let (mut uncompressed, mut compressed, mut values) = (None, None, None);
        let mut rows = None;
        let mut before = 0;
        while let Some((id, kind)) = from.field(&mut before)? {
            let place = match id {
                UNCOMPRESSED => &mut uncompressed,
                COMPRESSED => &mut compressed,
                DICTIONARY => &mut values,
                FIRST | SECOND => &mut rows,
                _ => {
                    from.skip(kind, DEEPEST)?;
                    continue;
                }
            };
            let claimed = match (id, kind) {
                (DICTIONARY | FIRST | SECOND, Compact::STRUCT) => from.values()?,
                (UNCOMPRESSED | COMPRESSED, Compact::I32) => from.int()?,
                _ => return None,
            };
            if place.replace(claimed).is_some() {
                return None;
            }
        }
        let claims = Claims {
            uncompressed: uncompressed?,
            compressed: compressed?,
            values: values.unwrap_or(0),
            rows: rows.unwrap_or(0),
        };
        Some((claims, LONGEST_HEADER - from.source.limit()))
    }
}

/// Reads the protocol. All functions return `None` at an end that comes too soon.
struct Compact<R> {
    source: std::io::Take<R>,
}

impl Compact<()> {
    const I32: u8 = 5;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;
}

impl<R: BufRead> Compact<R> {
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.source.read_exact(&mut byte).ok()?;
        Some(byte[0])
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn int(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Number and type of the next field; `None` within it at the end of the struct.
    fn field(&mut self, before: &mut i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let kind = byte & 0xf;
        if kind == 0 {
            return Some(None);
        }
        let id = match i64::from(byte >> 4) {
            0 => self.int()?,
            step => before.checked_add(step)?,
        };
        // The library has room for 16 bits, and would take a longer one for another.
        *before = i64::from(i16::try_from(id).ok()?);
        Some(Some((id, kind)))
    }

    /// Of the header of a kind of page: its first field.
    fn values(&mut self) -> Option<i64> {
        const VALUES: i64 = 1;
        let (mut found, mut before) = (None, 0);
        while let Some((id, kind)) = self.field(&mut before)? {
            match (id, kind) {
                (VALUES, Compact::I32) if found.is_none() => found = Some(self.int()?),
                (VALUES, _) => return None,
                _ => self.skip(kind, DEEPEST)?,
            }
        }
        found
    }

    /// Of a footer, `FileMetaData`: its list of `SchemaElement`, of which only the first has others within it.
    fn flat_schema(&mut self) -> Option<()> {
        const SCHEMA: i64 = 2;
        let mut before = 0;
        while let Some((id, kind)) = self.field(&mut before)? {
            if id != SCHEMA {
                self.skip(kind, 2 * DEEPEST)?;
                continue;
            }
            let (count, inner) = self.list()?;
            if (kind, inner) != (Compact::LIST, Compact::STRUCT) {
                return None;
            }
            for at in 0..count {
                let children = self.children()?;
                if children > 0 && at > 0 {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Of a `SchemaElement`; zero if it does not say.
    fn children(&mut self) -> Option<i64> {
        const CHILDREN: i64 = 5;
        let (mut found, mut before) = (0, 0);
        while let Some((id, kind)) = self.field(&mut before)? {
            match (id, kind) {
                (CHILDREN, Compact::I32) => found = found.max(self.int()?),
                (CHILDREN, _) => return None,
                _ => self.skip(kind, DEEPEST)?,
            }
        }
        Some(found)
    }

    /// How many elements a list has, and of which type.
    fn list(&mut self) -> Option<(u64, u8)> {
        let byte = self.byte()?;
        let count = match u64::from(byte >> 4) {
            15 => self.varint()?,
            count => count,
        };
        Some((count, byte & 0xf))
    }

    fn skip(&mut self, kind: u8, deepest: u32) -> Option<()> {
        let deeper = deepest.checked_sub(1)?;
        match kind {
            // A truth value in the type itself.
            1 | 2 => {}
            3 => self.pass(1)?,
            4..=6 => drop(self.varint()?),
            7 => self.pass(8)?,
            8 => {
                let length = self.varint()?;
                self.pass(length)?;
            }
            Compact::<()>::LIST | 10 => {
                let (count, inner) = self.list()?;
                for _ in 0..count {
                    self.skip_element(inner, deeper)?;
                }
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.skip_element(kinds >> 4, deeper)?;
                    self.skip_element(kinds & 0xf, deeper)?;
                }
            }
            Compact::<()>::STRUCT => {
                let mut before = 0;
                while let Some((_, inner)) = self.field(&mut before)? {
                    self.skip(inner, deeper)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// In lists a truth value is a byte.
    fn skip_element(&mut self, kind: u8, deepest: u32) -> Option<()> {
        match kind {
            1 | 2 => self.pass(1),
            _ => self.skip(kind, deepest),
        }
    }

    fn pass(&mut self, bytes: u64) -> Option<()> {
        let mut rest = bytes;
        while rest > 0 {
            let known = match self.source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                known => known.ok()?.len(),
            };
            let passed = rest.min(known as u64);
            if passed == 0 {
                return None;
            }
            self.source.consume(passed as usize);
            rest -= passed;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &[u8]) -> Option<(Claims, u64)> {
        Claims::read(header)
    }

    #[test]
    fn claims_are_found_in_any_spelling() {
        // A data page: type 0, 200 bytes of 100, and a nested header with a statistic; what follows is the page.
        let page: &[u8] = &[
            0x15, 0, 0x15, 0x90, 3, 0x15, 0xc8, 1, 0x2c, 0x15, 6, 0x18, 2, 7, 7, 0, 0, 0xff,
        ];
        let claims = Claims {
            uncompressed: 200,
            compressed: 100,
            values: 0,
            rows: 3,
        };
        assert_eq!(read(page), Some((claims, 17)));
        // A dictionary page, its fields numbered in full and in another order.
        let dictionary: &[u8] = &[
            0x05, 6, 20, 0x05, 4, 0x90, 3, 0x0c, 14, 0x05, 2, 80, 0x15, 4, 0, 0,
        ];
        let of_dictionary = Claims {
            uncompressed: 200,
            compressed: 10,
            values: 40,
            rows: 0,
        };
        assert_eq!(read(dictionary), Some((of_dictionary, 16)));
    }

    #[test]
    fn what_is_said_twice_or_cut_is_refused() {
        let twice: &[u8] = &[0x15, 0, 0x15, 2, 0x15, 2, 0x05, 4, 0x90, 3, 0];
        assert_eq!(read(twice), None);
        let whole: &[u8] = &[0x15, 0, 0x15, 2, 0x15, 2, 0];
        assert!(read(whole).is_some());
        (0..whole.len()).for_each(|len| assert_eq!(read(&whole[..len]), None, "{len} bytes"));
        // A struct within a struct, without end; and a text longer than the file.
        assert_eq!(read(&[0x1c; 100]), None);
        assert_eq!(read(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x0f]), None);
        // A field of number 65,538, which is 2 in 16 bits.
        assert_eq!(
            read(&[0x15, 0, 0x15, 2, 0x15, 2, 0x05, 0x84, 0x80, 8, 2, 0]),
            None
        );
    }

    #[test]
    fn no_page_claims_more_than_any_of_ours_has() {
        let claims = |uncompressed, values| Claims {
            uncompressed,
            compressed: 10,
            values,
            rows: 0,
        };
        assert!(claims(LONGEST_PAGE, 100).check(true).is_ok());
        for (uncompressed, values) in [(LONGEST_PAGE + 1, 0), (-1, 0), (100, 101)] {
            assert!(claims(uncompressed, values).check(true).is_err());
        }
        // Not compressed: what it claims beyond its bytes is not there.
        assert!(claims(100, 10).check(false).is_ok());
        assert!(claims(100, 11).check(false).is_err());
    }
}
