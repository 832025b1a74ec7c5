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

/// A text of ours that may quote others: what a terminal would act upon becomes U+FFFD, but for line ends, tabs and colours.
pub fn styled(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match colour(rest) {
            Some(length) => length,
            None => c.len_utf8(),
        };
        let is_fit = taken > c.len_utf8() || matches!(c, '\n' | '\t') || !acts(c);
        safe.push_str(if is_fit { &rest[..taken] } else { "\u{fffd}" });
        rest = &rest[taken..];
    }
    safe
}

/// How long the sequence is with which a text begins that changes colour or weight (ECMA-48, 8.3.117: SGR).
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(end + 3)
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
    fn colours_are_all_that_a_quotation_may_do() {
        let red = "\u{1b}[1;31mbloated\u{1b}[0m\ta\nb";
        assert_eq!(styled(red), red);
        assert_eq!(
            styled("\u{1b}[2J\u{1b}[31;\u{1b}]0;x\u{7}\u{202e}é\u{1b}"),
            "\u{fffd}[2J\u{fffd}[31;\u{fffd}]0;x\u{fffd}\u{fffd}é\u{fffd}"
        );
    }

    #[test]
    fn a_remark_has_a_bound() {
        assert_eq!(one_line(&"é".repeat(1_000)).chars().count(), LONGEST);
    }
}
