//! Starts a guest and waits for its end.

use super::folder;
use super::kernel::Kernel;
use super::process::{End, Process};
use crate::error::{GuestError, at};
use crate::inside;
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes of the console that an error shows.
const TAIL: usize = 2000;
static NEVER: AtomicBool = AtomicBool::new(false);

/// A machine in which one program runs as the first process.
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
    output: PathBuf,
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

    /// The most memory that the guest has.
    pub fn memory_mib(mut self, memory_mib: u32) -> Guest {
        self.memory_mib = memory_mib;
        self
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

    /// Runs `program`, a static executable, as the first and only process. It finds `input` as
    /// `/in/<name>` and writes to `/out`, above all `/out/status`: "ok" or what went wrong. The guest
    /// sees neither the host's files nor its network.
    ///
    /// Blocks the calling thread; the guest dies with it, however it ends.
    pub fn run(&self, program: &Path, input: (&str, &[u8])) -> Result<Finished, GuestError> {
        let folder = folder::make()?;
        let root = folder.path().join("root");
        for sub in ["dev", "proc", "sys"] {
            let path = root.join(sub);
            fs::create_dir_all(&path).map_err(at(path))?;
        }
        let output = exchange(&root, &[input])?;
        let init = root.join("init");
        fs::copy(program, &init).map_err(at(program))?;
        fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).map_err(at(&init))?;
        let boot = ["rootflags=/proc/self/cwd/root", "rw", "init=/init"];
        self.end(folder, output, &boot, &NEVER, &|| {})
    }

    /// Runs `program`, any executable of the host, as the first process; it must begin with
    /// [`inside::over_host`]. The guest's files are the host's, which it cannot change: /run is its
    /// own, /tmp once it asks for that, and its output is the only folder of the host that it writes to. It does not see
    /// the host's network. The guest is killed when `stop` is set; `waiting` is called now and then with
    /// the folder of its output.
    ///
    /// Blocks the calling thread; the guest dies with it, however it ends.
    pub fn run_over_host(
        &self,
        program: &Path,
        inputs: &[(&str, &[u8])],
        stop: &AtomicBool,
        waiting: &dyn Fn(&Path),
    ) -> Result<Finished, GuestError> {
        let folder = folder::make()?;
        let output = exchange(folder.path(), inputs)?;
        let init = folder.path().join("init");
        symlink(program, &init).map_err(at(init))?;
        // Followed by the guest, whose root is the host's: no path of this run is in the kernel's command
        // line.
        let boot = [
            "rootflags=/",
            "ro",
            "init=/proc/self/cwd/init",
            inside::OVER_HOST,
        ];
        let told = output.clone();
        self.end(folder, output, &boot, stop, &|| waiting(&told))
    }

    fn end(
        &self,
        folder: TempDir,
        output: PathBuf,
        boot: &[&str],
        stop: &AtomicBool,
        waiting: &dyn Fn(),
    ) -> Result<Finished, GuestError> {
        let begin = Instant::now();
        let mut process = Process::start(&mut self.command(folder.path(), boot)?)?;
        let end = process.wait(self.limit, stop, waiting)?;
        // Its folder goes after its last process.
        drop(process);
        let finished = Finished {
            folder,
            output,
            host_time: begin.elapsed(),
        };
        let console = finished.console_tail();
        match end {
            End::Own => {}
            End::Stopped => return Err(GuestError::Stopped),
            End::TooLate => {
                let limit = self.limit;
                return Err(GuestError::TimedOut { limit, console });
            }
        }
        match fs::read_to_string(finished.output().join(inside::STATUS)) {
            Ok(status) if status == "ok" => Ok(finished),
            Ok(message) => Err(GuestError::Inside {
                message: message + panic_in(&console),
            }),
            Err(_) => Err(GuestError::Died { console }),
        }
    }

    fn command(&self, folder: &Path, boot: &[&str]) -> Result<Command, GuestError> {
        let console = folder.join("console");
        let console = File::create(&console).map_err(at(console))?;
        let errors = console.try_clone().map_err(at(folder))?;
        let mut command = Command::new(&self.kernel.image);
        // The kernel draws its random numbers from its command line too, so that names no folder.
        command
            .current_dir(folder)
            .arg(format!("mem={}M", self.memory_mib))
            .arg("rootfstype=hostfs")
            .args(boot)
            .args(["quiet", "con=null", "con0=fd:0,fd:1"])
            .args([
                "time-travel=inf-cpu",
                &format!("time-travel-start={}", inside::EPOCH_NS),
            ])
            .arg("uml_dir=/proc/self/cwd/uml/")
            .arg("umid=guest")
            .env_clear()
            .env("TMPDIR", memory_folder())
            .env("LD_PRELOAD", &self.kernel.shim)
            .env("UNBLOAT_GUEST_SEED", self.seed.to_string())
            .stdin(Stdio::null())
            .stdout(console)
            .stderr(errors);
        Ok(command)
    }
}

/// Of a console, from where a thread says that it panicked, which place it was: whoever joins the thread does not know it.
fn panic_in(console: &str) -> &str {
    let at = console.find("\nthread '").unwrap_or(console.len());
    &console[at..]
}

/// Where the kernel keeps its memory, in a file without a name; on a disk it would be written out.
fn memory_folder() -> &'static str {
    const SHARED: &str = "/dev/shm";
    let can_write = || access(SHARED, Access::WRITE_OK).is_ok();
    if can_write() { SHARED } else { "." }
}

/// Makes the folders through which host and guest exchange files; returns that of the output.
fn exchange(base: &Path, inputs: &[(&str, &[u8])]) -> Result<PathBuf, GuestError> {
    let [input, output] = ["in", "out"].map(|name| base.join(name));
    for path in [&input, &output] {
        fs::create_dir_all(path).map_err(at(path))?;
    }
    for (name, bytes) in inputs {
        let path = input.join(name);
        fs::write(&path, bytes).map_err(at(path))?;
    }
    Ok(output)
}

impl Finished {
    /// What the guest wrote to its output.
    pub fn output(&self) -> &Path {
        &self.output
    }

    fn console_tail(&self) -> String {
        let text = fs::read(self.folder.path().join("console")).unwrap_or_default();
        let tail = &text[text.len().saturating_sub(TAIL)..];
        String::from_utf8_lossy(tail).replace('\r', "")
    }
}
