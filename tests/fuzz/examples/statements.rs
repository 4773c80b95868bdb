//! The checks of the fuzz target `statement` on random bytes, without libFuzzer: no guidance, and several times as many
//! executions.
//!
//! `cargo run --release --example statements -- EXECUTIONS [SEED]` runs them on every core.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use colonnade_fuzz::statement::check;

/// The most bytes of one execution. A statement of the grammar seldom takes more.
const MOST_BYTES: usize = 256;
/// How many executions a thread takes at once.
const SHARE: u64 = 100_000;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number is needed"));
    let executions = arguments.next().expect("statements EXECUTIONS [SEED]");
    let seed = arguments.next().unwrap_or(1);
    let (start, taken) = (Instant::now(), AtomicU64::new(0));
    let run = || {
        loop {
            let from = taken.fetch_add(SHARE, Ordering::Relaxed);
            if from >= executions {
                return;
            }
            let mut random = fastrand::Rng::with_seed(seed << 48 ^ from);
            let mut bytes = [0; MOST_BYTES];
            for _ in from..executions.min(from + SHARE) {
                let count = random.usize(3..=MOST_BYTES);
                random.fill(&mut bytes[..count]);
                // Random bytes are no text: they are decisions of the grammar.
                bytes[0] &= 0b1111_1101;
                check(&bytes[..count]);
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        // The panic's message shows the statement.
        running.into_iter().for_each(|thread| thread.join().expect("the fence says what it should"));
    });
    let seconds = start.elapsed().as_secs();
    println!("{executions} executions with seed {seed} in {seconds} s: nothing found");
}
