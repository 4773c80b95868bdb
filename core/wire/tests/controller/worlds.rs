//! Long results: how much longer a stream takes than with the best fixed configuration, in one world after the other.

use colonnade_wire::{CodecSet, Config, Controller};

use crate::simulated::{ALL, CONFIGS, Data, SALES, TEXT, World};
use crate::{RATES, mbit};

/// Time over that of the best fixed configuration, less one, where another thread sends.
fn overlapped_regret(data: Data, machine: f64, rate: f64, chunks: usize) -> f64 {
    let (data, rate) = (|_| data, |_| mbit(rate));
    let world = || World { is_overlapped: true, ..World::new(&data, machine, &rate) };
    let best = CONFIGS.map(|config| world().send(&mut Controller::fixed(config), chunks));
    let best = best.into_iter().fold(f64::INFINITY, f64::min);
    world().send(&mut Controller::adaptive(CodecSet::ALL, 1.0).overlapped(), chunks) / best - 1.0
}

/// Time over that of the best fixed configuration, less one.
fn regret(data: &dyn Fn(f64) -> Data, machine: f64, rate: &dyn Fn(f64) -> f64, chunks: usize) -> f64 {
    let world = || World::new(data, machine, rate);
    let best = CONFIGS.map(|config| world().send(&mut Controller::fixed(config), chunks));
    let best = best.into_iter().fold(f64::INFINITY, f64::min);
    world().send(&mut Controller::adaptive(CodecSet::ALL, 1.0), chunks) / best - 1.0
}

#[test]
fn steady_links() {
    for machine in [0.4, 1.0] {
        println!("machine {machine}\n{:>10}{}", "Mbit/s", RATES.map(|rate| format!("{rate:>8}")).join(""));
        let mut all = Vec::new();
        for (name, data) in ALL {
            let regrets = RATES.map(|rate| regret(&|_| data, machine, &|_| mbit(rate), 64));
            println!("{name:>10}{}", regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join(""));
            for (rate, regret) in RATES.into_iter().zip(regrets) {
                let most = if rate > 10_000.0 { 0.08 } else { 0.06 };
                assert!(regret <= most, "{name} at {rate} Mbit/s: {:.1} %", regret * 100.0);
            }
            all.extend(regrets);
        }
        all.sort_by(f64::total_cmp);
        let median = all[all.len() / 2];
        println!("median {:.1} %", median * 100.0);
        assert!(median <= 0.02);
    }
}

#[test]
fn steady_links_with_a_sender_of_its_own() {
    println!("{:>10}{}", "Mbit/s", RATES.map(|rate| format!("{rate:>8}")).join(""));
    for (name, data) in ALL {
        let regrets = RATES.map(|rate| overlapped_regret(data, 0.4, rate, 64));
        println!("{name:>10}{}", regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join(""));
        for (rate, regret) in RATES.into_iter().zip(regrets) {
            assert!(regret <= 0.08, "{name} at {rate} Mbit/s: {:.1} %", regret * 100.0);
        }
    }
}

/// The same in a world that is made anew for each configuration, against some of them.
fn regret_in<'a>(world: impl Fn() -> World<'a>, configs: &[Config]) -> f64 {
    let best = configs.iter().map(|config| world().send(&mut Controller::fixed(*config), 128));
    let best = best.fold(f64::INFINITY, f64::min);
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
    if world().is_overlapped {
        controller = controller.overlapped();
    }
    world().send(&mut controller, 128) / best - 1.0
}

#[test]
fn rows_that_take_time_to_be_made() {
    // An engine that makes rows in a third of the time of light encoding, or in several times that; some make the rows
    // of many chunks at once.
    for (is_overlapped, most) in [(true, 0.07), (false, 0.12)] {
        let mut all = Vec::new();
        for source in [(0.3, 1.0), (1.0, 1.0), (1.0, 5.0), (4.0, 1.0)] {
            println!("{source:?}, a sender of its own: {is_overlapped}");
            println!("{:>10}{}", "Mbit/s", RATES.map(|rate| format!("{rate:>8}")).join(""));
            for (name, data) in ALL {
                let regrets = RATES.map(|rate| {
                    let (data, rate) = (|_| data, |_| mbit(rate));
                    regret_in(|| World { is_overlapped, source, ..World::new(&data, 0.4, &rate) }, &CONFIGS)
                });
                println!("{name:>10}{}", regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join(""));
                for (rate, regret) in RATES.into_iter().zip(regrets) {
                    assert!(regret <= most, "{name} at {rate} Mbit/s: {:.1} %", regret * 100.0);
                }
                all.extend(regrets);
            }
        }
        all.sort_by(f64::total_cmp);
        println!("median {:.1} %", all[all.len() / 2] * 100.0);
        assert!(all[all.len() / 2] <= 0.02);
    }
}

#[test]
fn what_a_configuration_learns_once_is_not_held_against_it() {
    // Ten times as long as its chunks take: tables of symbols for all columns.
    for rate in [1000.0, 2500.0] {
        let (data, rate) = (|_| SALES, |_| mbit(rate));
        let regret =
            regret_in(|| World { is_overlapped: true, learning: 20e6, ..World::new(&data, 0.4, &rate) }, &CONFIGS);
        assert!(regret <= 0.07, "{:.1} %", regret * 100.0);
    }
}

#[test]
fn readers_that_are_slower_than_all_else() {
    // One whose work is decoding, fast, slow or very slow; and one that does something else with each row. Its sake is
    // no reason to send more bytes than light encodings make, so plain ones are no measure.
    let decoding = |slowness: f64| [0.1, 0.22, 0.33, 0.4, 0.7, 0.6, 0.6].map(|time| time * slowness);
    for (what, reader, most) in [
        ("1", decoding(1.0), 0.08),
        ("5", decoding(5.0), 0.4),
        // It shows late that compression is too much for it: what it has in its buffers lasts for many chunks.
        ("30", decoding(30.0), 0.6),
        ("any", [20.0; 7], 0.08),
    ] {
        println!("reader {what}\n{:>10}{}", "Mbit/s", RATES.map(|rate| format!("{rate:>8}")).join(""));
        for (name, data) in ALL {
            let regrets = RATES.map(|rate| {
                let (data, rate) = (|_| data, |_| mbit(rate));
                let reader = Some(reader);
                regret_in(|| World { is_overlapped: true, reader, ..World::new(&data, 0.4, &rate) }, &CONFIGS[1..])
            });
            println!("{name:>10}{}", regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join(""));
            for (rate, regret) in RATES.into_iter().zip(regrets) {
                assert!(regret <= most, "{name} at {rate} Mbit/s, reader {what}: {:.1} %", regret * 100.0);
            }
        }
    }
}

#[test]
fn senders_that_run_late_and_share_the_cpu() {
    for sender in [(1e6, 0.0), (0.0, 2.0), (1e6, 2.0)] {
        let rates = [300., 1000., 2500., 10_000.];
        println!("sender {sender:?}\n{:>10}{}", "Mbit/s", rates.map(|rate| format!("{rate:>8}")).join(""));
        for (name, data) in ALL {
            let regrets = rates.map(|rate| {
                let (data, rate) = (|_| data, |_| mbit(rate));
                regret_in(|| World { is_overlapped: true, sender, ..World::new(&data, 0.7, &rate) }, &CONFIGS)
            });
            println!("{name:>10}{}", regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join(""));
            for (rate, regret) in rates.into_iter().zip(regrets) {
                // Above a gigabit a delay is as long as a chunk.
                let most = if rate > 1000.0 { 0.4 } else { 0.06 };
                assert!(regret <= most, "{name} at {rate} Mbit/s, sender {sender:?}: {:.1} %", regret * 100.0);
            }
        }
    }
}

#[test]
fn chunks_that_differ() {
    let rates = [100., 300., 1000., 2500.];
    for variety in [0.15, 0.3] {
        println!("variety {variety}\n{:>10}{}", "Mbit/s", rates.map(|rate| format!("{rate:>8}")).join(""));
        for (name, data) in ALL {
            let regrets = rates.map(|rate| {
                let (data, rate) = (|_| data, |_| mbit(rate));
                let world = || World { is_overlapped: true, variety, ..World::new(&data, 0.7, &rate) };
                regret_in(world, &CONFIGS)
            });
            println!("{name:>10}{}", regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join(""));
            for (rate, regret) in rates.into_iter().zip(regrets) {
                assert!(regret <= 0.12, "{name} at {rate} Mbit/s, variety {variety}: {:.1} %", regret * 100.0);
            }
        }
    }
}

#[test]
fn links_that_swing() {
    // Every two seconds the other of two rates; or another of many each half second.
    let swings = |now: f64| mbit(if ((now / 2e9) as u64).is_multiple_of(2) { 1000. } else { 10. });
    let wanders = |now: f64| mbit(20.0 + ((now / 5e8) as u64 * 7919 % 281) as f64);
    for (name, data) in ALL {
        for (link, rate) in [("swings", &swings as &dyn Fn(f64) -> f64), ("wanders", &wanders)] {
            let regret = regret(&|_| data, 0.4, rate, 400);
            println!("{name} {link}: {:.1} %", regret * 100.0);
            assert!(regret <= 0.04, "{name} {link}: {:.1} %", regret * 100.0);
        }
    }
}

#[test]
fn data_that_change() {
    // From a table of sales to free text and back, while the link stays.
    let data = |now: f64| if ((now / 1e9) as u64).is_multiple_of(2) { SALES } else { TEXT };
    for rate in [30., 100., 300., 1000.] {
        let regret = regret(&data, 0.4, &|_| mbit(rate), 200);
        println!("{rate} Mbit/s: {:.1} %", regret * 100.0);
        assert!(regret <= 0.1, "{rate} Mbit/s: {:.1} %", regret * 100.0);
    }
}
