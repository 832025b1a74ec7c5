//! What a file that is no capture looks like, so that its owner sees what to do.

use crate::compression::Compression;

/// As many first bytes as are looked at.
pub(crate) const BYTES: usize = 16;

/// Says what stands at the beginning, as in "it begins with ...".
pub(crate) fn like(first: &[u8], compression: Option<Compression>) -> String {
    let first = &first[..first.len().min(BYTES)];
    let where_ = match compression {
        None => "begins with".to_owned(),
        Some(compression) => format!("is {compression:?} data that begin with").to_lowercase(),
    };
    let hex: Vec<String> = first.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("{where_} {}{}", hex.join(" "), guess(first))
}

fn guess(first: &[u8]) -> &'static str {
    match first {
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x04, 0x22, 0x4d, 0x18, ..] => {
            " (compressed twice? decompress it once)"
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            " (xz: decompress it first, `xz -dc FILE | unbloat analyze -`)"
        }
        [b'B', b'Z', b'h', ..] => {
            " (bzip2: decompress it first, `bzip2 -dc FILE | unbloat analyze -`)"
        }
        [b'P', b'K', 3, 4, ..] => " (zip: unpack it first)",
        [b's', b'n', b'o', b'o', b'p', 0, ..] => " (snoop: convert it first by `editcap`)",
        [b'G', b'M', b'B', b'U', ..] => {
            " (Microsoft Network Monitor: convert it first by `editcap`)"
        }
        [0x7f, b'E', b'L', b'F', ..] => " (a program)",
        [b'P', b'A', b'R', b'1', ..] => " (Parquet: a table, perhaps one of a former run)",
        _ if first
            .iter()
            .all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) =>
        {
            " (text)"
        }
        _ => "",
    }
}
