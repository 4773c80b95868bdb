//! What the worker's process may do: on Linux, Landlock takes away all files but those of the database, and the network.
//!
//! It is the fence behind the fences: a statement that should not have been run, and code that an attacker has brought into
//! the engine, still have no way to other files.

use std::path::PathBuf;

/// How much of the sandbox the kernel has put up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// All of it that this program knows.
    Full,
    /// Some of it: an older kernel.
    Partial,
    /// Nothing, and why.
    None(String),
}

/// Leaves this process only what is in these directories: files are read and written there, and nowhere else, but for what the
/// kernel tells about the machine; no program is run, no address connected to or listened on. Descriptors that are open stay. It holds for threads that are started later,
/// so it comes before the first one, and cannot be undone.
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

    /// The newest set of rules that the crate knows; of those that the kernel lacks it does without.
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

    /// What tells a program how many CPUs and how much memory it may use: DuckDB and the C library read it.
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
