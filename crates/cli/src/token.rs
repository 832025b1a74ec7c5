//! The client's token for a server.

use crate::exit::Failure;
use crate::secret::{self};
use std::path::PathBuf;

#[derive(clap::Args, Clone)]
pub struct TokenArgs {
    /// Token for the server. Other users of this machine can see it, so prefer --token-file
    #[arg(
        long,
        value_name = "TOKEN",
        env = "UNBLOAT_TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,

    /// File whose first line is the token. It overrides --token and UNBLOAT_TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenArgs {
    pub fn token(&self) -> Result<Option<String>, Failure> {
        let Some(file) = &self.token_file else {
            return Ok(self.token.clone());
        };
        let bytes = secret::read(file)?;
        let text = String::from_utf8_lossy(&bytes);
        let token = text.lines().map(str::trim).find(|line| !line.is_empty());
        let token = token.ok_or_else(|| {
            format!(
                "{file} contains no token; write it in the first line",
                file = file.display()
            )
        })?;
        Ok(Some(token.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_token_is_the_first_line_of_a_file_that_others_cannot_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        let args = TokenArgs {
            token: Some("of the command line".to_owned()),
            token_file: Some(file.clone()),
        };
        std::fs::write(&file, "\n secret \nmore\n").unwrap();
        let mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, permissions).unwrap();
        };
        mode(0o600);
        assert_eq!(args.token().unwrap().as_deref(), Some("secret"));
        mode(0o644);
        let refused = args.token().unwrap_err().to_string();
        assert!(refused.contains("chmod"), "{refused}");
        mode(0o600);
        std::fs::write(&file, "\n").unwrap();
        let empty = args.token().unwrap_err().to_string();
        assert!(empty.contains("no token"), "{empty}");
    }
}
