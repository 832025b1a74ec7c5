//! Laws of what is said to people.

/// Characters that act on a terminal (Unicode's general category Cc), and those that turn the direction of text (its property
/// Bidi_Control).
fn acts(c: char) -> bool {
    const TURNS: [char; 12] = [
        '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
        '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
    ];
    let is_control = matches!(u32::from(c), 0..0x20 | 0x7f..0xa0);
    is_control || TURNS.contains(&c)
}

/// One line that does nothing but be read.
pub(crate) fn is_said(text: impl AsRef<str>) {
    let text = text.as_ref();
    assert!(!text.is_empty(), "nothing is said");
    is_part(text);
}

/// The same of what may be empty.
pub(crate) fn is_part(text: impl AsRef<str>) {
    let text = text.as_ref();
    assert!(!text.chars().any(acts), "{text:?} acts on a terminal");
}

/// The same of several lines, which may have tabs.
pub(crate) fn are_said(text: &str) {
    text.split(['\n', '\t']).for_each(is_part);
}

/// The texts within JSON.
pub(crate) fn texts(value: &serde_json::Value) -> Vec<&str> {
    use serde_json::Value;
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(keys) => keys.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// A word that no text holds by chance.
const TOKEN: &str = "tOkEnOfTheUser";

/// What others say, on its way to a terminal or into a file that is passed on.
pub fn said(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let harmless = unbloat_untrusted::harmless(&text);
    assert_eq!(harmless.chars().count(), text.chars().count());
    assert_eq!(harmless.matches('\n').count(), text.matches('\n').count());
    harmless.split('\n').for_each(is_part);
    assert_eq!(unbloat_untrusted::harmless(&harmless), harmless, "again");
    let line = unbloat_untrusted::one_line(&text);
    is_part(&line);
    assert!(line.chars().count() <= 200);
    if !text.contains(TOKEN) {
        hides_tokens(&text);
    }
}

/// Words of a command line, and a token that is given in each way that there is.
fn hides_tokens(text: &str) {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let shown = unbloat_untrusted::command_line(words.clone());
    assert_eq!(shown.len(), words.len());
    let ways = [
        vec!["--token".to_owned(), TOKEN.to_owned()],
        vec![format!("--token={TOKEN}")],
        vec![format!("https://h/nq?a=b&token={TOKEN}")],
        vec![format!("https://h/nq?access_token={TOKEN}&{}", words[0])],
    ];
    for way in ways {
        // Behind --token even an option is a token.
        let before = words.iter().filter(|word| *word != "--token").cloned();
        let all = before.chain(way).chain(words.iter().cloned());
        let line = unbloat_untrusted::command_line(all).join(" ");
        assert!(!line.contains(TOKEN), "{line:?}");
    }
}
