//! What tests may need of the machine: the words before the arrow in [`main!`](crate::main).

use std::process::{Command, Stdio};
use std::sync::OnceLock;

type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What the tests of a group need. It is looked at once, when the first of them is to run.
pub struct Need {
    check: Check,
    found: OnceLock<Result<(), String>>,
    is_on_request: bool,
}

impl Need {
    /// Both are needed; the other one is looked at where this one is met.
    pub fn and(self, other: Need) -> Need {
        let is_on_request = self.is_on_request || other.is_on_request;
        Need {
            is_on_request,
            ..check(move || (self.check)().and_then(|()| (other.check)()))
        }
    }

    pub(crate) fn met(&self) -> Result<(), &str> {
        let found = self.found.get_or_init(&self.check);
        found.as_ref().copied().map_err(String::as_str)
    }

    pub(crate) fn is_on_request(&self) -> bool {
        self.is_on_request
    }
}

/// Nothing.
pub fn always() -> Need {
    check(|| Ok(()))
}

/// A condition of one's own; the error says in one line what is lacking.
pub fn check(is_met: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Need {
    Need {
        check: Box::new(is_met),
        found: OnceLock::new(),
        is_on_request: false,
    }
}

/// The user is root, because `what` needs it: `root("a bed")`.
pub fn root(what: &'static str) -> Need {
    check(move || {
        let is_root = rustix::process::geteuid().is_root();
        is_root.then_some(()).ok_or(format!("{what} needs root"))
    })
}

/// These programs are installed.
pub fn tools(names: &'static [&'static str]) -> Need {
    check(|| {
        let is_missing = |name: &&&str| {
            let mut asked = Command::new(**name);
            asked.arg("--version").stdin(Stdio::null());
            asked.stdout(Stdio::null()).stderr(Stdio::null());
            asked.status().is_err()
        };
        let missing: Vec<&str> = names.iter().filter(is_missing).copied().collect();
        let why = || format!("{} not installed (tools/install test)", missing.join(", "));
        missing.is_empty().then_some(()).ok_or_else(why)
    })
}

/// A kernel that runs as a process, for tests in virtual time; it is built if need be. Only what an ordinary user lacks leaves a
/// test out: a build that fails is a failure.
#[cfg(feature = "kernel")]
pub fn kernel() -> Need {
    check(crate::kernel::absence)
}

/// No test by itself: the process that another test starts from this program, with `--exact NAME --ignored`.
pub fn on_request() -> Need {
    Need {
        is_on_request: true,
        ..always()
    }
}
