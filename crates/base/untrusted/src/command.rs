//! A command line as it may be written down: without what only its user is to know.

const HIDDEN: &str = "…";

/// Options whose value is a secret, or has one, as commands that call webhooks have.
const SECRETS: [&str; 2] = ["--token", "--alert"];

/// Keys of a URL's query whose value is a secret.
const KEYS: [&str; 2] = ["token", "access_token"];

/// The words of a command line, with each token hidden, also those within URLs.
pub fn command_line(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut is_next = false;
    let hide = |word: String| {
        let is_secret = std::mem::replace(&mut is_next, SECRETS.contains(&word.as_str()));
        match word.split_once('=') {
            _ if is_secret => HIDDEN.to_owned(),
            Some((option, _)) if SECRETS.contains(&option) => format!("{option}={HIDDEN}"),
            _ => without_tokens(&word),
        }
    };
    words.into_iter().map(hide).collect()
}

/// A URL (or anything else) without the tokens in its query.
pub fn without_tokens(url: &str) -> String {
    let Some((before, query)) = url.split_once('?') else {
        return url.to_owned();
    };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((key, _)) if KEYS.contains(&key) => format!("{key}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    let pairs: Vec<String> = query.split('&').map(hide).collect();
    format!("{before}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_hidden_however_they_are_given() {
        let words = [
            "test",
            "--token",
            "secret",
            "box",
            "--token=secret",
            "https://h/nq?a=b&token=secret",
            "--token-file",
            "where",
            "--token",
        ];
        let shown = command_line(words.map(str::to_owned)).join(" ");
        assert_eq!(
            shown,
            "test --token … box --token=… https://h/nq?a=b&token=… --token-file where --token"
        );
    }

    #[test]
    fn alerts_are_hidden() {
        let words = [
            "--alert=curl -H 'Bearer X'",
            "--alert",
            "curl https://h/KEY",
        ];
        let shown = command_line(words.map(str::to_owned)).join(" ");
        assert_eq!(shown, "--alert=… --alert …");
    }

    #[test]
    fn a_token_that_looks_like_the_option_is_hidden_too() {
        let words = ["--token", "--token", "box"].map(str::to_owned);
        let shown = command_line(words);
        assert_eq!(shown[1], "…");
    }
}
