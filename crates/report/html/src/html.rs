//! Text and data into HTML, whatever they contain.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// JSON that may stand in a `<script>` element: without `<`, nothing in it can end the element or
/// begin a comment.
pub(crate) fn script_json(data: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(data)?.replace('<', "\\u003c"))
}

const CHARTS: &str = include_str!("../assets/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../assets/uPlot.min.css");
const STYLE: &str = include_str!("../assets/report.css");

/// How charts are zoomed.
pub(crate) const ZOOM: &str = "Zoom: drag, pinch, Ctrl and wheel, or the keys + and − on a chart; arrow keys move, double-click or Escape resets.";
/// Where charts would be.
pub(crate) const SCRIPTLESS: &str =
    "A script in this file draws the charts. Scripts are disabled here.";

/// Writes a whole self-contained file. `json` is what the script finds in the element `data`.
pub(crate) fn write_document(
    out: &mut dyn Write,
    title: &str,
    body: Markup,
    json: &str,
    script: &str,
) -> io::Result<()> {
    let policy = content_security_policy(&[CHARTS, script]);
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (printable(title)) }
                style { (PreEscaped(CHARTS_STYLE)) "\n" (PreEscaped(STYLE)) }
            }
            body {
                (PreEscaped(printable(&body.into_string())))
                script type="application/json" id="data" { (PreEscaped(json)) }
                script { (PreEscaped(CHARTS)) }
                script { (PreEscaped(script)) }
            }
        }
    };
    out.write_all(document.into_string().as_bytes())
}

/// Control characters have no business in a report, and NUL is no valid HTML.
fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// Numbers to see from afar, and what they are.
pub(crate) fn tiles(tiles: &[(String, String)]) -> Markup {
    html! {
        div.tiles {
            @for (number, label) in tiles {
                div { b { (number) } span { (label) } }
            }
        }
    }
}

/// A sentence in which backticks enclose what is typed.
pub(crate) fn coded(sentence: &str) -> Markup {
    html! {
        @for (at, part) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// What casts doubt on the numbers; nothing without any.
pub(crate) fn warnings<'a>(lines: impl IntoIterator<Item = &'a str>) -> Markup {
    list(Some("warnings"), lines)
}

/// A list; nothing without lines.
pub(crate) fn list<'a>(class: Option<&str>, lines: impl IntoIterator<Item = &'a str>) -> Markup {
    let mut lines = lines.into_iter().peekable();
    html! {
        @if lines.peek().is_some() {
            ul class=[class] { @for line in lines { li { (coded(line)) } } }
        }
    }
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

    const HOSTILE: &str = "</script><img src=x onerror=\"alert('1')\">&\0\x1b[2J\u{9b}";

    #[test]
    fn hostile_text_stays_text() {
        let json = script_json(&HOSTILE).unwrap();
        assert!(!json.contains('<'), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), HOSTILE);

        let body = html! { p title=(HOSTILE) { (HOSTILE) } (list(None, [HOSTILE])) };
        let mut out = Vec::new();
        write_document(&mut out, HOSTILE, body, &json, "").unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(!page.contains("<img") && !page.contains(['\0', '\x1b']));
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script>").count(), 3);
        let text = "&lt;/script&gt;&lt;img src=x onerror=&quot;alert('1')&quot;&gt;&amp;\u{fffd}\u{fffd}[2J\u{fffd}";
        for place in [
            format!("<title>{text}</title>"),
            format!("<p title=\"{text}\">{text}</p>"),
            format!("<li>{text}</li>"),
        ] {
            assert!(page.contains(&place), "{place}");
        }
    }

    #[test]
    fn the_policy_allows_only_the_scripts_given() {
        let policy = content_security_policy(&["alert(1)"]);
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"));
        assert!(!policy.contains("script-src 'unsafe"));
        assert!(!policy.contains("http"));
    }
}
