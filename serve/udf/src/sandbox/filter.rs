//! The seccomp filter of a function process: a program of classic BPF over the number and the arguments of each system
//! call.

use super::calls::{ALLOWED_CONTROLS, DENIED, DENIED_COMMANDS, DENIED_HERE, NEWER};

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

/// A filter, and where in its bytes the function process writes its own process id in 4 bytes.
pub(crate) struct SeccompFilter {
    pub program: Vec<u8>,
    pub own_id_at: usize,
}

/// The filter of a function process on this architecture.
pub(crate) fn seccomp_filter() -> SeccompFilter {
    let mut program: Vec<Instruction> = vec![
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_IF_EQUAL, 1, 0, NATIVE),
        (RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
        (JUMP_IF_AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        (JUMP_IF_AT_LEAST, 0, 1, NEWER),
        (RETURN, 0, 0, refuse(libc::ENOSYS)),
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
    // Nor does it count what can grow downwards.
    let downwards = libc::MAP_GROWSDOWN as u32;
    rule(&mut program, libc::SYS_mmap, &[low_word(3), (AND, 0, 0, downwards)], Equal(downwards));
    for command in DENIED_COMMANDS {
        rule(&mut program, libc::SYS_fcntl, &[low_word(1)], Equal(*command));
    }
    only(&mut program, libc::SYS_ioctl, low_word(1), ALLOWED_CONTROLS);
    rule(&mut program, libc::SYS_prctl, &[low_word(0)], Equal(libc::PR_SET_SECCOMP as u32));
    // The process must end with the template, and others must not read it.
    rule(&mut program, libc::SYS_prctl, &[low_word(0)], Equal(libc::PR_SET_PDEATHSIG as u32));
    rule(&mut program, libc::SYS_prctl, &[low_word(0)], Equal(libc::PR_SET_DUMPABLE as u32));
    // Reading limits is allowed: the new limit is a null pointer.
    rule(&mut program, libc::SYS_prlimit64, &[low_word(2)], Other(0));
    rule(&mut program, libc::SYS_prlimit64, &[high_word(2)], Other(0));
    // All function processes have one user, so the kernel would let each change where and when the others run.
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

/// Refuses a call if its argument, as `load` makes it, has such a value. Afterwards the number is loaded again. Gives
/// the place of the comparison.
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

/// Refuses a call unless its argument has one of these values. Afterwards the number is loaded again.
fn only(program: &mut Vec<Instruction>, number: i64, load: Instruction, allowed: &[u32]) {
    let values = allowed.len() as u8;
    program.push((JUMP_IF_EQUAL, 0, values + 3, number as u32));
    program.push(load);
    // Over the values behind it and the refusal.
    program.extend((0..values).rev().zip(allowed).map(|(behind, value)| (JUMP_IF_EQUAL, behind + 1, 0, *value)));
    program.push((RETURN, 0, 0, refuse(libc::EPERM)));
    program.push((LOAD, 0, 0, NUMBER));
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
        assert_eq!(map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_GROWSDOWN), refuse(libc::EPERM));
        assert_eq!(map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK), libc::SECCOMP_RET_ALLOW);
        for number in [i64::from(NEWER), 452, 469, 100_000] {
            assert_eq!(answer(number, none), refuse(libc::ENOSYS), "{number}");
        }
        let command = |number, command: u32| answer(number, [0, command.into(), 0, 0, 0, 0]);
        for number in DENIED_COMMANDS {
            assert_eq!(command(libc::SYS_fcntl, *number), refuse(libc::EPERM), "{number}");
        }
        for number in [libc::F_GETFL, libc::F_SETFL, libc::F_SETLK, libc::F_DUPFD_CLOEXEC] {
            assert_eq!(command(libc::SYS_fcntl, number as u32), libc::SECCOMP_RET_ALLOW, "{number}");
        }
        for number in ALLOWED_CONTROLS {
            assert_eq!(command(libc::SYS_ioctl, *number), libc::SECCOMP_RET_ALLOW, "{number}");
        }
        // TIOCSTI, FIOSETOWN, the flags of a file.
        for number in [0, 0x5412, 0x8901, 0x4008_6602, u32::MAX] {
            assert_eq!(command(libc::SYS_ioctl, number), refuse(libc::EPERM), "{number}");
        }
        // The rules behind these still see the number of the call.
        assert_eq!(answer(libc::SYS_prctl, [libc::PR_SET_SECCOMP as u64, 0, 0, 0, 0, 0]), refuse(libc::EPERM));
        assert_eq!(answer(libc::SYS_prctl, [libc::PR_SET_NAME as u64, 0, 0, 0, 0, 0]), libc::SECCOMP_RET_ALLOW);
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
