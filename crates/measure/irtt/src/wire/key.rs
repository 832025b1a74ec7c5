//! The secret that client and server share, if they do.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use std::fmt;

/// Bytes of the code in a packet.
pub(crate) const HMAC_LEN: usize = 16;
/// Where it stands.
pub(crate) const HMAC_AT: usize = 4;

/// Key of the HMAC-MD5 (RFC 2104, RFC 1321) that irtt puts into every packet of a server with a key.
///
/// It keeps strangers from using a server and from forging replies. It does not hide anything, and what was
/// captured can be sent again.
#[derive(Clone)]
pub struct Key(Hmac<Md5>);

impl Key {
    /// A key of any length.
    pub fn new(secret: &[u8]) -> Key {
        Key(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// The code of any text.
    pub(crate) fn code(&self, text: &[u8]) -> [u8; HMAC_LEN] {
        let mut mac = self.0.clone();
        mac.update(text);
        mac.finalize().into_bytes().into()
    }

    /// Writes the code into `packet`, whose field for it holds zeros.
    pub(crate) fn seal(&self, packet: &mut [u8]) {
        let code = self.code(packet);
        packet[HMAC_AT..HMAC_AT + HMAC_LEN].copy_from_slice(&code);
    }

    /// Whether `packet`, long enough to hold one, carries the right code. Takes as long for any wrong one.
    pub(crate) fn verifies(&self, packet: &[u8]) -> bool {
        let mut mac = self.0.clone();
        mac.update(&packet[..HMAC_AT]);
        mac.update(&[0; HMAC_LEN]);
        mac.update(&packet[HMAC_AT + HMAC_LEN..]);
        mac.verify_slice(&packet[HMAC_AT..HMAC_AT + HMAC_LEN])
            .is_ok()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
