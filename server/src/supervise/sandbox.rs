//! The worker's sandbox: on Linux, Landlock blocks the network and all files but those of the database.
//!
//! It is a second barrier: a statement that should have been refused, and code that an attacker runs in the engine, cannot reach
//! other files.

use std::path::PathBuf;

/// How much of the sandbox the kernel supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// All rules that this program knows.
    Full,
    /// Some rules: the kernel is older.
    Partial,
    /// None, and why.
    None(String),
}

/// Limits this process to the files of these directories, and to what the kernel tells about the machine. It cannot run programs, connect
/// or listen. Open descriptors stay. The rules hold for threads that are started later, so this is called before the first one. It cannot
/// be undone.
pub fn confine(directories: &[PathBuf]) -> Confinement {
    #[cfg(target_os = "linux")]
    return linux::confine(directories).unwrap_or_else(Confinement::None);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directories;
        Confinement::None("this operating system has no Landlock".to_owned())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::PathBuf;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
        RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };

    use super::Confinement;

    /// The newest set of rules that the crate knows. Rules that the kernel lacks are left out.
    const KNOWN: ABI = ABI::V6;

    pub(super) fn confine(directories: &[PathBuf]) -> Result<Confinement, String> {
        let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if threads != 1 {
            return Err(format!("{threads} threads run already, and would stay free"));
        }
        let status = restrict(directories).map_err(|error| error.to_string())?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => Confinement::Full,
            RulesetStatus::PartiallyEnforced => Confinement::Partial,
            RulesetStatus::NotEnforced => Confinement::None("the kernel has no Landlock".to_owned()),
        })
    }

    /// What tells a program how many CPUs and how much memory it may use: the engine and the C library read it.
    const MACHINE: [&str; 5] =
        ["/proc/self/cgroup", "/proc/meminfo", "/proc/stat", "/sys/fs/cgroup", "/sys/devices/system/cpu"];

    fn restrict(directories: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
        Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))?
            .handle_access(AccessNet::from_all(KNOWN))?
            .scope(Scope::from_all(KNOWN))?
            .create()?
            .add_rules(path_beneath_rules(directories, AccessFs::from_all(KNOWN) & !AccessFs::Execute))?
            .add_rules(path_beneath_rules(MACHINE, AccessFs::ReadFile | AccessFs::ReadDir))?
            .restrict_self()
    }
}
