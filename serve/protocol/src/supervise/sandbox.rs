//! The worker's sandbox: on Linux, Landlock blocks the network and all files except those of the database.
//!
//! It is a second protection. If the fence accepts a statement by mistake, or an attacker runs code in the engine,
//! other files stay out of reach.

use std::path::PathBuf;

/// How much of the sandbox the kernel supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// All rules that this program knows.
    Full,
    /// Some rules, because the kernel is older.
    Partial,
    /// No rules, for this reason.
    None(String),
}

/// Limits this process to the files of these directories, to reading those of `readable`, and to the kernel's files
/// about the machine. The process can then not run programs, connect or listen. Open descriptors stay usable. Only
/// threads that are started later inherit the rules, so this is called before the first one. It cannot be undone.
pub fn confine(directories: &[PathBuf], readable: &[PathBuf]) -> Confinement {
    #[cfg(target_os = "linux")]
    return linux::confine(directories, readable).unwrap_or_else(Confinement::None);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (directories, readable);
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
    const NEWEST_ABI: ABI = ABI::V6;

    pub(super) fn confine(directories: &[PathBuf], readable: &[PathBuf]) -> Result<Confinement, String> {
        let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        if threads != 1 {
            return Err(format!("{threads} threads already run and would not be confined"));
        }
        let status = restrict(directories, readable).map_err(|error| error.to_string())?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => Confinement::Full,
            RulesetStatus::PartiallyEnforced => Confinement::Partial,
            RulesetStatus::NotEnforced => Confinement::None("the kernel has no Landlock".to_owned()),
        })
    }

    /// The files with the number of CPUs and the memory of the machine. The engine and the C library read them.
    const MACHINE_FILES: [&str; 5] =
        ["/proc/self/cgroup", "/proc/meminfo", "/proc/stat", "/sys/fs/cgroup", "/sys/devices/system/cpu"];

    fn restrict(directories: &[PathBuf], readable: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
        Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST_ABI))?
            .handle_access(AccessNet::from_all(NEWEST_ABI))?
            .scope(Scope::from_all(NEWEST_ABI))?
            .create()?
            .add_rules(path_beneath_rules(directories, AccessFs::from_all(NEWEST_ABI) & !AccessFs::Execute))?
            .add_rules(path_beneath_rules(readable, AccessFs::ReadFile | AccessFs::ReadDir))?
            .add_rules(path_beneath_rules(MACHINE_FILES, AccessFs::ReadFile | AccessFs::ReadDir))?
            .restrict_self()
    }
}
