//! The controller on simulated links and data: how much longer a stream takes than with the best fixed configuration.
//!
//! Time is simulated, so nothing here depends on the machine. A datum is what `bench/` measured each configuration to cost on
//! it; a link is a rate over time. `cargo test -p colonnade-wire --test controller -- --nocapture` prints the table.

#![allow(clippy::expect_used, reason = "a test may")]

use std::time::Duration;

use colonnade_wire::{ChunkCost, Codec, CodecSet, Config, Controller, Link, LinkSample};

/// Plain bytes of a chunk.
const CHUNK: f64 = 4e6;
/// Bytes that wait in a socket before it blocks (TCP_NOTSENT_LOWAT).
const LOW_WATER: f64 = 1e6;
/// The part of a chunk that is tried costs so many times more a byte, in time and in size.
const SMALLNESS: (f64, f64) = (1.2, 1.06);
const CONFIGS: [Config; 7] = [
    Config::PLAIN,
    Config::LIGHT,
    Config::LIGHT_FSST,
    Config::LIGHT_LZ4,
    Config::light_zstd(1),
    Config::light_zstd(3),
    Config::light_zstd(9),
];

/// Gigabytes a second and the share of the plain bytes that is left, for each of [`CONFIGS`].
type Data = [(f64, f64); 7];

const SALES: Data = [(17., 1.), (4.5, 0.333), (2.5, 0.194), (1.6, 0.21), (1.1, 0.179), (0.93, 0.174), (0.25, 0.169)];
const FLIGHTS: Data = [(17., 1.), (4.4, 0.284), (3.3, 0.253), (1.8, 0.221), (1.2, 0.193), (0.95, 0.183), (0.3, 0.18)];
const CENSUS: Data = [(12., 1.), (3.4, 0.186), (3.3, 0.186), (2.3, 0.174), (1.1, 0.136), (0.8, 0.131), (0.25, 0.128)];
const TEXT: Data = [(16., 1.), (6.3, 0.72), (0.79, 0.447), (0.67, 0.437), (0.45, 0.31), (0.35, 0.28), (0.09, 0.26)];
const NOISE: Data = [(17., 1.), (2.2, 0.9), (2.2, 0.9), (1.3, 0.9), (0.7, 0.87), (0.6, 0.87), (0.2, 0.865)];
const UUIDS: Data = [(15., 1.), (5.0, 0.95), (1.1, 0.6), (0.9, 0.76), (0.5, 0.56), (0.4, 0.55), (0.11, 0.55)];
const ALL: [(&str, Data); 6] =
    [("sales", SALES), ("flights", FLIGHTS), ("census", CENSUS), ("text", TEXT), ("noise", NOISE), ("uuids", UUIDS)];

/// A writer, a socket and a link. Time in nanoseconds.
struct World<'a> {
    data: &'a dyn Fn(f64) -> Data,
    /// How fast the machine is, beside the one that the data were measured on.
    machine: f64,
    /// Bytes a nanosecond.
    rate: &'a dyn Fn(f64) -> f64,
    now: f64,
    queue: f64,
    sent: f64,
    /// State of a generator of small deviations.
    seed: u32,
    /// Whether chunks are sent by somebody else while the next one is encoded.
    is_overlapped: bool,
    /// How much longer than its work encoding takes now and then, since others have the CPU.
    hiccup: f64,
    /// Nanoseconds of work.
    worked: f64,
}

impl<'a> World<'a> {
    fn new(data: &'a dyn Fn(f64) -> Data, machine: f64, rate: &'a dyn Fn(f64) -> f64) -> Self {
        Self {
            data,
            machine,
            rate,
            now: 0.0,
            queue: 0.0,
            sent: 0.0,
            seed: 1,
            is_overlapped: false,
            hiccup: 1.0,
            worked: 0.0,
        }
    }

    fn pass(&mut self, time: f64) {
        let end = self.now + time;
        while self.now < end {
            let step = (end - self.now).min(1e6);
            self.queue = (self.queue - (self.rate)(self.now) * step).max(0.0);
            self.now += step;
        }
    }

    fn drain_to(&mut self, bytes: f64) {
        while self.queue > bytes {
            let step = ((self.queue - bytes) / (self.rate)(self.now)).clamp(1.0, 1e6);
            self.pass(step);
        }
    }

    fn cost(&mut self, config: Config, part: f64, small: bool) -> ChunkCost {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let deviation = 1.0 + (f64::from(self.seed >> 16) / 65536.0 - 0.5) * 0.1;
        let index = CONFIGS.iter().position(|known| *known == config).expect("a rung of the ladder");
        let (speed, size) = (self.data)(self.now)[index];
        let (slower, larger) = if small { SMALLNESS } else { (1.0, 1.0) };
        let hiccup = if (self.seed >> 8).is_multiple_of(5) { self.hiccup } else { 1.0 };
        let time = CHUNK * part / (speed * self.machine) * deviation * slower;
        self.worked += time;
        ChunkCost {
            config,
            rows: 1,
            plain_bytes: (CHUNK * part) as usize,
            // Each halving of a chunk makes it about a hundredth larger.
            wire_bytes: (CHUNK * part * size * larger * (1.0 - 0.01 * part.min(1.0).log2().max(-4.0))) as usize,
            elapsed: Duration::from_nanos((time * hiccup) as u64),
            cpu: Duration::from_nanos(time as u64),
        }
    }

    fn sample(&self) -> LinkSample {
        LinkSample {
            at: Duration::from_nanos(self.now as u64),
            sent: self.sent as u64,
            delivered: (self.sent - self.queue).max(0.0) as u64,
            unsent: self.queue as u64,
            peer_limited: Duration::ZERO,
        }
    }

    /// Seconds until the peer has all of so many chunks.
    fn send(&mut self, controller: &mut Controller, chunks: usize) -> f64 {
        let mut left = chunks as f64;
        while left > 1e-9 {
            let config = controller.next_config();
            let share = controller.share().min(left);
            left -= share;
            if let Some(other) = controller.trial((CHUNK * share) as usize) {
                let costs = [config, other.config].map(|config| self.cost(config, share * other.part, true));
                self.pass(costs.iter().map(|cost| cost.elapsed.as_nanos() as f64).sum());
                controller.tried(&costs[0], &costs[1]);
            }
            let cost = self.cost(config, share, false);
            self.pass(cost.elapsed.as_nanos() as f64);
            controller.encoded(&cost);
            controller.link(&self.sample());
            // The writer waits until what is left of the chunk fits into the socket.
            let bytes = cost.wire_bytes as f64;
            let rest = bytes.min(LOW_WATER);
            if self.is_overlapped {
                self.drain_to(LOW_WATER);
                self.queue += bytes - rest;
            } else if bytes > rest {
                self.queue += bytes - rest;
                self.drain_to(0.0);
            } else {
                self.drain_to(LOW_WATER - rest);
            }
            self.queue += rest;
            self.sent += bytes;
            controller.link(&self.sample());
        }
        self.drain_to(0.0);
        self.now / 1e9
    }
}

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
            let regret = regret(&|_| data, 1.0, &|_| mbit(rate), 1);
            // There is nothing to learn from; at worst it is as fast as light.
            let light = World::new(&|_| data, 1.0, &|_| mbit(rate)).send(&mut Controller::fixed(Config::LIGHT), 1);
            let own =
                World::new(&|_| data, 1.0, &|_| mbit(rate)).send(&mut Controller::adaptive(CodecSet::ALL, 1.0), 1);
            assert!(own <= light * 1.1, "{name} at {rate} Mbit/s: {own} s, light {light} s, regret {regret}");
        }
    }
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
    let (config, cpu) = (controller.next_config(), Duration::from_micros(3));
    controller.encoded(&ChunkCost { config, rows: 1, plain_bytes: 8, wire_bytes: 100, elapsed: cpu, cpu });
    assert_eq!(controller.next_config(), Config::LIGHT);
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
            wire_bytes: 9,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
        };
        if let Some(other) = controller.trial(4_000_000) {
            controller.tried(&cost(config), &cost(other.config));
        }
        controller.encoded(&cost(config));
        controller.link(&sample(number));
        assert!((0.1..=1.0).contains(&controller.share()));
    }
    controller.next_config()
}

#[test]
fn nothing_to_go_by_is_no_reason_to_leave_light() {
    assert_eq!(after(0, |_| LinkSample::default()), Config::LIGHT);
    assert_eq!(after(100, |_| LinkSample::default()), Config::LIGHT);
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
    });
}

#[test]
fn empty_chunks_teach_nothing() {
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0);
    for _ in 0..10 {
        let config = controller.next_config();
        assert_eq!((config, controller.trial(0)), (Config::LIGHT, None));
        controller.encoded(&ChunkCost {
            config,
            rows: 0,
            plain_bytes: 0,
            wire_bytes: 48,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
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
    };
    assert_eq!(after(50, sample), Config::LIGHT);
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
            wire_bytes: 999_999,
            elapsed: Duration::from_millis(1),
            cpu: Duration::from_millis(1),
        };
        if let Some(other) = controller.trial(4_000_000) {
            controller.tried(&cost(config), &cost(other.config));
        }
        controller.encoded(&cost(config));
        let at = Duration::from_millis(100 * number);
        controller.link(&LinkSample {
            at,
            sent: 99_999 * number,
            delivered: 99_999 * number - 900,
            unsent: 800,
            peer_limited: Duration::ZERO,
        });
    }
}

#[test]
fn the_same_machine_gets_plain_chunks() {
    for link in [Link::SameMachine, Link::Loopback] {
        let mut controller = Controller::auto(link, CodecSet::ALL, 1.0);
        assert!(!controller.is_adaptive());
        assert_eq!((controller.next_config(), controller.trial(1 << 20)), (Config::PLAIN, None));
    }
}
