//! Checks what footers and page headers claim, before the Parquet library acts on it.
//!
//! The library reserves as many bytes as a header claims that the page will have once it is decompressed, and room for as many values as a
//! dictionary claims. A file from others may claim gigabytes in a few bytes. The library does not show these claims, so the headers are
//! parsed here: Thrift's compact protocol (its specification, "Thrift compact protocol encoding").
//!
//! The library reads a field that it knows as its type in parquet.thrift, even if the file says another type, and skips a field that it does not
//! know by the type in the file. For a boolean in a list it reads no byte, so a list that claims two billion of them costs seconds. Only fields
//! that our writer may write pass, in ascending order and with their types.

use parquet::errors::ParquetError;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};

/// Our pages have 1 MiB and a batch at most.
const LONGEST_PAGE: i64 = 32 << 20;
/// With the least and the largest text of a page, of which the library keeps 64 bytes each.
const LONGEST_HEADER: u64 = 1 << 20;

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

/// Refuses a footer that is not as ours are, and a table with columns within columns, of which ours have none: the library descends into them as
/// deep as the file says.
pub(crate) fn check_footer(mut file: &File) -> Result<(), ParquetError> {
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
    let mut is_flat = true;
    let read = footer.fields(FILE, &mut Vec::new(), &mut |path, value| {
        // The number of children of an element of the schema; only the first has any.
        if let [2, at, 5] = path {
            is_flat &= *at == 0 || value <= 0;
        }
    });
    read.filter(|()| is_flat)
        .ok_or_else(|| damaged("the footer"))
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

    /// The claims, and how long their header is. `None` if it cannot be read.
    fn read(source: impl BufRead) -> Option<(Claims, u64)> {
        let mut from = Compact {
            source: source.take(LONGEST_HEADER),
        };
        let (mut uncompressed, mut compressed, mut values) = (None, None, None);
        let mut rows = [None; 2];
        from.fields(PAGE, &mut Vec::new(), &mut |path, value| {
            let place = match path {
                [2] => &mut uncompressed,
                [3] => &mut compressed,
                [7, 1] => &mut values,
                [5, 1] => &mut rows[0],
                [8, 1] => &mut rows[1],
                _ => return,
            };
            *place = Some(value);
        })?;
        let rows = match rows {
            [Some(_), Some(_)] => return None,
            [first, second] => first.or(second),
        };
        let claims = Claims {
            uncompressed: uncompressed?,
            compressed: compressed?,
            values: values.unwrap_or(0),
            rows: rows.unwrap_or(0),
        };
        Some((claims, LONGEST_HEADER - from.source.limit()))
    }
}

/// What a field is, with the number of its type.
#[derive(Clone, Copy)]
enum Is {
    Bool,
    Byte,
    Int(u8),
    Bytes,
    List(&'static Is),
    Struct(Fields),
}

impl Is {
    /// Whether it has this type in the protocol.
    fn has(self, kind: u8) -> bool {
        match self {
            Is::Bool => matches!(kind, 1 | 2),
            Is::Byte => kind == 3,
            Is::Int(of) => kind == of,
            Is::Bytes => kind == 8,
            Is::List(_) => kind == 9,
            Is::Struct(_) => kind == 12,
        }
    }
}

/// By number.
type Fields = &'static [(i64, Is)];

const I16: Is = Is::Int(4);
const I32: Is = Is::Int(5);
const I64: Is = Is::Int(6);
const EMPTY: Is = Is::Struct(&[]);
const STATISTICS: Is = Is::Struct(&[
    (1, Is::Bytes),
    (2, Is::Bytes),
    (3, I64),
    (4, I64),
    (5, Is::Bytes),
    (6, Is::Bytes),
    (7, Is::Bool),
    (8, Is::Bool),
    (9, I64),
]);
const UNIT: Is = Is::Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const TIME: Is = Is::Struct(&[(1, Is::Bool), (2, UNIT)]);
const LOGICAL_TYPE: Is = Is::Struct(&[
    (1, EMPTY),
    (4, EMPTY),
    (5, Is::Struct(&[(1, I32), (2, I32)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Is::Struct(&[(1, Is::Byte), (2, Is::Bool)])),
    (11, EMPTY),
    (12, EMPTY),
]);
const SCHEMA_ELEMENT: Is = Is::Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Is::Bytes),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, LOGICAL_TYPE),
]);
const KEY_VALUE: Is = Is::Struct(&[(1, Is::Bytes), (2, Is::Bytes)]);
const PAGE_ENCODING: Is = Is::Struct(&[(1, I32), (2, I32), (3, I32)]);
const SIZES: Is = Is::Struct(&[(1, I64), (2, Is::List(&I64)), (3, Is::List(&I64))]);
const COLUMN: Is = Is::Struct(&[
    (1, I32),
    (2, Is::List(&I32)),
    (3, Is::List(&Is::Bytes)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, Is::List(&KEY_VALUE)),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STATISTICS),
    (13, Is::List(&PAGE_ENCODING)),
    (14, I64),
    (15, I32),
    (16, SIZES),
]);
const COLUMN_CHUNK: Is = Is::Struct(&[
    (1, Is::Bytes),
    (2, I64),
    (3, COLUMN),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
]);
const SORTING: Is = Is::Struct(&[(1, I32), (2, Is::Bool), (3, Is::Bool)]);
const ROW_GROUP: Is = Is::Struct(&[
    (1, Is::List(&COLUMN_CHUNK)),
    (2, I64),
    (3, I64),
    (4, Is::List(&SORTING)),
    (5, I64),
    (6, I64),
    (7, I16),
]);
const COLUMN_ORDER: Is = Is::Struct(&[(1, EMPTY), (2, EMPTY)]);
const FILE: Fields = &[
    (1, I32),
    (2, Is::List(&SCHEMA_ELEMENT)),
    (3, I64),
    (4, Is::List(&ROW_GROUP)),
    (5, Is::List(&KEY_VALUE)),
    (6, Is::Bytes),
    (7, Is::List(&COLUMN_ORDER)),
];
const DATA: Is = Is::Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, STATISTICS)]);
const DICTIONARY: Is = Is::Struct(&[(1, I32), (2, I32), (3, Is::Bool)]);
const DATA_V2: Is = Is::Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, I32),
    (6, I32),
    (7, Is::Bool),
    (8, STATISTICS),
]);
const PAGE: Fields = &[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, DATA),
    (6, EMPTY),
    (7, DICTIONARY),
    (8, DATA_V2),
];

/// Reads the protocol. All functions return `None` at an end that comes too soon.
struct Compact<R> {
    source: std::io::Take<R>,
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
    fn field(&mut self, before: i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let kind = byte & 0xf;
        if kind == 0 {
            return Some(None);
        }
        let id = match i64::from(byte >> 4) {
            0 => self.int()?,
            step => before + step,
        };
        Some(Some((id, kind)))
    }

    /// Skips a struct of these fields. Calls `tell` for each integer with its path: the numbers of the fields, and the positions in lists, that
    /// lead to it.
    fn fields(
        &mut self,
        known: Fields,
        path: &mut Vec<i64>,
        tell: &mut impl FnMut(&[i64], i64),
    ) -> Option<()> {
        let mut before = 0;
        while let Some((id, kind)) = self.field(before)? {
            let (_, is) = known.iter().find(|(number, _)| *number == id)?;
            if id <= before || !is.has(kind) {
                return None;
            }
            before = id;
            path.push(id);
            self.value(*is, path, tell)?;
            path.pop();
        }
        Some(())
    }

    fn value(
        &mut self,
        is: Is,
        path: &mut Vec<i64>,
        tell: &mut impl FnMut(&[i64], i64),
    ) -> Option<()> {
        match is {
            // A truth value is in the type itself.
            Is::Bool => {}
            Is::Byte => self.pass(1)?,
            Is::Int(_) => tell(path, self.int()?),
            Is::Bytes => {
                let length = self.varint()?;
                self.pass(length)?;
            }
            Is::List(of) => {
                let byte = self.byte()?;
                let count = match u64::from(byte >> 4) {
                    15 => self.varint()?,
                    count => count,
                };
                if !of.has(byte & 0xf) {
                    return None;
                }
                // Each takes a byte at least.
                for at in 0..i64::try_from(count).ok()? {
                    path.push(at);
                    self.value(*of, path, tell)?;
                    path.pop();
                }
            }
            Is::Struct(known) => self.fields(known, path, tell)?,
        }
        Some(())
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
            0x15, 0, 0x15, 0x90, 3, 0x15, 0xc8, 1, 0x2c, 0x15, 6, 0x4c, 0x18, 2, 7, 7, 0, 0, 0,
            0xff,
        ];
        let claims = Claims {
            uncompressed: 200,
            compressed: 100,
            values: 0,
            rows: 3,
        };
        assert_eq!(read(page), Some((claims, 19)));
        // A dictionary page, its fields numbered in full.
        let dictionary: &[u8] = &[
            0x05, 4, 0x90, 3, 0x05, 6, 20, 0x0c, 14, 0x05, 2, 80, 0x15, 4, 0, 0,
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
        // In another order, of another type, unknown: what the library would make of it is not known.
        for header in [
            &[0x05, 6, 20, 0x05, 4, 20, 0][..],
            &[0x15, 0, 0x18, 1, 7, 0x15, 2, 0],
            &[
                0x15, 0, 0x15, 2, 0x15, 2, 0x69, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0,
            ],
        ] {
            assert_eq!(read(header), None);
        }
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
