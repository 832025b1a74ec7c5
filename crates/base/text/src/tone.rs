//! Tones: what colour says beside the words.

use unicode_width::UnicodeWidthChar;

const ESCAPE: char = '\u{1b}';
const RESET: &str = "\u{1b}[0m";

/// How a piece of text is meant. The words say the same: colours are missing in pipes, and to some readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    /// Between good and bad, or not certain.
    Fair,
    Bad,
    /// Of no tone, but what one looks for.
    Strong,
    Faint,
}

impl Tone {
    /// The text between codes of ECMA-48 (SGR), one line at a time. [`Layout::lay`](crate::Layout::lay) removes them where they are of no use.
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Tone::Good => "1;32",
            Tone::Fair => "1;33",
            Tone::Bad => "1;31",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        let paint = |line: &str| match line {
            "" => String::new(),
            line => format!("{ESCAPE}[{code}m{line}{RESET}"),
        };
        text.split('\n').map(paint).collect::<Vec<_>>().join("\n")
    }
}

impl Tone {
    /// Paints the first line: a result begins with its verdict.
    pub fn paint_first(self, text: &str) -> String {
        match text.split_once('\n') {
            Some((first, rest)) => format!("{}\n{rest}", self.paint(first)),
            None => self.paint(text),
        }
    }
}

/// Whether characters belong to a code of [`Tone::paint`]; ask for one after the other.
#[derive(Default)]
struct Codes {
    is_within: bool,
}

impl Codes {
    fn has(&mut self, c: char) -> bool {
        let is_code = self.is_within || c == ESCAPE;
        self.is_within = is_code && c != 'm';
        is_code
    }
}

/// The text without codes.
pub fn plain(text: &str) -> String {
    let mut codes = Codes::default();
    text.chars().filter(|c| !codes.has(*c)).collect()
}

/// Columns that a terminal needs for a line.
pub fn width(line: &str) -> usize {
    let mut codes = Codes::default();
    let seen = line.chars().filter(|c| !codes.has(*c));
    seen.map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_no_width_and_leave_no_trace() {
        let text = format!(
            "a {} b {}",
            Tone::Bad.paint("größe 漢\nnext"),
            Tone::Faint.paint("")
        );
        assert_eq!(plain(&text), "a größe 漢\nnext b ");
        assert_eq!(width(&Tone::Good.paint("größe 漢")), 8);
        let verdict = Tone::Bad.paint_first("Bufferbloat\nbecause");
        assert_eq!(verdict, "\u{1b}[1;31mBufferbloat\u{1b}[0m\nbecause");
    }
}
