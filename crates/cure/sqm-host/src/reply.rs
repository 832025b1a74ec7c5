//! What a router answers. It is somebody else's text: bounded by [`crate::run`], and believed only where it is what was asked for.

use crate::error::ShaperError;
use crate::quote::shown;
use crate::run::Said;
use crate::script::{DONE, FAULT};

/// Of a list in an answer.
pub(crate) const MOST_LINES: usize = 2000;
/// What ssh exits with when the fault is its own.
const SSH_FAILED: i32 = 255;

/// The lines of an answer that is whole.
pub(crate) fn lines(target: &str, said: &Said) -> Result<Vec<String>, ShaperError> {
    let target = || target.to_owned();
    if said.code == Some(SSH_FAILED) || said.code.is_none() {
        return Err(ShaperError::Ssh {
            target: target(),
            said: shown(&said.err),
        });
    }
    let odd = || ShaperError::Reply {
        target: target(),
        said: shown(if said.out.is_empty() {
            &said.err
        } else {
            &said.out
        }),
    };
    let text = std::str::from_utf8(&said.out).map_err(|_| odd())?;
    if let Some(fault) = text.lines().find_map(|line| line.strip_prefix(FAULT)) {
        return Err(ShaperError::Router {
            target: target(),
            said: shown(fault.as_bytes()),
        });
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > MOST_LINES || lines.pop().as_deref() != Some(DONE) {
        return Err(odd());
    }
    Ok(lines)
}

/// The values of the lines that begin with a word.
pub(crate) fn values<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    let value = |line: &'a String| line.strip_prefix(word)?.strip_prefix(' ').map(str::trim);
    lines.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(out: &[u8], code: Option<i32>) -> Said {
        Said {
            out: out.to_vec(),
            err: b"cut".to_vec(),
            code,
        }
    }

    #[test]
    fn only_an_answer_that_is_whole_is_one() {
        let whole = lines("r", &said(b"kind linux\nunbloat-done\n", Some(0))).unwrap();
        assert_eq!(values(&whole, "kind"), ["linux"]);
        for odd in [
            &b""[..],
            b"kind linux\n",
            b"\xff\xfe",
            b"<html>login</html>",
        ] {
            let read = lines("r", &said(odd, Some(0)));
            assert!(matches!(read, Err(ShaperError::Reply { .. })), "{odd:?}");
        }
        let flood = b"a\n".repeat(MOST_LINES + 1);
        assert!(lines("r", &said(&flood, Some(0))).is_err());
    }

    #[test]
    fn faults_of_ssh_and_of_the_router_are_told_apart() {
        assert!(
            matches!(lines("r", &said(b"", Some(255))), Err(ShaperError::Ssh { said, .. }) if said == "cut")
        );
        assert!(matches!(
            lines("r", &said(b"", None)),
            Err(ShaperError::Ssh { .. })
        ));
        let fault = lines("r", &said(b"unbloat-fault no\x1b[1m tc\n", Some(0)));
        assert!(matches!(fault, Err(ShaperError::Router { said, .. }) if said == "no [1m tc"));
    }
}
