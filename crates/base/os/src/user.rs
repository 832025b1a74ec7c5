//! Whose rights this process has.

use rustix::thread::set_no_new_privs;
use std::ffi::CString;
use std::io;

/// Whether this program has more rights than who started it (`AT_SECURE`).
pub fn has_more_rights() -> bool {
    // SAFETY: it asks for a number, and has no other effect.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// A user's number, and that of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    uid: libc::uid_t,
    gid: libc::gid_t,
}

impl User {
    pub fn named(name: &str) -> io::Result<User> {
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
        Ok(User {
            uid: entry.pw_uid,
            gid: entry.pw_gid,
        })
    }

    /// All threads of this process become the user, with the user's group and no other. No program that is ever run gets more.
    pub fn become_for_good(self) -> io::Result<()> {
        let (uid, gid) = (self.uid, self.gid);
        let group = [gid];
        let steps: [&dyn Fn() -> libc::c_int; 3] = [
            // SAFETY: there is one group in the list.
            &|| unsafe { libc::setgroups(1, group.as_ptr()) },
            // SAFETY: plain call. The C library has all threads do it.
            &|| unsafe { libc::setresgid(gid, gid, gid) },
            // SAFETY: as above.
            &|| unsafe { libc::setresuid(uid, uid, uid) },
        ];
        for step in steps {
            if step() != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(set_no_new_privs(true)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_and_others_are_not() {
        assert_eq!(User::named("root").unwrap(), User { uid: 0, gid: 0 });
        let error = User::named("no-such-user").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
