//! Functions that write into their ring themselves: the server answers with an error or a valid result, and lives.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::sync::Arc;

use colonnade_udf::{ColumnType, Function, ProcessLimits};
use support::{call, function, limits, nodes, numbers, pool_with};

/// `ring` is an array of the ring's first 4 MiB as words of 4 bytes.
const SETUP: &str = "
import ctypes, random, threading
start = next(int(line.split('-')[0], 16) for line in open('/proc/self/maps') if 'colonnade-ring' in line)
ring = numpy.frombuffer((ctypes.c_uint32 * (1 << 20)).from_address(start), 'u4')
words = ring.view('u8')
";

fn body(source: &str) -> Arc<Function> {
    function(&[ColumnType::Int64], ColumnType::Text, &format!("{SETUP}{source}"))
}

/// How many calls meet a ring that changes: more with COLONNADE_HOSTILE_CALLS, as in `make fuzz`.
fn calls() -> u32 {
    std::env::var("COLONNADE_HOSTILE_CALLS").map_or(20, |given| given.parse().unwrap())
}

#[test]
fn a_ring_that_is_written_meanwhile_harms_nobody() {
    let session = pool_with(ProcessLimits { call: Some(support::SHORT), ..limits() }).session();
    let mut caller = session.caller();
    let scribble = "
def scribble():
    while True:
        for _ in range(100):
            words[random.choice((32, 33, 34, 35, 36, 37, *range(8192, 8198)))] = random.choice((0, 1, 2, 6, 16, 262144, 2**63, 2**64 - 1))
for _ in range(2): threading.Thread(target=scribble, daemon=True).start()
return ['x' * random.randrange(5) for _ in a]";
    let own = body(scribble);
    let (mut valid, mut broken) = (0, 0);
    for _ in 0..calls() {
        let given = vec![numbers([1_i64, 2, 3].map(i64::to_le_bytes))];
        match call(&mut caller, &own, 3, &[given], None) {
            Ok(output) => {
                valid += 1;
                assert_eq!(nodes(&output.columns[0], 3)[0].length, 3);
            }
            Err(error) => {
                broken += 1;
                assert!(["39000", "38000", "57014", "53200"].contains(&error.sqlstate()), "{error:?}");
            }
        }
    }
    assert!(valid + broken == calls() && broken > 0, "{valid} {broken}");
}

#[test]
fn an_answer_that_never_comes_ends_with_the_call_s_time() {
    let session = pool_with(ProcessLimits { call: Some(support::SHORT), ..limits() }).session();
    let mut caller = session.caller();
    // Other numbers than that of the request, as fast as possible; and the ring to be larger, again and again.
    for source in [
        "libc = ctypes.CDLL(None)\nwhile True:\n    ring[16] = random.getrandbits(31) | 2**31\n    libc.syscall(202, start + 64, 1, 1, 0, 0, 0)",
        "words[32:40] = (3, 0, 0, 0, 0, 2**40, 0, 0)\nwhile True: ring[16] = ring[0]",
        "words[32:40] = (3, 0, 0, 0, 0, 2**62, 0, 0)\nwhile True: ring[16] = ring[0]",
    ] {
        let given = vec![numbers([1_i64.to_le_bytes()])];
        let error = call(&mut caller, &body(source), 1, &[given], None).map(drop).unwrap_err();
        assert_eq!(error.sqlstate(), "57014", "{error:?}");
    }
    let own = function(&[ColumnType::Int64], ColumnType::Int64, "return a");
    call(&mut caller, &own, 1, &[vec![numbers([1_i64.to_le_bytes()])]], None).map(drop).unwrap();
}

#[test]
fn a_ring_cannot_be_cut() {
    let session = pool_with(limits()).session();
    let mut caller = session.caller();
    // No descriptor of it is left, and its file in /proc cannot be opened again.
    let source = "
import os
def link(name):
    try: return os.readlink('/proc/self/fd/' + name)
    except FileNotFoundError: return ''
assert all('null' in link(name) for name in ('0', '1', '2'))
assert not any('ring' in link(name) for name in os.listdir('/proc/self/fd'))
try: os.open(f'/proc/self/map_files/{start:x}-{start + ring.nbytes:x}', os.O_RDWR)
except OSError: pass
else: raise AssertionError('it was opened')
assert ctypes.CDLL(None).ftruncate(3, 0) == -1
return ['x']";
    call(&mut caller, &body(source), 1, &[vec![numbers([1_i64.to_le_bytes()])]], None).map(drop).unwrap();
}
