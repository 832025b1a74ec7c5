//! The guest's kernel: built once from Debian's source, then kept in the user's cache.

use super::build::{self, BUILD, CONFIG};
use crate::error::{GuestError, at};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const SHIM: &str = include_str!("../../recipe/shim.c");

/// A kernel that can be run as a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub(crate) image: PathBuf,
    pub(crate) shim: PathBuf,
}

impl Kernel {
    /// Takes the kernel from the cache, or builds it there: about seven CPU-minutes, told on standard
    /// error. Whoever comes second waits. The cache is `$XDG_CACHE_HOME/unbloat/guest` or
    /// `~/.cache/unbloat/guest`.
    pub fn ensure() -> Result<Kernel, GuestError> {
        Kernel::ensure_in(&cache()?)
    }

    /// The same in a folder of one's choice.
    pub fn ensure_in(cache: &Path) -> Result<Kernel, GuestError> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            let architecture = std::env::consts::ARCH;
            return Err(GuestError::Architecture { architecture });
        }
        fs::create_dir_all(cache).map_err(at(cache))?;
        let shim = shim_in(cache);
        if let Some(image) = newest(cache).filter(|_| shim.exists()) {
            return Ok(Kernel { image, shim });
        }
        let _lock = lock(cache)?;
        let image = match newest(cache) {
            Some(image) => image,
            None => build_image(cache)?,
        };
        if !shim.exists() {
            build_shim(&shim)?;
        }
        Ok(Kernel { image, shim })
    }

    /// The one in the cache, if it was built.
    pub fn find() -> Result<Option<Kernel>, GuestError> {
        let cache = cache()?;
        let shim = shim_in(&cache);
        let image = newest(&cache).filter(|_| shim.exists());
        Ok(image.map(|image| Kernel { image, shim }))
    }

    /// Empties the cache; returns what was removed.
    pub fn remove() -> Result<Vec<PathBuf>, GuestError> {
        let cache = cache()?;
        if !cache.is_dir() {
            return Ok(Vec::new());
        }
        let _lock = lock(&cache)?;
        let mut removed = Vec::new();
        for entry in cache.read_dir().map_err(at(&cache))?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !["linux-", "shim-"]
                .iter()
                .any(|ours| name.starts_with(ours))
            {
                continue;
            }
            fs::remove_file(entry.path()).map_err(at(entry.path()))?;
            removed.push(entry.path());
        }
        Ok(removed)
    }

    /// The executable.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// The version of Debian's package that it was built from.
    pub fn source_version(&self) -> &str {
        let name = self.image.file_name().and_then(|name| name.to_str());
        let rest = name.and_then(|name| name.strip_prefix(&prefix()));
        rest.unwrap_or_default()
    }
}

fn cache() -> Result<PathBuf, GuestError> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let base =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.ok_or(GuestError::NoCache)?.join("unbloat/guest"))
}

/// Held while the value lives, and freed by the system when its process dies.
fn lock(cache: &Path) -> Result<File, GuestError> {
    let path = cache.join("lock");
    let file = File::create(&path).map_err(at(&path))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        eprintln!("another process is building the guest's kernel; waiting for it");
        flock(&file, FlockOperation::LockExclusive).map_err(|error| at(path)(error.into()))?;
    }
    Ok(file)
}

/// Of the kernels by this recipe, the one of the latest source.
fn newest(cache: &Path) -> Option<PathBuf> {
    let prefix = prefix();
    let entries = cache.read_dir().ok()?.flatten().map(|entry| entry.path());
    let ours = entries.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(&prefix))
    });
    ours.max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok())
}

fn shim_in(cache: &Path) -> PathBuf {
    cache.join(format!("shim-{:016x}.so", fingerprint(&[SHIM])))
}

fn prefix() -> String {
    format!("linux-{:016x}-", fingerprint(&[CONFIG, BUILD]))
}

/// FNV-1a.
fn fingerprint(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn build_image(cache: &Path) -> Result<PathBuf, GuestError> {
    let version = build::source_version()?;
    let built = build::run(cache, &version)?;
    let image = cache.join(format!("{}{version}", prefix()));
    // The folder of the build is on the same file system: whoever sees the image sees all of it.
    fs::rename(built.path().join("linux"), &image).map_err(at(&image))?;
    Ok(image)
}

fn build_shim(shim: &Path) -> Result<(), GuestError> {
    let folder = tempfile::tempdir_in(shim.parent().unwrap_or(shim)).map_err(at(shim))?;
    let (source, library) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
    fs::write(&source, SHIM).map_err(at(&source))?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Wall", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    let output = gcc.output().map_err(|_| GuestError::Missing {
        commands: vec!["gcc"],
        packages: vec!["gcc", "libc6-dev"],
    })?;
    if !output.status.success() {
        return Err(GuestError::Build {
            step: "compiling the shim".to_owned(),
            log: source,
            tail: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    fs::rename(&library, shim).map_err(at(shim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_that_of_fnv_1a() {
        // http://www.isthe.com/chongo/tech/comp/fnv: 64-bit FNV-1a of "foobar"
        assert_eq!(fingerprint(&["foo", "bar"]), 0x85944171f73967e8);
    }

    #[test]
    fn a_kernel_of_another_recipe_is_not_taken() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("linux-0123456789abcdef-6.12.1"), "").unwrap();
        assert_eq!(newest(cache.path()), None);
        let ours = cache.path().join(format!("{}6.12.1", prefix()));
        fs::write(&ours, "").unwrap();
        assert_eq!(newest(cache.path()), Some(ours.clone()));
        let kernel = Kernel {
            image: ours,
            shim: PathBuf::new(),
        };
        assert_eq!(kernel.source_version(), "6.12.1");
    }
}
