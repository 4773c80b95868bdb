//! A writer, a socket and a link whose time is simulated, and what each configuration costs on real data.

use std::collections::VecDeque;
use std::time::Duration;

use colonnade_wire::{ChunkCost, Config, Controller, LinkSample};

use crate::recorded::Recorded;

/// Plain bytes of a chunk.
pub(crate) const CHUNK: f64 = 4e6;
/// Bytes that wait in a socket before it blocks (TCP_NOTSENT_LOWAT).
const LOW_WATER: f64 = 1e6;
/// Bytes that a reader's socket takes before its window closes.
const WINDOW: f64 = 6e6;
/// How much more a byte costs, in time and in size, with each halving of a chunk.
const SMALLNESS: (f64, f64) = (0.04, 0.01);
/// Bytes that TCP sends before the first acknowledgement (RFC 6928).
pub(crate) const INITIAL_WINDOW: f64 = 14e3;
pub(crate) const CONFIGS: [Config; 7] = [
    Config::PLAIN,
    Config::LIGHT,
    Config::LIGHT_FSST,
    Config::LIGHT_LZ4,
    Config::light_zstd(1),
    Config::light_zstd(3),
    Config::light_zstd(9),
];

/// Gigabytes a second and the share of the plain bytes that is left, for each of [`CONFIGS`].
pub(crate) type Data = [(f64, f64); 7];

pub(crate) const SALES: Data =
    [(17., 1.), (4.5, 0.333), (2.5, 0.194), (1.6, 0.21), (1.1, 0.179), (0.93, 0.174), (0.25, 0.169)];
const FLIGHTS: Data = [(17., 1.), (4.4, 0.284), (3.3, 0.253), (1.8, 0.221), (1.2, 0.193), (0.95, 0.183), (0.3, 0.18)];
const CENSUS: Data = [(12., 1.), (3.4, 0.186), (3.3, 0.186), (2.3, 0.174), (1.1, 0.136), (0.8, 0.131), (0.25, 0.128)];
pub(crate) const TEXT: Data =
    [(16., 1.), (6.3, 0.72), (0.79, 0.447), (0.67, 0.437), (0.45, 0.31), (0.35, 0.28), (0.09, 0.26)];
const NOISE: Data = [(17., 1.), (2.2, 0.9), (2.2, 0.9), (1.3, 0.9), (0.7, 0.87), (0.6, 0.87), (0.2, 0.865)];
const UUIDS: Data = [(15., 1.), (5.0, 0.95), (1.1, 0.6), (0.9, 0.76), (0.5, 0.56), (0.4, 0.55), (0.11, 0.55)];
pub(crate) const ALL: [(&str, Data); 6] =
    [("sales", SALES), ("flights", FLIGHTS), ("census", CENSUS), ("text", TEXT), ("noise", NOISE), ("uuids", UUIDS)];

/// A writer, a socket and a link. Time in nanoseconds.
pub(crate) struct World<'a> {
    pub(crate) data: &'a dyn Fn(f64) -> Data,
    /// How fast the machine is, compared with the one that the data were measured on.
    pub(crate) machine: f64,
    /// Bytes a nanosecond.
    pub(crate) rate: &'a dyn Fn(f64) -> f64,
    pub(crate) now: f64,
    pub(crate) queue: f64,
    pub(crate) sent: f64,
    /// State of a generator of small deviations.
    pub(crate) seed: u32,
    /// Whether chunks are sent by somebody else while the next one is encoded.
    pub(crate) is_overlapped: bool,
    /// The table whose chunks these are, instead of `data`.
    pub(crate) recorded: Option<&'a Recorded>,
    /// Full chunks that were encoded, and how many of them in each of [`CONFIGS`].
    pub(crate) position: f64,
    pub(crate) encoded: [f64; CONFIGS.len()],
    /// By which part the size and the work of a chunk differ from the average, at most, because its rows differ.
    pub(crate) variety: f64,
    /// How much longer than its work encoding takes now and then, since others have the CPU.
    pub(crate) hiccup: f64,
    /// Nanoseconds that it takes to make the rows of a plain byte, and how many full chunks are made at once.
    pub(crate) source: (f64, f64),
    /// Nanoseconds that the reader works on a plain byte, for each of [`CONFIGS`]; only where chunks are sent by
    /// somebody else.
    pub(crate) reader: Option<[f64; 7]>,
    /// What it has not read yet: bytes, and the nanoseconds that each takes.
    pub(crate) unread: VecDeque<(f64, f64)>,
    pub(crate) read: f64,
    /// Nanoseconds in which the reader's window was closed.
    pub(crate) closed: f64,
    /// Nanoseconds that the first chunk with tables of symbols takes in addition to its own, and whether there was one.
    pub(crate) learning: f64,
    pub(crate) has_learnt: bool,
    /// Nanoseconds of work.
    pub(crate) worked: f64,
    /// Nanoseconds of a round trip. Not 0: the connection begins with TCP's slow start.
    pub(crate) rtt: f64,
    /// Bytes that may be under way without acknowledgement.
    pub(crate) window: f64,
    /// Nanoseconds until the thread that sends runs, at most; and of CPU time that it takes for a byte, of the one CPU
    /// that it shares with encoding.
    pub(crate) sender: (f64, f64),
    /// What the thread that sends has not written yet, and when it runs.
    pub(crate) handed: f64,
    pub(crate) runs_at: f64,
    /// Nanoseconds of CPU time that it has taken.
    pub(crate) sending: f64,
}

impl<'a> World<'a> {
    pub(crate) fn new(data: &'a dyn Fn(f64) -> Data, machine: f64, rate: &'a dyn Fn(f64) -> f64) -> Self {
        Self {
            data,
            machine,
            rate,
            now: 0.0,
            queue: 0.0,
            sent: 0.0,
            seed: 1,
            is_overlapped: false,
            recorded: None,
            position: 0.0,
            encoded: [0.0; CONFIGS.len()],
            variety: 0.0,
            hiccup: 1.0,
            source: (0.0, 1.0),
            reader: None,
            unread: VecDeque::new(),
            read: 0.0,
            closed: 0.0,
            learning: 0.0,
            has_learnt: false,
            worked: 0.0,
            rtt: 0.0,
            window: INITIAL_WINDOW,
            sender: (0.0, 0.0),
            handed: 0.0,
            runs_at: 0.0,
            sending: 0.0,
        }
    }

    /// Bytes a nanosecond that the link takes now.
    fn rate_now(&self) -> f64 {
        let rate = (self.rate)(self.now);
        if self.rtt > 0.0 { rate.min(self.window / self.rtt) } else { rate }
    }

    /// The thread that sends writes for so long; returns how long it had the CPU.
    fn write_for(&mut self, step: f64, share: f64) -> f64 {
        if self.handed <= 0.0 || self.now < self.runs_at {
            return 0.0;
        }
        let room = (LOW_WATER - self.queue).max(0.0).min(self.handed);
        let now = if self.sender.1 > 0.0 { room.min(step * share / self.sender.1) } else { room };
        self.handed -= now;
        if self.handed < 1e-3 {
            self.handed = 0.0;
        }
        self.queue += now;
        self.sending += now * self.sender.1;
        now * self.sender.1
    }

    /// Encoding that takes so much CPU time, which the thread that sends may share.
    fn work(&mut self, time: f64) {
        if self.sender == (0.0, 0.0) {
            return self.pass(time);
        }
        let mut left = time;
        while left > 1.0 {
            let step = left.min(if self.handed > 0.0 { 2e4 } else { 1e6 });
            let taken = self.write_for(step, 0.5);
            self.flow(step);
            left -= step - taken;
        }
    }

    /// Waits until the thread that sends has written all that it was given.
    fn wait_for_sender(&mut self) {
        while self.handed > 0.0 {
            self.write_for(2e4, 1.0);
            self.flow(2e4);
        }
    }

    pub(crate) fn pass(&mut self, time: f64) {
        let end = self.now + time;
        while self.now < end {
            let is_starting = self.rtt > 0.0 && self.window / self.rtt < (self.rate)(self.now);
            let longest = if self.handed > 0.0 || is_starting { 2e4 } else { 1e6 };
            let step = (end - self.now).min(longest);
            self.write_for(step, 1.0);
            self.flow(step);
        }
    }

    /// What is in the socket flows to the reader.
    fn flow(&mut self, step: f64) {
        let mut arrived = (self.rate_now() * step).min(self.queue);
        if self.reader.is_some() {
            let room = (WINDOW - (self.sent - self.queue - self.read)).max(0.0);
            if arrived > room {
                (arrived, self.closed) = (room, self.closed + step);
            }
        }
        self.queue -= arrived;
        self.window += arrived;
        self.read_for(step);
        self.now += step;
    }

    /// The reader works for so long, if there is something to read.
    fn read_for(&mut self, mut time: f64) {
        let mut there = self.sent - self.queue - self.read;
        while let Some((bytes, each)) = self.unread.front_mut()
            && time > 0.0
            && there > 1e-6
        {
            let now = bytes.min(there).min(time / *each);
            (*bytes, there, self.read, time) = (*bytes - now, there - now, self.read + now, time - now * *each);
            if *bytes < 1e-3 {
                self.unread.pop_front();
            } else if now < 1e-6 {
                break;
            }
        }
    }

    pub(crate) fn drain_to(&mut self, bytes: f64) {
        while self.queue > bytes {
            let step = ((self.queue - bytes) / self.rate_now()).clamp(1e3, 1e6);
            self.pass(step);
        }
    }

    /// Of a chunk that has such a share of a full one.
    pub(crate) fn cost(&mut self, config: Config, part: f64) -> ChunkCost {
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let deviation = 1.0 + (f64::from(self.seed >> 16) / 65536.0 - 0.5) * 0.1;
        let index = CONFIGS.iter().position(|known| *known == config).expect("a rung of the ladder");
        let data = self.recorded.map_or_else(|| (self.data)(self.now), |table| table.at(self.position, part));
        self.position += part;
        self.encoded[index] += part;
        let (speed, size) = data[index];
        let variety = 1.0 + (f64::from(self.seed.wrapping_mul(2_654_435_761) >> 16) / 32768.0 - 1.0) * self.variety;
        // Each halving of a chunk makes it some hundredths more work and larger; what was recorded contains that.
        let halvings = if self.recorded.is_some() { 0.0 } else { -part.log2().clamp(-4.0, 0.0) };
        let (slower, larger) = (1.0 + SMALLNESS.0 * halvings, 1.0 + SMALLNESS.1 * halvings);
        let hiccup = if (self.seed >> 8).is_multiple_of(5) { self.hiccup } else { 1.0 };
        let time_at = |speed: f64| CHUNK * part / (speed * self.machine) * deviation * slower * variety;
        let (time, light) = (time_at(speed), data[1]);
        self.worked += time;
        let wire = (CHUNK * part * size * larger * variety).min(CHUNK * part);
        let (body, compressing) = match config {
            Config::PLAIN | Config::LIGHT => (wire, 0.0),
            _ => ((CHUNK * part * light.1 * larger * variety).min(CHUNK * part), (time - time_at(light.0)).max(0.0)),
        };
        ChunkCost {
            config,
            rows: 1,
            plain_bytes: (CHUNK * part) as usize,
            light_bytes: body as usize,
            wire_bytes: wire as usize,
            elapsed: Duration::from_nanos((time * hiccup) as u64),
            cpu: Duration::from_nanos(time as u64),
            compressing: Duration::from_nanos(compressing as u64),
        }
    }

    pub(crate) fn sample(&self) -> LinkSample {
        LinkSample {
            at: Duration::from_nanos(self.now as u64),
            sent: self.sent as u64,
            delivered: (self.sent - self.queue - self.handed).max(0.0) as u64,
            unsent: self.queue as u64,
            is_slow_start: self.rtt > 0.0 && self.window / self.rtt < (self.rate)(self.now),
            is_held: self.handed > 0.0,
            sending: Duration::from_nanos(self.sending as u64),
            peer_limited: Duration::from_nanos(self.closed as u64),
        }
    }

    /// Seconds until the peer has all of so many chunks.
    pub(crate) fn send(&mut self, controller: &mut Controller, chunks: usize) -> f64 {
        self.send_part(controller, chunks as f64)
    }

    /// The same, of chunks that need not be whole.
    pub(crate) fn send_part(&mut self, controller: &mut Controller, chunks: f64) -> f64 {
        let (mut left, mut made) = (chunks, 0.0);
        while left > 1e-9 {
            let share = controller.share().min(left);
            let before = self.now;
            while made < share - 1e-9 {
                self.pass(self.source.0 * self.source.1 * CHUNK);
                made += self.source.1;
            }
            made -= share;
            // Nobody knows when the first rows were asked for.
            if self.sent > 0.0 {
                controller.produced(Duration::from_nanos((self.now - before) as u64));
            }
            left -= share;
            let config = controller.next_config();
            let mut cost = self.cost(config, share);
            if config == Config::LIGHT_FSST && !std::mem::replace(&mut self.has_learnt, true) {
                cost.cpu += Duration::from_nanos(self.learning as u64);
                cost.elapsed += Duration::from_nanos(self.learning as u64);
            }
            let started = self.now;
            self.work(cost.elapsed.as_nanos() as f64);
            cost.elapsed = Duration::from_nanos((self.now - started) as u64);
            controller.encoded(&cost);
            controller.link(&self.sample());
            // The writer waits until what is left of the chunk fits into the socket.
            let bytes = cost.wire_bytes as f64;
            let rest = bytes.min(LOW_WATER);
            if self.is_overlapped && self.sender != (0.0, 0.0) {
                self.wait_for_sender();
                self.handed = bytes;
                self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                self.runs_at = self.now + f64::from(self.seed >> 16) / 65536.0 * self.sender.0;
            } else if self.is_overlapped {
                self.drain_to(LOW_WATER);
                self.queue += bytes - rest;
            } else if bytes > rest {
                self.queue += bytes - rest;
                self.drain_to(0.0);
            } else {
                self.drain_to(LOW_WATER - rest);
            }
            if self.sender == (0.0, 0.0) || !self.is_overlapped {
                self.queue += rest;
            }
            self.sent += bytes;
            if let Some(reader) = self.reader {
                let index = CONFIGS.iter().position(|known| *known == config).expect("a rung of the ladder");
                self.unread.push_back((bytes, reader[index] * cost.plain_bytes as f64 / bytes));
            }
            controller.link(&self.sample());
        }
        self.wait_for_sender();
        self.drain_to(0.0);
        while self.reader.is_some() && self.sent - self.read > 1.0 {
            self.pass(1e5);
        }
        self.now / 1e9
    }
}
