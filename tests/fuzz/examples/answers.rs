//! Damaged answers of a worker process for functions, checked without libFuzzer: no guidance, and many times as many
//! executions.
//!
//! `cargo run --release --example answers -- FOLDER EXECUTIONS [SEED]`: `tests/fuzz/seeds.py` writes valid answers to
//! the folder `tests/fuzz/corpus/function`. Each answer gets other types, or other words in its head, its nodes and its
//! values.

use std::time::Instant;

use colonnade_fuzz::answer::check;
use fastrand::Rng;

/// Numbers at which sizes and places change their meaning: the first byte of the values, the end of the smallest ring,
/// and others.
const BOUNDS: [u64; 12] =
    [0, 1, 2, 0x7f, 0xffff, 262_144, 262_145, 4 << 20, 1 << 32, 1 << 61, i64::MAX as u64, u64::MAX];
/// The bytes in front of an answer, which choose the types.
const CHOICE: usize = 8;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("answers FOLDER EXECUTIONS [SEED]");
    let mut numbers = arguments.map(|argument| argument.parse::<u64>().expect("a number is needed"));
    let executions = numbers.next().expect("answers FOLDER EXECUTIONS [SEED]");
    let mut random = Rng::with_seed(numbers.next().unwrap_or(1));
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("FOLDER can be read")
        .map(|entry| entry.expect("FOLDER can be read").path())
        .collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| std::fs::read(path).expect("an answer can be read")).collect();
    let (start, mut valid) = (Instant::now(), 0_u64);
    for _ in 0..executions {
        // A panic's message shows what the check has let pass.
        valid += u64::from(check(&damaged(&seeds, &mut random)));
    }
    println!("{executions} answers in {} s: {valid} are valid, and all of each can be read", start.elapsed().as_secs());
}

fn damaged(seeds: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut answer = seeds[random.usize(..seeds.len())].clone();
    for _ in 0..random.usize(1..=4) {
        let words = (answer.len().saturating_sub(CHOICE)) / 8;
        match random.u8(..8) {
            0 if !answer.is_empty() => {
                let at = random.usize(..CHOICE.min(answer.len()));
                answer[at] = random.u8(..);
            }
            1 if !answer.is_empty() => {
                let at = random.usize(..answer.len());
                answer[at] = random.u8(..);
            }
            2 => answer.truncate(random.usize(..=answer.len())),
            // The head and the first nodes decide most.
            _ if words > 0 => {
                let word = if random.bool() { random.usize(..words.min(20)) } else { random.usize(..words) };
                let at = CHOICE + 8 * word;
                let before = u64::from_le_bytes(answer[at..at + 8].try_into().expect("eight bytes"));
                let value = match random.u8(..4) {
                    0 => BOUNDS[random.usize(..BOUNDS.len())],
                    1 => before.wrapping_add(random.u64(..17)).wrapping_sub(8),
                    2 => BOUNDS[random.usize(..BOUNDS.len())].wrapping_add(8 * random.u64(..64)),
                    _ => random.u64(..),
                };
                answer[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            _ => {}
        }
    }
    answer
}
