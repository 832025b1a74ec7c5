//! The line of keys below a live view.

use ratatui::style::Stylize;
use ratatui::text::{Line, Span};

/// `? help  q quit`: as many keys as there is room for, the last ones first: they are how one gets out and how one learns of the others.
pub(crate) fn key_line(keys: &[(&str, &str)], room: u16) -> Line<'static> {
    let mut used = 0;
    let wide = |(key, does): &(&str, &str)| key.chars().count() + does.chars().count() + 5;
    let fitting = keys.iter().rev().take_while(|key| {
        used += wide(key);
        used <= usize::from(room) + 2
    });
    let mut shown: Vec<_> = fitting.collect();
    shown.reverse();
    let spans = shown.iter().flat_map(|(key, does)| {
        [
            Span::from(format!(" {key} ")).reversed(),
            Span::from(format!(" {does}  ")),
        ]
    });
    Line::from(spans.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_still_shows_how_to_get_out() {
        let keys = [("s", "sort"), ("?", "help"), ("q", "quit")];
        assert_eq!(
            key_line(&keys, 80).to_string(),
            " s  sort   ?  help   q  quit  "
        );
        assert_eq!(key_line(&keys, 18).to_string(), " ?  help   q  quit  ");
        assert_eq!(key_line(&keys, 3).to_string(), "");
    }
}
