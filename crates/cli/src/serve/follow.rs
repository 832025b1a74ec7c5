//! A given certificate that is renewed in place, as certbot does: used from then on, without a restart.

use crate::exit::{Failure, cannot};
use crate::secret;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use unbloat_os::files;
use unbloat_server::Certificates;

/// Changes are taken up when nothing has changed for as long: chain and key are two files.
const LOOKS: Duration = Duration::from_secs(1);

/// Chain and key, in PEM.
pub struct Files {
    pub chain: PathBuf,
    pub key: PathBuf,
}

/// Which file it is and when it last changed, its mode included; through symbolic links.
type Stamp = Option<(u64, u64, i64, i64)>;

/// Of a chain of certificates.
const LONGEST: u64 = 1 << 20;

impl Files {
    pub fn read(&self) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let chain = files::read_named(&self.chain, LONGEST).map_err(cannot("read", &self.chain))?;
        Ok((chain, secret::read(&self.key)?))
    }

    /// Tells of each change whether the server could take it up; if not, it goes on with what it had.
    pub fn follow(
        &self,
        certificates: &Certificates,
        is_over: &AtomicBool,
        tell: impl Fn(Result<(), Failure>),
    ) {
        let look = || [&self.chain, &self.key].map(|file| stamp(file));
        let mut used = look();
        let mut seen = used;
        while !is_over.load(Ordering::Relaxed) {
            sleep(LOOKS);
            let found = look();
            if found == seen && found != used {
                used = found;
                tell(self.replace(certificates));
            }
            seen = found;
        }
    }

    fn replace(&self, certificates: &Certificates) -> Result<(), Failure> {
        let (chain, key) = self.read()?;
        Ok(certificates.replace(&chain, &key)?)
    }
}

fn stamp(file: &Path) -> Stamp {
    let of = fs::metadata(file).ok()?;
    Some((of.dev(), of.ino(), of.ctime(), of.ctime_nsec()))
}
