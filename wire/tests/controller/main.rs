//! The controller on simulated links and data: how much longer a stream takes than with the best fixed configuration.
//!
//! Time is simulated, so nothing here depends on the machine. A datum is what `bench/` measured each configuration to cost on
//! it; a link is a rate over time. `cargo test -p colonnade-wire --test controller -- --nocapture` prints the table.

#![allow(clippy::expect_used, reason = "a test may")]

mod recorded;
mod short;
mod simulated;

use std::time::Duration;

use colonnade_wire::{ChunkCost, Codec, CodecSet, Config, Controller, Link, LinkSample};
use simulated::{ALL, CONFIGS, Data, SALES, TEXT, World};

/// What a stream begins with where nothing is known of the link.
const FIRST: Config = Config::light_zstd(1);

fn mbit(rate: f64) -> f64 {
    rate * 1e6 / 8.0 / 1e9
}

/// The same, where somebody else sends.
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

const RATES: [f64; 9] = [10., 30., 100., 300., 1000., 2500., 5000., 10_000., 25_000.];

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
    // An engine that makes rows in a third of the time of light encoding, or in several times that; some make the rows of
    // many chunks at once.
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
    // One whose work is decoding, fast, slow or very slow; and one that does something else with each row. Its sake is no reason to
    // send more bytes than light encodings make, so plain ones are no measure.
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

#[test]
fn a_moment_without_the_cpu_misleads_nobody() {
    for (name, data) in ALL {
        for rate in [30., 100., 300., 1000.] {
            let (data, rate) = (|_| data, |_| mbit(rate));
            let chosen = [1.0, 20.0].map(|hiccup| {
                let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
                let mut world = World { hiccup, ..World::new(&data, 1.0, &rate) };
                world.send(&mut controller, 64);
                let chosen = controller.next_config();
                CONFIGS.iter().position(|config| *config == chosen).expect("a rung of the ladder")
            });
            // Encoding that is held up is slower, and less of it pays; it is never a reason to do much more.
            let [calm, held_up] = chosen.map(|index| data(0.0)[index].0);
            assert!(held_up > calm * 0.7, "{name} at {} Mbit/s: {chosen:?}", rate(0.0) * 8e3);
        }
    }
}

#[test]
fn work_stays_within_its_share() {
    for (name, data) in ALL {
        for rate in [10., 100., 1000.] {
            let (data, rate) = (|_| data, |_| mbit(rate));
            for share in [0.0, 0.2, 0.5] {
                let mut world = World::new(&data, 0.4, &rate);
                world.send(&mut Controller::adaptive(CodecSet::ALL, share), 64);
                let mut light = World::new(&data, 0.4, &rate);
                light.send(&mut Controller::fixed(Config::LIGHT), 64);
                let allowed = (share * world.now).max(light.worked);
                // What trials take comes on top.
                assert!(world.worked < allowed * 1.1, "{name}, share {share}: {} of {allowed}", world.worked);
            }
        }
    }
}

#[test]
fn a_link_that_stands_still_for_a_minute_is_waited_for_and_no_more() {
    let stands = |now: f64| if (1e9..61e9).contains(&now) { 1e-12 } else { mbit(1000.) };
    for (name, data) in ALL {
        let data = |_| data;
        let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
        let with = World::new(&data, 1.0, &stands).send(&mut controller, 400);
        let without = World::new(&data, 1.0, &|_| mbit(1000.)).send(&mut Controller::adaptive(CodecSet::ALL, 1.0), 400);
        assert!(with < without + 60.0 + 3.0, "{name}: {with:.1} s instead of {without:.1} s and a minute");
    }
}

#[test]
fn streams_of_one_chunk_or_of_one_row() {
    for (name, data) in ALL {
        for rate in RATES {
            // There is nothing to learn from: at worst it is as slow as the slower one of light and what a stream begins with.
            let fixed = |config| World::new(&|_| data, 1.0, &|_| mbit(rate)).send(&mut Controller::fixed(config), 1);
            let own =
                World::new(&|_| data, 1.0, &|_| mbit(rate)).send(&mut Controller::adaptive(CodecSet::ALL, 1.0), 1);
            let slower = fixed(Config::LIGHT).max(fixed(FIRST));
            assert!(own <= slower * 1.15, "{name} at {rate} Mbit/s: {own} s, fixed {slower} s");
        }
    }
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
    let (config, cpu) = (controller.next_config(), Duration::from_micros(3));
    controller.encoded(&ChunkCost {
        config,
        rows: 1,
        plain_bytes: 8,
        light_bytes: 52,
        wire_bytes: 100,
        elapsed: cpu,
        cpu,
        compressing: cpu,
    });
    assert_eq!(controller.next_config(), FIRST);
}

/// What a controller says after so many chunks that take no time and leave no trace.
fn after(chunks: usize, mut sample: impl FnMut(u64) -> LinkSample) -> Config {
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
    for number in 1..=chunks as u64 {
        let config = controller.next_config();
        let cost = |config| ChunkCost {
            config,
            rows: 1,
            plain_bytes: 4_000_000,
            light_bytes: 9,
            wire_bytes: 9,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            compressing: Duration::ZERO,
        };
        controller.encoded(&cost(config));
        controller.link(&sample(number));
        assert!((0.05..=1.0).contains(&controller.share()));
    }
    controller.next_config()
}

#[test]
fn nothing_to_go_by_is_no_reason_to_leave_the_first_configuration() {
    assert_eq!(after(0, |_| LinkSample::default()), FIRST);
    assert_eq!(after(100, |_| LinkSample::default()), FIRST);
}

#[test]
fn clocks_and_counters_that_jump_are_survived() {
    let mut seed = 7u64;
    let mut any = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> (seed >> 59)
    };
    after(2000, move |_| LinkSample {
        at: Duration::from_nanos(any()),
        sent: any(),
        delivered: any(),
        unsent: any(),
        peer_limited: Duration::from_nanos(any()),
        is_slow_start: any() % 2 == 0,
        is_held: any() % 2 == 0,
        sending: Duration::from_nanos(any()),
    });
}

#[test]
fn empty_chunks_teach_nothing() {
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
    for _ in 0..10 {
        let config = controller.next_config();
        assert_eq!(config, FIRST);
        controller.encoded(&ChunkCost {
            config,
            rows: 0,
            plain_bytes: 0,
            light_bytes: 0,
            wire_bytes: 48,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            compressing: Duration::ZERO,
        });
    }
}

#[test]
fn a_slow_peer_is_not_taken_for_a_slow_link() {
    // The peer's window was the limit all the time: nothing is known of the link, whatever was sent.
    let sample = |number| LinkSample {
        at: Duration::from_millis(100 * number),
        sent: 100_000 * number,
        delivered: 100_000 * number - 90_000,
        unsent: 80_000,
        peer_limited: Duration::from_millis(100 * number),
        ..LinkSample::default()
    };
    assert_eq!(after(50, sample), FIRST);
}

#[test]
fn a_reader_gets_only_codecs_that_it_takes() {
    let mut controller = Controller::adaptive("none".parse().expect("a set"), 1.0);
    for number in 1..200u64 {
        let config = controller.next_config();
        assert_eq!(config.codec, Codec::None);
        let cost = |config| ChunkCost {
            config,
            rows: 1,
            plain_bytes: 4_000_000,
            light_bytes: 999_951,
            wire_bytes: 999_999,
            elapsed: Duration::from_millis(1),
            cpu: Duration::from_millis(1),
            compressing: Duration::ZERO,
        };
        controller.encoded(&cost(config));
        let at = Duration::from_millis(100 * number);
        controller.link(&LinkSample {
            at,
            sent: 99_999 * number,
            delivered: 99_999 * number - 900,
            unsent: 800,
            ..LinkSample::default()
        });
    }
}

#[test]
fn the_same_machine_gets_plain_chunks() {
    for link in [Link::SameMachine, Link::Loopback] {
        let mut controller = Controller::auto(link, CodecSet::ALL, 1.0);
        assert!(!controller.is_adaptive());
        assert_eq!(controller.next_config(), Config::PLAIN);
    }
}
