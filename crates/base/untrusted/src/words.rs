//! Text that does nothing to the terminal that shows it.

/// Of one remark of a stranger.
const LONGEST: usize = 200;

/// What a stranger says, as far as it fits one line of ours: without control characters, and 200 characters at most.
pub fn one_line(text: &str) -> String {
    text.chars().filter(|c| !acts(*c)).take(LONGEST).collect()
}

/// The same text with U+FFFD for what a terminal would act upon; lines stay lines.
pub fn harmless(text: &str) -> String {
    let safe = |c: char| if acts(c) && c != '\n' { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}

/// The same on one line: line ends are no exception.
pub fn in_line(text: &str) -> String {
    let safe = |c: char| if acts(c) { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}

/// Control characters, and those that turn the direction of what follows (Unicode UAX 9, 2), by which text reads as other text.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}b\r\nc é";

    #[test]
    fn escape_sequences_do_not_reach_a_terminal() {
        assert_eq!(one_line(HOSTILE), "a]0;owned31mbc é");
        assert_eq!(
            harmless(HOSTILE),
            "a\u{fffd}]0;owned\u{fffd}\u{fffd}31m\u{fffd}b\u{fffd}\nc é"
        );
        assert_eq!(
            in_line(HOSTILE),
            harmless(HOSTILE).replace('\n', "\u{fffd}")
        );
    }

    #[test]
    fn a_remark_has_a_bound() {
        assert_eq!(one_line(&"é".repeat(1_000)).chars().count(), LONGEST);
    }
}
