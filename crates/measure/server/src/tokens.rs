//! Who may use the server.

use sha2::{Digest, Sha256};

/// Digests: comparing them takes as long whatever was guessed.
pub struct Tokens(Vec<[u8; 32]>);

impl Tokens {
    pub fn new(tokens: &[String]) -> Tokens {
        Tokens(tokens.iter().map(|t| digest(t)).collect())
    }

    /// Without tokens everybody may.
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    pub fn knows(&self, token: &str) -> bool {
        let digest = digest(token);
        self.0.contains(&digest)
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The token of an `Authorization` header.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tokens_are_known() {
        let tokens = Tokens::new(&["a".to_owned(), "b".to_owned()]);
        assert!(tokens.knows("b") && !tokens.knows("c") && !tokens.knows(""));
        assert!(!tokens.is_open() && Tokens::new(&[]).is_open());
    }

    #[test]
    fn a_bearer_is_read_from_its_header() {
        assert_eq!(bearer("Bearer x"), Some("x"));
        assert_eq!(bearer("bearer  x "), Some("x"));
        assert_eq!(bearer("Basic x"), None);
        assert_eq!(bearer("x"), None);
    }
}
