//! The user that runs this process.

use std::ffi::{CStr, c_char};
use std::{io, ptr};

use crate::{Error, ErrorKind};

/// The largest accepted entry of the user database, in bytes.
const MOST: usize = 1 << 20;

/// The name of the process's effective user in the operating system's user database. Like libpq (`pg_fe_getauthname`),
/// it ignores environment variables, which containers and cron do not set.
///
/// # Errors
/// The user's number has no name, as in containers that run with an arbitrary number, or the user database cannot be
/// read.
pub(crate) fn user_name() -> Result<String, Error> {
    // SAFETY: it takes nothing, and always succeeds.
    let number = unsafe { libc::geteuid() };
    let unnamed = |why: &str| {
        let message =
            format!("the connection names no user, and the operating system has no name for user {number}{why}");
        Error::new(ErrorKind::Usage, message).with_hint("name the user: postgresql://USER@host/…, mysql://USER@host/…")
    };
    let mut room = vec![0 as c_char; 1024];
    loop {
        // SAFETY: all zeros are a valid `passwd`: integers and null pointers.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = ptr::null_mut();
        // SAFETY: all pointers are to memory of this function's, `room` of the length that is told.
        let status = unsafe { libc::getpwuid_r(number, &raw mut entry, room.as_mut_ptr(), room.len(), &raw mut found) };
        if status == libc::ERANGE && room.len() < MOST {
            room.resize(room.len() * 2, 0);
        } else if status != 0 {
            return Err(unnamed(&format!(": {}", io::Error::from_raw_os_error(status))));
        } else if found.is_null() {
            return Err(unnamed(""));
        } else {
            // SAFETY: an entry was found, so its name is a string within `room`.
            let name = unsafe { CStr::from_ptr(entry.pw_name) };
            return name.to_str().map(str::to_owned).map_err(|_| unnamed(" in UTF-8"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_operating_system_is_asked() {
        let told = std::process::Command::new("id").arg("-un").output().unwrap();
        assert_eq!(super::user_name().unwrap(), String::from_utf8(told.stdout).unwrap().trim());
    }
}
