//! The seccomp filter of a worker: a program of classic BPF over the number and the arguments of each system call.

/// An instruction of classic BPF, as `struct sock_filter` has it.
type Instruction = (u16, u8, u8, u32);

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const JUMP_IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where `struct seccomp_data` has the call's number and its architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The bits of a socket's type that are no flags (Linux's `SOCK_TYPE_MASK`).
const SOCKET_TYPE: u32 = 0xF;

const fn refuse(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error as u32
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;
/// Calls of x32 have this bit. On other architectures no call has such a number.
const X32: u32 = 0x4000_0000;

/// Calls that fail with EPERM whatever their arguments are.
const DENIED: &[i64] = &[
    // Network. A socket pair of streams reaches nobody.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_setpgid,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // Limits, identities and rights of this process.
    libc::SYS_setrlimit,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capset,
    libc::SYS_personality,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Memory that other processes can share, or that no limit counts.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Changes of files that Landlock does not know.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_truncate,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // The system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// The older forms of such calls, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_mkdir,
    libc::SYS_creat,
    libc::SYS_inotify_init,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[libc::SYS_renameat];

/// A filter, and where in its bytes the worker writes its own process id in 4 bytes.
pub(crate) struct SeccompFilter {
    pub program: Vec<u8>,
    pub own_id_at: usize,
}

/// The filter of a worker on this architecture.
pub(crate) fn seccomp_filter() -> SeccompFilter {
    let mut program: Vec<Instruction> = vec![
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, NATIVE),
        (RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ];
    for number in DENIED.iter().chain(DENIED_HERE) {
        program.push((JUMP_IF_EQUAL, 0, 1, *number as u32));
        program.push((RETURN, 0, 0, refuse(libc::EPERM)));
    }
    // The C library then uses `clone`, whose flags a filter can read.
    program.push((JUMP_IF_EQUAL, 0, 1, libc::SYS_clone3 as u32));
    program.push((RETURN, 0, 0, refuse(libc::ENOSYS)));
    // Only threads: another process would outlive this one.
    rule(&mut program, libc::SYS_clone, &[low_word(0), (AND, 0, 0, libc::CLONE_THREAD as u32)], Equal(0));
    // A socket of datagrams sends to any unix socket that it names, also if it is one of a pair.
    rule(&mut program, libc::SYS_socketpair, &[low_word(0)], Other(libc::AF_UNIX as u32));
    rule(&mut program, libc::SYS_socketpair, &[low_word(1), (AND, 0, 0, SOCKET_TYPE)], Other(libc::SOCK_STREAM as u32));
    // RLIMIT_DATA does not count shared memory without a file.
    let anonymous = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u32;
    rule(&mut program, libc::SYS_mmap, &[low_word(3), (AND, 0, 0, anonymous)], Equal(anonymous));
    // The process must end with the template, and others must not read it.
    rule(&mut program, libc::SYS_prctl, &[low_word(0)], Equal(libc::PR_SET_PDEATHSIG as u32));
    rule(&mut program, libc::SYS_prctl, &[low_word(0)], Equal(libc::PR_SET_DUMPABLE as u32));
    // Reading limits is allowed: the new limit is a null pointer.
    rule(&mut program, libc::SYS_prlimit64, &[low_word(2)], Other(0));
    rule(&mut program, libc::SYS_prlimit64, &[high_word(2)], Other(0));
    // All workers have one user, so the kernel would let each change where and when the others run.
    for number in
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
    {
        rule(&mut program, number, &[low_word(0)], Other(0));
    }
    // `abort` signals the calling thread.
    let own_id = rule(&mut program, libc::SYS_tgkill, &[low_word(0)], Other(0));
    program.push((RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    let bytes = program.iter().flat_map(|(code, yes, no, value)| {
        let [a, b] = code.to_ne_bytes();
        let [c, d, e, f] = value.to_ne_bytes();
        [a, b, *yes, *no, c, d, e, f]
    });
    SeccompFilter { program: bytes.collect(), own_id_at: own_id * INSTRUCTION_BYTES + VALUE_AT }
}

/// The bytes of an instruction, and where its value is.
const INSTRUCTION_BYTES: usize = 8;
const VALUE_AT: usize = 4;

/// Which values of an argument a rule refuses.
enum Refused {
    Equal(u32),
    Other(u32),
}
use Refused::{Equal, Other};

const fn low_word(argument: u32) -> Instruction {
    (LOAD, 0, 0, 16 + 8 * argument)
}

const fn high_word(argument: u32) -> Instruction {
    (LOAD, 0, 0, 16 + 8 * argument + 4)
}

/// Refuses a call if its argument, as `load` makes it, has such a value. Afterwards the number is loaded again. Gives the place of the
/// comparison.
fn rule(program: &mut Vec<Instruction>, number: i64, load: &[Instruction], refused: Refused) -> usize {
    let skipped = load.len() as u8 + 3;
    program.push((JUMP_IF_EQUAL, 0, skipped, number as u32));
    program.extend_from_slice(load);
    let comparison = program.len();
    program.push(match refused {
        Equal(value) => (JUMP_IF_EQUAL, 0, 1, value),
        Other(value) => (JUMP_IF_EQUAL, 1, 0, value),
    });
    program.push((RETURN, 0, 0, refuse(libc::EPERM)));
    program.push((LOAD, 0, 0, NUMBER));
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would answer, by the semantics of classic BPF.
    fn run(filter: &SeccompFilter, own_id: u32, number: i64, arguments: [u64; 6]) -> u32 {
        let mut program = filter.program.clone();
        program[filter.own_id_at..][..4].copy_from_slice(&own_id.to_ne_bytes());
        let mut data = Vec::new();
        data.extend((number as u32).to_ne_bytes());
        data.extend(NATIVE.to_ne_bytes());
        data.extend([0; 8]);
        arguments.iter().for_each(|argument| data.extend(argument.to_ne_bytes()));
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let step = &program[at * 8..][..8];
            let code = u16::from_ne_bytes([step[0], step[1]]);
            let operand = u32::from_ne_bytes([step[4], step[5], step[6], step[7]]);
            let jump = |is_true: bool| 1 + usize::from(if is_true { step[2] } else { step[3] });
            at += match code {
                LOAD => {
                    let word = &data[operand as usize..][..4];
                    value = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
                    1
                }
                AND => {
                    value &= operand;
                    1
                }
                JUMP_IF_EQUAL => jump(value == operand),
                JUMP_IF_AT_LEAST => jump(value >= operand),
                RETURN => return operand,
                _ => unreachable!("{code}"),
            };
        }
    }

    #[test]
    fn each_call_is_allowed_or_refused() {
        let filter = seccomp_filter();
        assert!(filter.program.len() / 8 < 4096);
        let answer = |number, arguments| run(&filter, 77, number, arguments);
        let none = [0; 6];
        for number in [libc::SYS_futex, libc::SYS_read, libc::SYS_openat, libc::SYS_mprotect, libc::SYS_exit_group] {
            assert_eq!(answer(number, none), libc::SECCOMP_RET_ALLOW);
        }
        for number in DENIED.iter().chain(DENIED_HERE) {
            assert_eq!(answer(*number, [u64::MAX; 6]), refuse(libc::EPERM), "{number}");
        }
        assert_eq!(answer(libc::SYS_clone3, none), refuse(libc::ENOSYS));
        let vfork = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
        assert_eq!(answer(libc::SYS_clone, [vfork, 0, 0, 0, 0, 0]), refuse(libc::EPERM));
        let thread = vfork | libc::CLONE_THREAD as u64;
        assert_eq!(answer(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        let pair = |domain: i32, kind: i32| answer(libc::SYS_socketpair, [domain as u64, kind as u64, 0, 0, 0, 0]);
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC), libc::SECCOMP_RET_ALLOW);
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_DGRAM), refuse(libc::EPERM));
        assert_eq!(pair(libc::AF_INET, libc::SOCK_STREAM), refuse(libc::EPERM));
        let map = |flags: i32| answer(libc::SYS_mmap, [0, 1, 3, flags as u64, u64::MAX, 0]);
        assert_eq!(map(libc::MAP_SHARED | libc::MAP_ANONYMOUS), refuse(libc::EPERM));
        assert_eq!(map(libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS), refuse(libc::EPERM));
        assert_eq!(map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS), libc::SECCOMP_RET_ALLOW);
        assert_eq!(map(libc::MAP_SHARED), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_tgkill, [77, 78, 6, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_tgkill, [76, 78, 6, 0, 0, 0]), refuse(libc::EPERM));
        for pointer in [1, 1 << 32] {
            assert_eq!(answer(libc::SYS_prlimit64, [0, 7, pointer, 0, 0, 0]), refuse(libc::EPERM));
        }
        assert_eq!(answer(libc::SYS_prlimit64, [0, 7, 0, 4096, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_sched_setaffinity, [0, 8, 1, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(libc::SYS_sched_setaffinity, [76, 8, 1, 0, 0, 0]), refuse(libc::EPERM));
        for option in [libc::PR_SET_PDEATHSIG, libc::PR_SET_DUMPABLE] {
            assert_eq!(answer(libc::SYS_prctl, [option as u64, 1, 0, 0, 0, 0]), refuse(libc::EPERM));
        }
        assert_eq!(answer(libc::SYS_prctl, [libc::PR_SET_NAME as u64, 1, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(i64::from(X32) | libc::SYS_read, none), libc::SECCOMP_RET_KILL_PROCESS);
    }
}
