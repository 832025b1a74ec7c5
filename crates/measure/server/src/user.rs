//! Giving up what only the beginning needs: ports and keys are had as root, and strangers are served as nobody in particular.

use crate::error::ServeError;
use rustix::process::{Resource, Rlimit, setrlimit};
use unbloat_os::user::User;

/// `20 - NICE` of the echo: it may still run before the threads of load.
const NICE_LIMIT: u64 = 30;

/// Without rights of root, too, the echo has the priority that it asks for.
pub(crate) fn keep_priority() {
    let limit = Rlimit {
        current: Some(NICE_LIMIT),
        maximum: Some(NICE_LIMIT),
    };
    // Where it is refused the echo has the priority of all others.
    let _ = setrlimit(Resource::Nice, limit);
}

/// Becomes that user, with that user's group and no other, for good. To be called once the server is bound, before it runs.
///
/// # Errors
/// There is no such user, or this process may not become it.
pub fn become_user(name: &str) -> Result<(), ServeError> {
    let failed = |source| ServeError::User {
        name: name.to_owned(),
        source,
    };
    let user = User::named(name).map_err(failed)?;
    user.become_for_good().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_there_is_named() {
        let error = become_user("no-such-user").unwrap_err().to_string();
        assert!(error.contains("no-such-user"), "{error}");
    }
}
