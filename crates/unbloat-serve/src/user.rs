//! Giving up what only the beginning needs: ports and keys are had as root, and strangers are served as nobody in particular.

use crate::error::ServeError;
use std::ffi::CString;
use std::io;

/// `20 - NICE` of the echo: it may still run before the threads of load.
const NICE_LIMIT: libc::rlim_t = 30;

/// Becomes that user, with that user's group and no other, for good. To be called once the server is bound, before it runs.
///
/// # Errors
/// There is no such user, or this process may not become it.
pub fn become_user(name: &str) -> Result<(), ServeError> {
    let failed = |source| ServeError::User {
        name: name.to_owned(),
        source,
    };
    let (uid, gid) = ids(name).map_err(failed)?;
    let limit = libc::rlimit {
        rlim_cur: NICE_LIMIT,
        rlim_max: NICE_LIMIT,
    };
    // SAFETY: the limit outlives the call. Where it is refused the echo has the priority of all others.
    unsafe { libc::setrlimit(libc::RLIMIT_NICE, &raw const limit) };
    let group = [gid];
    let steps: [&dyn Fn() -> libc::c_int; 4] = [
        // SAFETY: there is one group in the list.
        &|| unsafe { libc::setgroups(1, group.as_ptr()) },
        // SAFETY: plain call.
        &|| unsafe { libc::setresgid(gid, gid, gid) },
        // SAFETY: plain call. The C library has all threads do it.
        &|| unsafe { libc::setresuid(uid, uid, uid) },
        // SAFETY: plain call; no program that is ever run gets more than this.
        &|| unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) },
    ];
    for step in steps {
        if step() != 0 {
            return Err(failed(io::Error::last_os_error()));
        }
    }
    Ok(())
}

fn ids(name: &str) -> io::Result<(libc::uid_t, libc::gid_t)> {
    let name = CString::new(name)?;
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut text = vec![0; 16 << 10];
    let mut found = std::ptr::null_mut();
    // SAFETY: all buffers outlive the call, and their lengths are given.
    let code = unsafe {
        libc::getpwnam_r(
            name.as_ptr(),
            entry.as_mut_ptr(),
            text.as_mut_ptr(),
            text.len(),
            &raw mut found,
        )
    };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    if found.is_null() {
        let why = "there is no such user";
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    // SAFETY: it was found, so the entry is filled in.
    let entry = unsafe { entry.assume_init() };
    Ok((entry.pw_uid, entry.pw_gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_there_is_named() {
        let error = become_user("no-such-user").unwrap_err().to_string();
        assert!(error.contains("no-such-user"), "{error}");
        assert_eq!(ids("root").unwrap().0, 0);
    }
}
