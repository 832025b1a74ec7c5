//! Which certificate of a server a client accepts.

use std::path::PathBuf;
use unbloat_loadtest::Trust;

#[derive(clap::Args, Clone)]
pub struct TrustArgs {
    /// Trust these certificate authorities (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Accept only the server certificate with this SHA-256 fingerprint, which `unbloat serve` prints
    #[arg(
        long,
        value_name = "FINGERPRINT",
        env = "UNBLOAT_PIN",
        hide_env_values = true,
        value_parser = fingerprint
    )]
    pin: Option<[u8; 32]>,

    /// Do not verify the server's certificate
    #[arg(long)]
    insecure: bool,
}

impl TrustArgs {
    pub fn trust(&self) -> Trust {
        Trust {
            ca: self.ca.clone(),
            pin: self.pin,
            is_blind: self.insecure,
        }
    }
}

fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err("expected 64 hexadecimal digits, as printed by `unbloat serve`".to_owned());
    }
    let byte =
        |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("hexadecimal digits");
    Ok(std::array::from_fn(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_may_have_colons() {
        let pin = "ab:".repeat(31) + "ab";
        assert_eq!(fingerprint(&pin), Ok([0xab; 32]));
        assert!(fingerprint("12").unwrap_err().contains("64 hexadecimal"));
        assert!(fingerprint(&"+a".repeat(32)).is_err());
    }
}
