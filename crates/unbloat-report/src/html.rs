//! Text and data into HTML, whatever they contain.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// `text` as the content of an element or of a quoted attribute. Host names and file names come
/// from outside.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters have no business in a report, and NUL is no valid HTML.
            c if c.is_control() && c != '\n' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON that may stand in a `<script>` element: without `<`, nothing in it can end the element or
/// begin a comment.
pub(crate) fn script_json(data: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(data)?.replace('<', "\\u003c"))
}

const CHARTS: &str = include_str!("../assets/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../assets/uPlot.min.css");
const STYLE: &str = include_str!("../assets/report.css");

/// Writes a whole self-contained file. `title` and `body` are HTML, `json` is what the script finds in the element `data`.
pub(crate) fn write_document(
    out: &mut dyn Write,
    title: &str,
    body: &str,
    json: &str,
    script: &str,
) -> io::Result<()> {
    let policy = content_security_policy(&[CHARTS, script]);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{CHARTS_STYLE}\n{STYLE}</style>\n</head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"data\">{json}</script>\n\
         <script>{CHARTS}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )
}

/// The policy of the file: nothing may be fetched or sent, and no script runs but these.
fn content_security_policy(scripts: &[&str]) -> String {
    let hashes = scripts.iter().map(|script| {
        let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
        format!("'sha256-{hash}'")
    });
    let hashes: Vec<String> = hashes.collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        hashes.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</script><img src=x onerror=\"alert('1')\">&\0";
        let safe = escape(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '\0']), "{safe}");
        let json = script_json(&hostile).unwrap();
        assert!(!json.contains('<'), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    #[test]
    fn the_policy_allows_only_the_scripts_given() {
        let policy = content_security_policy(&["alert(1)"]);
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"));
        assert!(!policy.contains("script-src 'unsafe"));
        assert!(!policy.contains("http"));
    }
}
