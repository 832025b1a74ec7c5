//! Words for a shell that is far away.

/// The word in single quotes: within them nothing is special to sh.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A command of quoted words.
pub(crate) fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

/// Text of others for a message: one line, no control characters, no more than a few lines' worth.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 300;
    let text = String::from_utf8_lossy(bytes);
    let safe = |c: char| if unbloat_untrusted::acts(c) { ' ' } else { c };
    let text: String = text.trim().chars().take(LONGEST).map(safe).collect();
    match text.is_empty() {
        true => "no output".to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let words = [
            "eth0",
            "",
            " ",
            "a'b",
            "'",
            "''",
            "$(echo x)",
            "`echo x`",
            "a\\",
            "\"",
            "*",
            "a\nb",
            "; exit 1",
            "-n",
            "é",
            "!!",
            "~",
        ];
        for word in words {
            let script = format!("printf '%s' {}", quote(word));
            let output = Command::new("sh").arg("-c").arg(&script).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    #[test]
    fn what_others_say_is_shown_on_one_line() {
        assert_eq!(shown(b"a\x1b[2Jb\nc"), "a [2Jb c");
        assert_eq!(shown(&[b'x'; 5000]).len(), 300);
        assert_eq!(shown(b" \n"), "no output");
    }
}
