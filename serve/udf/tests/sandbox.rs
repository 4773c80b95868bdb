//! What a function may not do, each thing tried: as the user of the test, and as another user if the test runs as root.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::sync::Arc;

use colonnade_udf::{ColumnType, Function, Isolation, PrivatePath, ProcessLimits, ProcessPool, SessionProcesses};
use support::{Templates, call, function, limits, numbers};

/// What fails with EPERM or EACCES.
const DENIED: &[(&str, &str)] = &[
    ("a secret file", "open('/etc/shadow')"),
    ("another file", "open('/etc/passwd')"),
    ("the root directory", "os.listdir('/')"),
    ("writing a file", "open('/tmp/colonnade-function', 'w')"),
    ("writing a library", "open(numpy.__file__, 'r+')"),
    ("shared memory", "open('/dev/shm/colonnade-function', 'w')"),
    ("the parent's memory", "open(f'/proc/{os.getppid()}/mem', 'rb')"),
    ("the parent's environment", "open(f'/proc/{os.getppid()}/environ')"),
    ("the parent's descriptors", "os.listdir(f'/proc/{os.getppid()}/fd')"),
    ("the list of processes", "os.listdir('/proc')"),
    ("the first process", "open('/proc/1/environ')"),
    ("a device", "open('/dev/zero', 'rb')"),
    ("making a directory", "os.mkdir('/tmp/colonnade-function')"),
    ("removing a file", "os.unlink('/tmp/colonnade-function')"),
    ("renaming a file", "os.rename('/tmp/colonnade-function', '/tmp/colonnade-other')"),
    ("a link", "os.symlink('/etc', '/tmp/colonnade-function')"),
    ("a hard link", "os.link(numpy.__file__, '/tmp/colonnade-function')"),
    ("a pipe with a name", "os.mkfifo('/tmp/colonnade-function')"),
    ("permissions of a file", "os.chmod(numpy.__file__, 0o600)"),
    ("the owner of a file", "os.chown(numpy.__file__, 0, 0)"),
    ("the time of a file", "os.utime(numpy.__file__)"),
    ("an attribute of a file", "os.setxattr(numpy.__file__, 'user.a', b'')"),
    ("the length of a file", "os.truncate(numpy.__file__, 0)"),
    ("a TCP socket", "socket.socket()"),
    ("a UDP socket", "socket.socket(type=socket.SOCK_DGRAM)"),
    ("a unix socket", "socket.socket(socket.AF_UNIX)"),
    ("a netlink socket", "socket.socket(16, socket.SOCK_RAW)"),
    ("a pair of sockets that send to others by their names", "socket.socketpair(type=socket.SOCK_DGRAM)"),
    ("a pair of sockets of another kind", "socket.socketpair(socket.AF_INET)"),
    ("a name for a socket of a pair", "socket.socketpair()[0].bind('\\0x')"),
    ("a connection of a socket of a pair", "socket.socketpair()[0].connect('\\0x')"),
    ("connections to a socket of a pair", "socket.socketpair()[0].listen()"),
    ("the namespace of another process", "call(308 if x86 else 268, 0, 0)"),
    ("a signal to its own thread by number", "call(200 if x86 else 130, os.getpid(), 0)"),
    ("fork", "os.fork()"),
    ("vfork", "call(58 if x86 else 220, 0x4111 if not x86 else 0)"),
    ("clone of the memory only", "call(56 if x86 else 220, 0x100, 0, 0, 0, 0)"),
    ("a program", "os.execv('/bin/true', ['true'])"),
    ("a program that is started", "os.posix_spawn('/bin/true', ['true'], {})"),
    ("a program in a process of its own", "subprocess.run(['/bin/true'])"),
    ("a signal to the template", "os.kill(os.getppid(), 9)"),
    ("a signal to all", "os.kill(-1, 0)"),
    ("a signal to its group", "os.killpg(0, 0)"),
    ("a signal to a thread of another process", "call(234 if x86 else 131, os.getppid(), os.getppid(), 9)"),
    ("a descriptor of a process", "os.pidfd_open(os.getppid())"),
    ("ptrace", "call(101 if x86 else 117, 16, os.getppid(), 0, 0)"),
    ("ptrace by the parent", "call(101 if x86 else 117, 0, 0, 0, 0)"),
    ("reading a process's memory", "call(310 if x86 else 270, os.getppid(), 0, 0, 0, 0, 0)"),
    ("writing a process's memory", "call(311 if x86 else 271, os.getppid(), 0, 0, 0, 0, 0)"),
    ("another user", "os.setuid(0)"),
    ("capabilities", "call(126 if x86 else 91, 0, 0)"),
    ("a namespace", "call(272 if x86 else 97, 0x10000000)"),
    ("mount", "call(165 if x86 else 40, 0, 0, 0, 0, 0)"),
    ("chroot", "os.chroot('/')"),
    ("bpf", "call(321 if x86 else 280, 0, 0, 0)"),
    ("performance events", "call(298 if x86 else 241, 0, 0, 0, 0, 0)"),
    ("user page faults", "call(323 if x86 else 282, 0)"),
    ("io_uring", "call(425, 1, 0)"),
    ("keys", "call(250 if x86 else 219, 0, 0, 0)"),
    ("a file by its handle", "call(304 if x86 else 265, 0, 0, 0)"),
    ("System V shared memory", "call(29 if x86 else 194, 0, 4096, 0o1600)"),
    ("memory as a file", "os.memfd_create('x')"),
    ("shared memory without a file", "mmap.mmap(-1, 4096)"),
    ("a file by the root of its process", "open('/proc/self/root/etc/passwd')"),
    ("a directory by that of its process", "os.listdir('/proc/self/cwd')"),
    ("another process by its own directory", "open(f'/proc/self/../{os.getppid()}/environ')"),
    ("the network's state", "open('/proc/self/net/tcp')"),
    ("the network's state by another name", "open('/proc/net/dev')"),
    ("the network's state by its thread", "open(f'/proc/self/task/{os.getpid()}/net/unix')"),
    ("the network's state by its number", "open(f'/proc/{os.getpid()}/net/route')"),
    ("the list of the network's state", "os.listdir('/proc/self/net')"),
    ("the interfaces of the system", "os.listdir('/sys/class/net')"),
    ("its directory", "os.listdir('/proc/self')"),
    ("its threads as files", "os.listdir('/proc/self/task')"),
    ("the mounts", "open('/proc/self/mountinfo')"),
    ("its first environment", "open('/proc/self/environ')"),
    ("the control groups", "os.listdir('/sys/fs/cgroup')"),
    ("the processes of a group", "open(next(path for path in groups if os.path.exists(path)))"),
    ("writing its own memory as a file", "open('/proc/self/mem', 'r+b')"),
    ("its own score for the lack of memory", "open('/proc/self/oom_score_adj', 'w')"),
    ("the limits of another process", "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))"),
    ("the processors of another process", "os.sched_setaffinity(os.getppid(), {0})"),
    ("the priority of another process", "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)"),
    ("the scheduler of another process", "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))"),
    ("the priority of its input and output", "call(251 if x86 else 30, 1, os.getppid(), 0)"),
    ("the group of another process", "os.setpgid(os.getppid(), 0)"),
    ("the priority of its user", "os.setpriority(os.PRIO_USER, 0, 19)"),
    ("comparing processes", "call(312 if x86 else 272, os.getpid(), os.getppid(), 1, 0, 0)"),
    ("a descriptor out of a process", "call(438, 0, 0, 0)"),
    ("a signal by a descriptor", "call(424, 0, 9, 0, 0)"),
    ("advice on another process's memory", "call(440, 0, 0, 0, 0, 0)"),
    ("freeing another process's memory", "call(448, 0, 0)"),
    ("memory that nobody else sees", "call(447, 0)"),
    ("watching files", "call(294 if x86 else 26, 0)"),
    ("watching a directory", "call(254 if x86 else 27, 0, 0, 0)"),
    ("watching all files", "call(300 if x86 else 262, 0, 0)"),
    ("a handle of a file", "call(303 if x86 else 264, -100, 0, 0, 0, 0)"),
    ("a queue of messages", "call(240 if x86 else 180, 0, 0o100, 0o600, 0)"),
    ("System V semaphores", "call(64 if x86 else 190, 0, 1, 0o1600)"),
    ("System V messages", "call(68 if x86 else 186, 0, 0o1600)"),
    ("a new mount", "call(430, 0, 0)"),
    ("the log of the kernel", "call(103 if x86 else 116, 3, 0, 0)"),
    ("the name of the machine", "socket.sethostname('x')"),
    ("the time of the machine", "time.clock_settime(time.CLOCK_REALTIME, 0)"),
    ("a rule for files of its own", "call(444, 0, 0, 1)"),
    ("a filter of its own", "call(317 if x86 else 277, 0, 0, 0)"),
    ("a filter by prctl", "check(libc.prctl(22, 2, 0, 0, 0))"),
    ("a group of processes of its own", "os.setsid()"),
    ("a signal to the owner of a descriptor", "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, os.getppid())"),
    ("that by a structure", "fcntl.fcntl(socket.socketpair()[0], 15, bytes(8))"),
    ("that by a control", "fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack('i', os.getppid()))"),
    ("another signal", "fcntl.fcntl(socket.socketpair()[0], 10, 9)"),
    ("a lease of a file", "fcntl.fcntl(open(numpy.__file__), fcntl.F_SETLEASE, fcntl.F_RDLCK)"),
    ("what happens in a directory", "fcntl.fcntl(os.open(os.path.dirname(numpy.__file__), 0), fcntl.F_NOTIFY, 1)"),
    ("a lock of a file", "fcntl.flock(open(numpy.__file__), fcntl.LOCK_EX)"),
    ("flags of a file", "fcntl.ioctl(open(numpy.__file__), 0x40086602, bytes(8))"),
    ("input of a terminal", "fcntl.ioctl(0, 0x5412, b'x')"),
    ("writing all files to disks", "call(162 if x86 else 81)"),
    ("writing the files of a disk", "call(306 if x86 else 267, 0)"),
    ("requests of asynchronous input and output", "call(206 if x86 else 0, 1000, 0)"),
    ("limits of users of a disk", "call(443, 0, 0, 0, 0)"),
    ("a stack as large as one likes", "libc.mmap(None, 4096, 3, 0x122, -1, 0) != -1 or check(-1)"),
    ("making a stack larger", "call(25 if x86 else 216, stack, 4096, 1 << 30, 1, 0)"),
    ("permissions of a file by a newer call", "newer(452, -100, 0, 0o600, 0)"),
    ("an attribute of a file by a newer call", "newer(463, -100, 0, 0, 0, 0, 0)"),
    ("attributes of a file by a newer call", "newer(469, -100, 0, 0, 24, 0)"),
    ("a call that nobody knows", "newer(4000)"),
    ("outliving the template", "check(libc.prctl(1, 0, 0, 0, 0))"),
    ("being read by others", "check(libc.prctl(4, 1, 0, 0, 0))"),
];

/// What works, because libraries need it.
const ALLOWED: &[&str] = &[
    "import json, decimal, email, sqlite3",
    "assert open('/proc/self/status').read()",
    "for name in ('status', 'stat', 'statm', 'maps', 'cgroup'): assert open(f'/proc/self/{name}').read()",
    "for line in open('/proc/self/cgroup'):\n  _, controllers, path = line.rstrip().split(':', 2)\n  \
     if 'cpu' in controllers.split(','):\n    at = f'/sys/fs/cgroup/{controllers}{path}/cpu.cfs_quota_us'\n    \
     assert not os.path.exists(at) or open(at).read()",
    "assert os.cpu_count() and open('/proc/meminfo').read()",
    "import zoneinfo; zoneinfo.available_timezones()",
    "assert os.urandom(4) and socket.socketpair()",
    "assert dict(os.environ) == {}",
    "assert resource.getrlimit(resource.RLIMIT_FSIZE) == resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)",
    // The standard ones, which are nothing, and those that name its own files. The one that lists them is closed again.
    "own = [f'/proc/self/fd/{number}' for number in os.listdir('/proc/self/fd')]\n\
     found = {os.readlink(path) for path in own if os.path.lexists(path)}\n\
     assert {path.rpartition('/')[2] for path in found} == {'null', 'cgroup', 'maps', 'stat', 'statm', 'status', 'fd'}\n\
     assert {path.rpartition('/')[0] for path in found} == {'/dev', f'/proc/{os.getpid()}'}",
    "threads = [threading.Thread(target=sum, args=[range(10**5)]) for _ in range(4)]\n\
     [thread.start() for thread in threads]\n[thread.join() for thread in threads]",
    "import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor(2) as pool: assert list(pool.map(abs, [-1])) == [1]",
    "assert numpy.linalg.inv(numpy.eye(300)).sum() == 300",
    "ctypes.CFUNCTYPE(None)(lambda: None)()",
    "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    // Memory that has to move.
    "data = bytearray(10**6)\nfor _ in range(30): data += bytes(10**6)\nassert len(data) == 31 * 10**6",
    "assert not os.isatty(0) and not open(numpy.__file__).isatty()",
    "one, other = socket.socketpair()\none.setblocking(False)\nos.set_inheritable(one.fileno(), True)\n\
     other.send(b'x' * 9)\nassert struct.unpack('i', fcntl.ioctl(one, 0x541B, bytes(4))) == (9,)",
];

const SETUP: &str = "
import ctypes, fcntl, mmap, os, platform, resource, socket, struct, subprocess, threading, time
x86 = platform.machine() == 'x86_64'
(stack,) = (int(line.split('-')[0], 16) for line in open('/proc/self/maps') if line.endswith('[stack]\\n'))
groups = ['/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/pids/cgroup.procs', '/sys/fs/cgroup/unified/cgroup.procs']
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), 'denied')
    return result
def call(number, *arguments):
    return check(libc.syscall(*map(ctypes.c_long, (number, *arguments))))
def newer(number, *arguments):
    try: return call(number, *arguments)
    except OSError as error: raise PermissionError if error.errno == 38 else error
";

fn body(source: &str) -> Arc<Function> {
    function(&[ColumnType::Int8], ColumnType::Int8, &format!("{SETUP}{source}\nreturn a"))
}

fn try_all(session: &SessionProcesses) {
    let mut caller = session.caller();
    let mut run = |source: &str| call(&mut caller, &body(source), 1, &[vec![numbers([[0_u8]])]], None).map(drop);
    for source in ALLOWED {
        run(source).unwrap_or_else(|error| panic!("{source}: {error} {:?}", error.record()));
    }
    let mut failed = Vec::new();
    for (what, expression) in DENIED {
        let source = format!(
            "try: x = {expression}\nexcept PermissionError: pass\nelse: raise AssertionError('it was allowed: ' + str(x))"
        );
        failed.extend(run(&source).err().map(|error| format!("{what}: {error}")));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // Calls of another architecture end the process: x32's, and those of a 32-bit program.
    if cfg!(target_arch = "x86_64") {
        assert!(run("call(0x40000000 | 39)").unwrap_err().to_string().contains("signal 31"));
        // getpid by `int 0x80`: mov eax, 20; int 0x80; ret.
        let program = "page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)\n\
                       page.write(bytes.fromhex('b814000000cd80c3'))\n\
                       ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()";
        let error = run(program).unwrap_err().to_string();
        assert!(error.contains("signal 31") || error.contains("signal 11"), "{error}");
    }
    // Beyond the file that is mapped.
    assert!(run("_conn._ring.memory[-1] = 1").unwrap_err().to_string().contains("signal 7"));
    // The largest size of a file is 0, so that standard output cannot fill a disk either.
    run("assert os.write(1, b'x' * 10**6) == 10**6").unwrap();
    let threads = "n = 0\ntry:\n  while True: threading.Thread(target=threading.Event().wait, daemon=True).start(); n += 1\n\
                   except (RuntimeError, MemoryError): assert n > 3";
    run(threads).unwrap_or_else(|error| panic!("many threads: {error}"));
}

#[test]
fn a_function_reaches_nothing() {
    if !support::has_sandbox() {
        return;
    }
    let pool = ProcessPool::new(Box::new(Templates::default()), limits()).unwrap();
    try_all(&pool.session());
}

#[test]
fn a_function_of_another_user_reaches_nothing() {
    if !support::has_sandbox() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: only root can start a process of another user");
        return;
    }
    let folder = std::env::temp_dir().join(format!("colonnade-udf-{}", std::process::id()));
    if support::environment(&folder).is_some() {
        let templates = Templates { user: Some(65534), environment: Some(folder.clone()), ..Templates::default() };
        let pool = ProcessPool::new(Box::new(templates), limits()).unwrap();
        let session = pool.session();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| try_all(&session)));
        std::fs::remove_dir_all(&folder).unwrap();
        result.unwrap();
    } else {
        let _ = std::fs::remove_dir_all(&folder);
        eprintln!("not run: /usr/bin/python3 has not the version of the tests' interpreter");
    }
}

#[test]
fn more_files_can_be_read() {
    if !support::has_sandbox() {
        return;
    }
    let limits = ProcessLimits { readable: vec!["/etc/passwd".into()], ..limits() };
    let session = ProcessPool::new(Box::new(Templates::default()), limits).unwrap().session();
    let mut caller = session.caller();
    let own =
        body("assert open('/etc/passwd').read()\ntry: open('/etc/group')\nexcept PermissionError: pass\nelse: 1 / 0");
    call(&mut caller, &own, 1, &[vec![numbers([[0_u8]])]], None).map(drop).unwrap();
}

#[test]
fn no_process_starts_that_could_read_what_is_private() {
    if !support::has_sandbox() {
        return;
    }
    let private = vec![PrivatePath { what: "database".to_owned(), path: "/etc/passwd".into() }];
    let limits = ProcessLimits { readable: vec!["/etc".into()], private, ..limits() };
    let pool = ProcessPool::new(Box::new(Templates::default()), limits.clone()).unwrap();
    let error = pool.warm_up().unwrap_err();
    assert_eq!(error.sqlstate(), "58000");
    assert!(error.to_string().contains("the server's database /etc/passwd, because they read /etc:"), "{error}");
    let limits = ProcessLimits { readable: Vec::new(), ..limits };
    ProcessPool::new(Box::new(Templates::default()), limits).unwrap().warm_up().unwrap();
}

#[test]
fn without_a_sandbox_there_are_limits_only() {
    let limits = ProcessLimits { isolation: Isolation::Process, ..limits() };
    let session = ProcessPool::new(Box::new(Templates::default()), limits).unwrap().session();
    let mut caller = session.caller();
    let own = body("assert open('/etc/passwd').read()\nassert resource.getrlimit(resource.RLIMIT_FSIZE) == (0, 0)");
    call(&mut caller, &own, 1, &[vec![numbers([[0_u8]])]], None).map(drop).unwrap();
}
