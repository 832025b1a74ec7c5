//! Servers whose certificate the user has accepted, as ssh knows hosts.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use unbloat_loadtest::Fingerprint;
use unbloat_os::{files, folders};

/// A line for each: `HOST:PORT FINGERPRINT`.
pub fn file() -> PathBuf {
    folders::data().join("known-servers")
}

/// 30,000 servers.
const LONGEST: u64 = 4 << 20;

/// The certificate that was accepted last for a server.
pub fn look_up(file: &Path, server: &str) -> io::Result<Option<Fingerprint>> {
    let all = read(file)?.into_iter().rev();
    let mut own = all.filter(|(name, _)| name == server);
    Ok(own.next().map(|(_, fingerprint)| fingerprint))
}

/// The server for which this certificate was accepted last: the same one may have another address now.
pub fn server_with(file: &Path, fingerprint: &Fingerprint) -> io::Result<Option<String>> {
    let all = read(file)?.into_iter().rev();
    let mut same = all.filter(|(_, accepted)| accepted == fingerprint);
    Ok(same.next().map(|(name, _)| name))
}

/// Lines that are none of ours are passed over.
fn read(file: &Path) -> io::Result<Vec<(String, Fingerprint)>> {
    let opened = match files::open_named(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let text = files::text(opened, LONGEST)?;
    let of_line = |line: &str| {
        let (name, digits) = line.split_once(' ')?;
        Some((name.to_owned(), parse(digits).ok()?))
    };
    Ok(text.lines().filter_map(of_line).collect())
}

pub fn remember(file: &Path, server: &str, fingerprint: &Fingerprint) -> io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    // Under sudo the folder may be a user's, and a link there lead to a file of root.
    files::append(file)?.write_all(format!("{server} {}\n", digits(fingerprint)).as_bytes())
}

pub fn digits(fingerprint: &Fingerprint) -> String {
    fingerprint
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Colons between the digits are allowed.
pub fn parse(text: &str) -> Result<Fingerprint, String> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("expected 64 hexadecimal digits, as printed by `unbloat serve`".to_owned());
    }
    let byte =
        |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("hexadecimal digits");
    Ok(std::array::from_fn(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_last_certificate() {
        let folder = std::env::temp_dir().join(format!("known-{}", std::process::id()));
        let file = folder.join("known-servers");
        assert_eq!(look_up(&file, "box:4043").unwrap(), None);
        for (server, byte) in [("box:4043", 1), ("box:4044", 2), ("box:4043", 3)] {
            remember(&file, server, &[byte; 32]).unwrap();
        }
        assert_eq!(look_up(&file, "box:4043").unwrap(), Some([3; 32]));
        assert_eq!(look_up(&file, "box:4044").unwrap(), Some([2; 32]));
        assert_eq!(look_up(&file, "box").unwrap(), None);
        let with = |byte| server_with(&file, &[byte; 32]).unwrap();
        assert_eq!(with(3), Some("box:4043".to_owned()));
        assert_eq!(with(4), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
