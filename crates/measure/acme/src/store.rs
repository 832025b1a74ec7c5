//! What outlives the process: the account's key, and the certificate with its key. One folder for each authority.

use crate::authority;
use crate::error::AcmeError;
use crate::order::Issued;
use instant_acme::AccountCredentials;
use rustls::pki_types::DnsName;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use unbloat_os::files;

/// Where certificates come from if nothing else is wanted.
pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// Whose certificate, from whom, kept where.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub(crate) domain: String,
    pub(crate) directory: String,
    folder: PathBuf,
}

/// A certificate of an earlier start: chain and key in PEM.
pub struct Stored {
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
}

impl Wanted {
    /// `folder` is only for the user who serves.
    pub fn new(domain: &str, directory: &str, folder: &Path) -> Result<Wanted, AcmeError> {
        let odd = || AcmeError::Domain(domain.to_owned());
        let lower = domain.to_ascii_lowercase();
        let name = DnsName::try_from(lower.as_str()).map_err(|_| odd())?;
        // A number at the end would be an address.
        let last = lower.rsplit('.').next().unwrap_or_default();
        if !lower.contains('.') || last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(odd());
        }
        let host = authority::host(directory)?;
        Ok(Wanted {
            domain: name.as_ref().to_owned(),
            directory: directory.to_owned(),
            folder: folder.join(host.as_str().replace(':', "_")),
        })
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.domain))
    }

    fn account(&self) -> PathBuf {
        self.folder.join("account.json")
    }

    /// The certificate of an earlier start, which may have expired.
    pub fn stored(&self) -> Result<Option<Stored>, AcmeError> {
        let pem = read(&self.certificate())?;
        Ok(pem.map(|pem| Stored {
            chain: pem.clone(),
            key: pem,
        }))
    }

    pub(crate) fn store(&self, issued: &Issued) -> Result<(), AcmeError> {
        let text = format!("{}{}", issued.chain, issued.key);
        write(&self.certificate(), text.as_bytes())
    }

    pub(crate) fn stored_account(&self) -> Result<Option<AccountCredentials>, AcmeError> {
        let file = self.account();
        let Some(text) = read(&file)? else {
            return Ok(None);
        };
        let account = serde_json::from_slice(&text);
        account.map(Some).map_err(|_| AcmeError::Account(file))
    }

    pub(crate) fn forget_account(&self) -> Result<(), AcmeError> {
        let file = self.account();
        fs::remove_file(&file).map_err(failed(&file))
    }

    pub(crate) fn store_account(&self, account: &AccountCredentials) -> Result<(), AcmeError> {
        let text = serde_json::to_vec(account).expect("text and bytes");
        write(&self.account(), &text)
    }
}

fn failed(file: &Path) -> impl Fn(io::Error) -> AcmeError {
    move |source| AcmeError::File {
        file: file.to_owned(),
        source,
    }
}

/// Of an account, or of a chain of certificates and its key.
const LONGEST: u64 = 1 << 20;

fn read(file: &Path) -> Result<Option<Vec<u8>>, AcmeError> {
    match files::read_named(file, LONGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(file)(error)),
    }
}

/// Whole or not at all, and for nobody else to read.
fn write(file: &Path, bytes: &[u8]) -> Result<(), AcmeError> {
    let folder = file.parent().expect("a file in a folder");
    let written = || {
        fs::create_dir_all(folder)?;
        let mut whole = tempfile::NamedTempFile::new_in(folder)?;
        whole.write_all(bytes)?;
        whole.as_file().sync_all()?;
        whole.persist(file)?;
        Ok(())
    };
    written().map_err(failed(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_cannot_have_a_certificate_is_refused() {
        let of = |domain| Wanted::new(domain, LETS_ENCRYPT, Path::new("/x"));
        for odd in [
            "",
            "localhost",
            "10.0.0.1",
            "a/../b.example",
            "*.a.example",
            "a b.example",
        ] {
            assert!(matches!(of(odd), Err(AcmeError::Domain(_))), "{odd}");
        }
        let file = of("Test.Example.NET").unwrap().certificate();
        let name = "/x/acme-v02.api.letsencrypt.org/test.example.net.pem";
        assert_eq!(file, Path::new(name));
    }

    #[test]
    fn a_certificate_is_found_again_and_nobody_else_reads_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = Wanted::new("a.example", LETS_ENCRYPT, &folder.path().join("acme")).unwrap();
        assert!(wanted.stored().unwrap().is_none());
        assert!(wanted.stored_account().unwrap().is_none());
        let issued = Issued {
            chain: "chain\n".to_owned(),
            key: "key\n".to_owned(),
        };
        wanted.store(&issued).unwrap();
        let stored = wanted.stored().unwrap().unwrap();
        assert_eq!(stored.key, b"chain\nkey\n");
        let mode = fs::metadata(wanted.certificate())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0);
        fs::write(wanted.account(), "{").unwrap();
        assert!(matches!(
            wanted.stored_account(),
            Err(AcmeError::Account(_))
        ));
    }
}
