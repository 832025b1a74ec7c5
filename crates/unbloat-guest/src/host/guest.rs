//! Starts a guest and waits for its end.

use super::folder;
use super::kernel::Kernel;
use crate::error::{GuestError, at};
use crate::inside;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often the host looks whether the guest has ended.
const POLL: Duration = Duration::from_millis(2);
/// Bytes of the console that an error shows.
const TAIL: usize = 2000;

/// A machine in which one program runs as the only process.
#[derive(Clone, Debug)]
pub struct Guest {
    kernel: Kernel,
    memory_mib: u32,
    limit: Duration,
    seed: u64,
}

/// A guest that has ended well, with the folder of what it wrote; the folder disappears with it.
#[derive(Debug)]
pub struct Finished {
    folder: TempDir,
    /// How long the host waited.
    pub host_time: Duration,
}

impl Guest {
    /// With 512 MiB of memory, of which the host gives what is used, ten minutes of the host's time,
    /// and seed 1.
    pub fn new(kernel: Kernel) -> Guest {
        Guest {
            kernel,
            memory_mib: 512,
            limit: Duration::from_secs(600),
            seed: 1,
        }
    }

    /// The host's time after which the guest is killed.
    pub fn limit(mut self, limit: Duration) -> Guest {
        self.limit = limit;
        self
    }

    /// What the guest's random numbers come from.
    pub fn seed(mut self, seed: u64) -> Guest {
        self.seed = seed;
        self
    }

    /// Runs `program`, a static executable, as the first process. It finds `input` as
    /// `/in/<name>` and writes to `/out`, above all `/out/status`: "ok" or what went wrong. The guest
    /// sees neither the host's files nor its network.
    ///
    /// Blocks the calling thread; the guest dies with it, however it ends.
    pub fn run(
        &self,
        program: &Path,
        (name, input): (&str, &[u8]),
    ) -> Result<Finished, GuestError> {
        let folder = folder::make()?;
        let root = folder.path().join("root");
        for sub in ["dev", "proc", "sys", "in", "out"] {
            let path = root.join(sub);
            fs::create_dir_all(&path).map_err(at(path))?;
        }
        let init = root.join("init");
        fs::copy(program, &init).map_err(at(program))?;
        fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).map_err(at(&init))?;
        let path = root.join("in").join(name);
        fs::write(&path, input).map_err(at(path))?;
        let begin = Instant::now();
        let ended = self.wait(self.start(folder.path())?)?;
        let finished = Finished {
            folder,
            host_time: begin.elapsed(),
        };
        let console = finished.console_tail();
        if !ended {
            let limit = self.limit;
            return Err(GuestError::TimedOut { limit, console });
        }
        match fs::read_to_string(finished.output().join(inside::STATUS)) {
            Ok(status) if status == "ok" => Ok(finished),
            Ok(message) => Err(GuestError::Inside { message }),
            Err(_) => Err(GuestError::Died { console }),
        }
    }

    fn start(&self, folder: &Path) -> Result<Child, GuestError> {
        let console = folder.join("console");
        let console = File::create(&console).map_err(at(console))?;
        let errors = console.try_clone().map_err(at(folder))?;
        // The kernel draws its random numbers from its command line too, so that names no folder.
        Command::new(&self.kernel.image)
            .current_dir(folder)
            .arg(format!("mem={}M", self.memory_mib))
            .arg("rootfstype=hostfs")
            .arg("rootflags=/proc/self/cwd/root")
            .args(["rw", "init=/init", "quiet", "con=null", "con0=fd:0,fd:1"])
            .args([
                "time-travel=inf-cpu",
                &format!("time-travel-start={}", inside::EPOCH_NS),
            ])
            .arg("uml_dir=/proc/self/cwd/uml/")
            .arg("umid=guest")
            .env_clear()
            .env("LD_PRELOAD", &self.kernel.shim)
            .env("UNBLOAT_GUEST_SEED", self.seed.to_string())
            .stdin(Stdio::null())
            .stdout(console)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|source| GuestError::Start {
                command: self.kernel.image.display().to_string(),
                source,
            })
    }

    /// Whether the guest ended by itself.
    fn wait(&self, child: Child) -> Result<bool, GuestError> {
        let mut child = Leash(child);
        let begin = Instant::now();
        while begin.elapsed() < self.limit {
            if child.0.try_wait().map_err(at("the guest"))?.is_some() {
                return Ok(true);
            }
            std::thread::sleep(POLL);
        }
        Ok(false)
    }
}

/// Kills the guest's processes when it goes.
struct Leash(Child);

impl Drop for Leash {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.0.id() as i32);
        // No such group: all have ended by themselves.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

impl Finished {
    /// What the guest wrote to `/out`.
    pub fn output(&self) -> PathBuf {
        self.folder.path().join("root/out")
    }

    fn console_tail(&self) -> String {
        let text = fs::read(self.folder.path().join("console")).unwrap_or_default();
        let tail = &text[text.len().saturating_sub(TAIL)..];
        String::from_utf8_lossy(tail).replace('\r', "")
    }
}
