//! The controller on simulated links and data: how much longer a stream takes than with the best fixed configuration.
//!
//! Time is simulated, so nothing here depends on the machine. A datum is what `bench/` measured each configuration to
//! cost on it; a link is a rate over time. `cargo test -p colonnade-wire --test controller -- --nocapture` prints the
//! table.

#![allow(clippy::expect_used, reason = "a test may")]

mod recorded;
mod short;
mod simulated;
mod worlds;

use std::time::Duration;

use colonnade_wire::{ChunkCost, Codec, CodecSet, Config, Controller, Link, LinkSample};
use simulated::{ALL, CONFIGS, World};

/// What a stream begins with where nothing is known of the link.
const FIRST: Config = Config::light_zstd(1);

fn mbit(rate: f64) -> f64 {
    rate * 1e6 / 8.0 / 1e9
}

const RATES: [f64; 9] = [10., 30., 100., 300., 1000., 2500., 5000., 10_000., 25_000.];

#[test]
fn a_moment_without_the_cpu_misleads_nobody() {
    for (name, data) in ALL {
        for rate in [30., 100., 300., 1000.] {
            let (data, rate) = (|_| data, |_| mbit(rate));
            let chosen = [1.0, 20.0].map(|hiccup| {
                let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
                let mut world = World { hiccup, ..World::new(&data, 1.0, &rate) };
                world.send(&mut controller, 32);
                world.encoded = [0.0; CONFIGS.len()];
                world.send(&mut controller, 32);
                // Most of the second half: the last chunk may be an exploration.
                (0..CONFIGS.len())
                    .max_by(|a, b| world.encoded[*a].total_cmp(&world.encoded[*b]))
                    .expect("a configuration")
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
            // There is nothing to learn from: at worst it is as slow as the slower one of light and what a stream
            // begins with.
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
fn the_same_machine_gets_chunks_as_they_are_given() {
    for link in [Link::SameMachine, Link::Loopback] {
        let mut controller = Controller::auto(link, CodecSet::ALL, 1.0);
        assert!(!controller.is_adaptive());
        assert_eq!(controller.next_config(), Config::AS_GIVEN);
    }
}
