//! What a function process may do: a Landlock ruleset for files, network and signals, and a seccomp filter for system
//! calls.
//!
//! Both are made here, in the server. The process puts them on itself before it runs a user's code. The ruleset travels
//! as a descriptor, the filter as bytes.

mod calls;
mod exposure;
mod filter;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
    path_beneath_rules,
};

pub use exposure::{Exposure, PrivatePath, check_private};
pub(crate) use filter::{SeccompFilter, seccomp_filter};

/// The newest set of rules that the crate knows. Rules that the kernel lacks are left out.
const NEWEST_ABI: ABI = ABI::V6;

/// What programs read of the machine and of the system, besides libraries: the number of CPUs, the memory, time zones,
/// the list of shared libraries.
const SYSTEM_FILES: [&str; 9] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system/cpu",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
];

/// The directories of shared libraries.
const LIBRARIES: [&str; 6] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib32"];

/// A ruleset that allows reading these files and directories and those of the system, and nothing else. `None` if the
/// kernel has no Landlock.
pub(crate) fn ruleset(readable: &[PathBuf]) -> io::Result<Option<OwnedFd>> {
    let system = SYSTEM_FILES.iter().chain(&LIBRARIES).map(Path::new);
    // A path that does not exist gives no rule.
    let paths = system.chain(readable.iter().map(PathBuf::as_path));
    let created = || -> Result<_, landlock::RulesetError> {
        Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST_ABI))?
            .handle_access(AccessNet::from_all(NEWEST_ABI))?
            .scope(Scope::from_all(NEWEST_ABI))?
            .create()?
            .add_rules(path_beneath_rules(paths, AccessFs::ReadFile | AccessFs::ReadDir))
    };
    Ok(created().map_err(io::Error::other)?.into())
}
