//! The place where text is read, and how it is laid out for it.

use crate::tone::{plain, width};

/// Labels at the beginning of a line are at most so wide: what follows is continued below its beginning.
const LABEL: usize = 24;

const UNITS: [&str; 13] = [
    "ms", "s", "µs", "min", "h", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "B", "kB", "MB", "%",
];

/// What a place can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Columns of a terminal; none: lines stay as they are.
    pub columns: Option<usize>,
    pub has_colours: bool,
}

impl Layout {
    /// Breaks longer lines at spaces, below the text that they continue, and removes the codes of tones where there are no colours. A word that is wider
    /// than the place stays whole, and where it is.
    pub fn lay(self, text: &str) -> String {
        let text = match self.has_colours {
            true => text.to_owned(),
            false => plain(text),
        };
        let Some(columns) = self.columns else {
            return text;
        };
        let lines = text.split('\n').map(|line| broken(line, columns));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn broken(line: &str, columns: usize) -> String {
    let line = line.trim_end();
    if width(line) <= columns {
        return line.to_owned();
    }
    let hang = hang(line, columns);
    let mut out = String::new();
    let mut used = 0;
    // Spaces before the next word, which a break swallows.
    let mut gap = 0;
    let mut has_word = false;
    for word in words(line) {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        let wide = width(word);
        // A word that fits nowhere, a path as a rule, stays beside its label.
        if has_word && used + gap + wide > columns && hang + wide <= columns {
            out.push('\n');
            (used, gap) = (0, hang);
        }
        out.push_str(&" ".repeat(gap));
        out.push_str(word);
        used += gap + wide;
        (gap, has_word) = (1, true);
    }
    out
}

/// Split at spaces, but not between a number and its unit.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    for (place, _) in line.match_indices(' ') {
        let ends_in_digit = line[begin..place].ends_with(|c: char| c.is_ascii_digit());
        let next = line[place + 1..].split(' ').next().unwrap_or_default();
        if !(ends_in_digit && UNITS.contains(&next.trim_end_matches([',', ';', '.', ')']))) {
            words.push(&line[begin..place]);
            begin = place + 1;
        }
    }
    words.push(&line[begin..]);
    words
}

/// Where the following lines begin: below the text behind a label (`idle      round trip …`), else two columns within the line's own beginning.
fn hang(line: &str, columns: usize) -> usize {
    let line = plain(line);
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let label = line[indent..].find("  ").map(|end| {
        let spaces = line[indent + end..].chars().take_while(|c| *c == ' ');
        width(&line[..indent + end]) + spaces.count()
    });
    let after_label = label.filter(|place| *place <= LABEL.min(columns / 2));
    after_label.unwrap_or((indent + 2).min(columns / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tone;

    fn at(columns: usize) -> Layout {
        Layout {
            columns: Some(columns),
            has_colours: false,
        }
    }

    #[test]
    fn lines_break_at_spaces_below_what_they_continue() {
        let text = "Uploads add 778 ms\nidle      round trip 20 ms, p95 25 ms\n  a list that is long enough\n";
        assert_eq!(
            at(20).lay(text),
            "Uploads add 778 ms\nidle      round trip\n          20 ms, p95\n          25 ms\n  a list that is\n    long enough\n"
        );
    }

    #[test]
    fn no_line_is_wider_and_no_word_is_cut_or_lost() {
        let text = "  down  queue_delay_p95_ms of the bottleneck: 200.25 ms, which is   ten times the idle delay\n\nhttps://a.very.long.example/path?that=never&breaks=here then\n";
        for columns in 1..120 {
            let laid = at(columns).lay(text);
            for line in laid.lines() {
                let mut words = line.split_whitespace();
                let is_too_wide = |word: &str| width(word) + 2 > columns / 2;
                assert!(
                    width(line) <= columns || words.any(is_too_wide),
                    "{columns}: {line:?}"
                );
            }
            let words = |of: &str| {
                let words = of.split_whitespace();
                words.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(words(&laid), words(text));
            assert_eq!(at(columns).lay(&laid), laid, "laid twice: {columns}");
        }
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(at(12).lay("it adds 778 ms, up"), "it adds\n  778 ms, up");
        assert_eq!(
            at(13).lay("delivered 5 Mbit/s up"),
            "delivered\n  5 Mbit/s up"
        );
        assert_eq!(at(8).lay("1 s 2 s 3 s"), "1 s 2 s\n  3 s");
    }

    #[test]
    fn a_path_stays_beside_its_label() {
        let line = "report  /a/path/that/is/longer/than/the/line";
        assert_eq!(at(20).lay(line), line);
    }

    #[test]
    fn elsewhere_the_text_is_as_it_was_written() {
        let text = "a  b  \n\n c ";
        assert_eq!(Layout::default().lay(text), text);
        let painted = Tone::Bad.paint("bad luck");
        assert_eq!(Layout::default().lay(&painted), "bad luck");
        let coloured = Layout {
            columns: Some(6),
            has_colours: true,
        };
        assert_eq!(coloured.lay(&painted), "\u{1b}[1;31mbad\n  luck\u{1b}[0m");
    }
}
