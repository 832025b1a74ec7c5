//! Limits of this process (getrlimit(2)).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many open files as this process may ask for. Some sandboxes refuse even that, and leave it with what it has.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}
