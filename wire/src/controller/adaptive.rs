//! The search for the configuration with the most rows a second.

use std::time::Duration;

use super::ladder::{LADDER, Rung, Source};
use super::link::Rate;
use super::production::Production;
use super::reader::Reader;
use super::{ChunkCost, LinkSample, Trial, UNSENT};
use crate::{Codec, CodecSet, Config};

/// What another rung must promise to be better by, or the choice would flutter.
const HYSTERESIS: f64 = 0.985;
/// How much better than thought an unknown rung may turn out: it is worth a trial if it would win then.
const HOPE: (f64, f64) = (0.5, 0.65);
/// The same for one that was tried before.
const LITTLE_HOPE: (f64, f64) = (0.8, 0.9);
/// By what factor a trial must differ in time or size from what whole chunks have told.
const NEWS: (f64, f64) = (1.3, 1.1);
/// Weight of the newest chunk, and plain bytes of one that has all of it: the clock of a small one tells of chance.
const NEWEST: f64 = 0.3;
const WEIGHTY: f64 = 1e6;
/// Weight of the newest chunk in what is thought of the machine, and how many times longer than its work encoding may
/// be thought to take.
const SLOWNESS: (f64, f64) = (0.1, 20.0);
/// What CPU time costs besides the time that it takes: of two rungs that are as fast, the one with less work is better.
const PRICE: f64 = 0.02;
/// What a plain byte's share of bytes on the wire costs beside the time that they take: they are encrypted and received, and the
/// network is not only ours. On a link that has fallen of late, and may do so again, it is more.
const TOLL: (f64, f64) = (0.1, 0.5);
/// Nanoseconds of work that sending takes for a byte on the wire, in the kernel and for TLS.
const SENDING: f64 = 2.0;
/// From this share on, encoding and sending are taken to run beside each other as far as they can.
const NEARLY: f64 = 0.95;
/// Trials may take this share of all time, and this part of a chunk's time ahead of it.
const TRIALS: (f64, f64) = (0.01, 0.75);
/// A rung may be tried if it is at most so many times the work of one that is known: the slowest is never a guess.
const STRIDE: f64 = 5.0;
/// Chunks between two trials of a rung, at first and at most; they double.
const PATIENCE: (u32, u32) = (8, 512);
/// A link that has become so many times faster or slower makes old trials worth repeating.
const CHANGE: f64 = 1.6;
/// A link that has fallen by this is one that may fall for so long.
const FALL: f64 = 4.0;
const UNSTEADY: Duration = Duration::from_secs(10);
/// Bytes on the wire of a chunk that a link may fall upon.
const STRANDED: f64 = 128e3;
/// Nanoseconds that the encoding of a chunk may take.
const LONGEST: f64 = 40e6;
/// The first chunk is smaller by as many powers of two, the second by one less, and so on.
const BEGIN: u32 = 3;
/// Plain bytes below which a chunk is not made smaller at first: it would be gone before the link says anything. And later: it
/// would be all beginnings.
const SMALLEST: (f64, f64) = (64e3, 256e3);
/// The part of a full chunk that is tried at least, and the part of what may be spent on trials that one of them takes: on
/// a slow link there is time to try a whole chunk. Less would be all beginnings, which tells little of the whole.
const PART: (f64, f64) = (1.0 / 16.0, 1.0 / 8.0);

#[derive(Debug)]
pub(super) struct Adaptive {
    rungs: Vec<Rung>,
    current: usize,
    rate: Rate,
    /// The rate at which the rungs were judged the last time.
    judged: f64,
    /// Bytes of a chunk that leave while the next one is encoded, if encoding takes long enough: all, or what a socket's
    /// buffer holds.
    beside: f64,
    /// The last chunk, until it has been sent.
    pending: Option<Pending>,
    /// How many times longer than the CPU works encoding takes: others want the CPU, too. It is the same for all rungs, so a
    /// moment without the CPU makes none of them look better than another.
    slowness: f64,
    last: LinkSample,
    production: Production,
    reader: Reader,
    /// Nanoseconds in which the rows of the next chunk were made.
    produced: Option<f64>,
    /// Nanoseconds spent on trials.
    trials: f64,
    /// Plain bytes of the last chunk, and of the largest.
    plain: f64,
    full: f64,
    /// Until when the link is taken to be one that may fall again at any moment.
    unsteady: Duration,
    /// The next chunk is smaller than a full one by so many powers of two.
    small: u32,
    /// The part of a full chunk that was asked for.
    asked: f64,
    /// The share of a CPU that encoding may take.
    cpu: f64,
    /// Whether all of a chunk leaves while the next one is encoded, if encoding takes long enough.
    is_overlapped: bool,
    /// Whether something is tried on the present chunk.
    is_trying: bool,
}

/// A chunk that was encoded and is on its way to the socket.
#[derive(Debug)]
struct Pending {
    /// Nanoseconds since the chunk before was handed over.
    work: f64,
    bytes: f64,
    /// When the link was asked first after that.
    since: Option<Duration>,
}

impl Adaptive {
    pub(super) fn new(codecs: CodecSet, cpu: f64) -> Self {
        let rungs: Vec<_> = LADDER.into_iter().filter(|rung| codecs.contains(rung.config.codec)).collect();
        let current = rungs.iter().position(|rung| rung.config == Config::LIGHT).unwrap_or(0);
        Self {
            rungs,
            current,
            rate: Rate::default(),
            judged: 0.0,
            beside: f64::INFINITY,
            pending: None,
            slowness: 1.0,
            last: LinkSample::default(),
            production: Production::default(),
            reader: Reader::default(),
            produced: None,
            trials: 0.0,
            plain: 0.0,
            full: 0.0,
            unsteady: Duration::ZERO,
            small: BEGIN,
            asked: 1.0,
            cpu,
            is_overlapped: false,
            is_trying: false,
        }
    }

    pub(super) fn overlapped(self) -> Self {
        Self { is_overlapped: true, ..self }
    }

    /// The best of the rungs that are known well enough.
    pub(super) fn choose(&mut self) -> Config {
        // A link that waits for its reader shows nothing that could be hoped for.
        let rate = if self.reader.is_limit() { self.rate.seen() } else { self.rate.expected() };
        let Some(rate) = rate else { return self.rungs[self.current].config };
        let own = self.rungs[self.current];
        let now = if self.is_allowed(&own, rate) { self.value(&own, rate) } else { f64::INFINITY };
        // While the link keeps up, more work on fewer bytes gains nothing, whatever the rate is.
        let is_limit = self.rate.is_limit();
        let candidates = self.rungs.iter().enumerate().filter(|(_, rung)| {
            (rung.is_known() || rung.config == Config::PLAIN)
                && (is_limit || rung.time <= own.time)
                && self.is_allowed(rung, rate)
        });
        let best = candidates.map(|(index, rung)| (index, self.value(rung, rate))).min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, _)) = best.filter(|(_, value)| *value < now * HYSTERESIS) {
            self.current = index;
            // On a hope, a small chunk is risked first.
            if !is_limit {
                self.small = BEGIN;
            }
        }
        if let Some(rate) =
            self.rate.measured().filter(|rate| !(self.judged / CHANGE..self.judged * CHANGE).contains(rate))
        {
            if rate < self.judged / FALL {
                self.unsteady = self.last.at + UNSTEADY;
            }
            self.judged = rate;
            for rung in &mut self.rungs {
                (rung.wait, rung.patience) = (0, 0);
            }
        }
        self.rungs[self.current].config
    }

    pub(super) fn trial(&mut self, plain_bytes: usize) -> Option<Trial> {
        for rung in &mut self.rungs {
            rung.wait = rung.wait.saturating_sub(1);
        }
        let (rate, own, is_limit) = (self.rate.expected()?, self.rungs[self.current], self.rate.is_limit());
        // What a trial would add must be small beside what has passed.
        let now = self.value(&own, rate);
        let allowed = TRIALS.0 * self.last.at.as_nanos() as f64 + TRIALS.1 * now * plain_bytes as f64 - self.trials;
        let hopeful = |rung: &Rung| {
            let (time, size) = if rung.is_known() { LITTLE_HOPE } else { HOPE };
            self.value(&Rung { time: rung.time * time, size: rung.size * size, ..*rung }, rate)
        };
        let least = (PART.0 * self.full / (plain_bytes as f64).max(1.0)).clamp(PART.0, 1.0);
        // Of a chunk, that which costs as much as is allowed.
        let affordable = |rung: &Rung| allowed / ((rung.time + own.time) * self.slowness * plain_bytes as f64);
        let known = self.rungs.iter().filter(|rung| rung.is_known()).map(|rung| rung.time).fold(0.0, f64::max);
        let candidates = self.rungs.iter().enumerate().filter(|(index, rung)| {
            *index != self.current
                && rung.wait == 0
                && rung.config != Config::PLAIN
                && affordable(rung) >= least
                && rung.time <= STRIDE * known
                // While the link keeps up, only less work can help; if it is known, it need not be tried.
                && (is_limit || (rung.time < own.time && !rung.is_known()))
                && self.is_allowed(rung, rate)
        });
        let (index, hope) =
            candidates.map(|(index, rung)| (index, hopeful(rung))).min_by(|a, b| a.1.total_cmp(&b.1))?;
        if hope >= now * HYSTERESIS {
            return None;
        }
        let part = (PART.1 * affordable(&self.rungs[index])).clamp(least, 1.0);
        let rung = &mut self.rungs[index];
        rung.patience = (rung.patience * 2).clamp(PATIENCE.0, PATIENCE.1);
        rung.wait = rung.patience;
        rung.part = part;
        self.is_trying = true;
        Some(Trial { config: rung.config, part })
    }

    pub(super) fn tried(&mut self, own: &ChunkCost, other: &ChunkCost) {
        self.trials += (own.elapsed + other.elapsed).as_nanos() as f64;
        let (Some((own_time, own_size)), Some((time, size))) = (per_byte(own), per_byte(other)) else { return };
        let current = self.rungs[self.current];
        let Some(rung) = self.rungs.iter_mut().find(|rung| rung.config == other.config) else { return };
        // A part costs more a byte than the whole: so many times more, or so much more, which is in both of them. Of a list of
        // buffers only the second can be said.
        let more = (current.time + (time - own_time)).max(0.0);
        let times = if current.config == Config::PLAIN { more } else { current.time * (time / own_time) };
        let time = if time > own_time { f64::midpoint(more, times) } else { times };
        let size = current.size * (size / own_size);
        // What whole chunks have told is better known, unless the data have changed since.
        let is_news = |was: f64, is: f64, factor: f64| !(was / factor..was * factor).contains(&is);
        if rung.source != Source::Chunks || is_news(rung.time, time, NEWS.0) || is_news(rung.size, size, NEWS.1) {
            let (slower, larger) = (time / rung.time, size / rung.size);
            let is_first = rung.source == Source::Table;
            rung.source = rung.source.or_trial();
            (rung.time, rung.size) = (time, size);
            // One codec tells of the others.
            let unknown = |rung: &&mut Rung| rung.source == Source::Table && rung.config.codec != Codec::None;
            for rung in self.rungs.iter_mut().filter(|_| is_first && other.config.codec != Codec::None).filter(unknown)
            {
                (rung.time, rung.size) = (rung.time * slower, rung.size * larger);
            }
        }
    }

    pub(super) fn produced(&mut self, elapsed: Duration) {
        self.produced = Some(elapsed.as_nanos() as f64);
    }

    pub(super) fn encoded(&mut self, cost: &ChunkCost) {
        let Some((time, size)) = per_byte(cost) else { return };
        self.plain = cost.plain_bytes as f64;
        self.full = self.full.max(self.plain / self.asked);
        let produced = self.produced.take();
        if let Some(produced) = produced {
            self.production.add(produced, self.plain);
        }
        // Chunks grow once there is nothing left to try.
        self.small = self.small.saturating_sub(u32::from(!std::mem::take(&mut self.is_trying)));
        let (elapsed, cpu) = (cost.elapsed.as_nanos() as f64, (cost.cpu.as_nanos() as f64).max(1.0));
        self.pending =
            Some(Pending { work: produced.unwrap_or(0.0) + elapsed, bytes: cost.wire_bytes as f64, since: None });
        let slowness = (elapsed / cpu).clamp(1.0, SLOWNESS.1);
        self.slowness *= (slowness / self.slowness).powf(SLOWNESS.0);
        let Some(index) = self.rungs.iter().position(|rung| rung.config == cost.config) else { return };
        let before = self.rungs[index];
        // The first chunk of a rung learns for all the others, tables of symbols for one: its time says little.
        if before.source == Source::Trial && time > before.time {
            self.rungs[index] = Rung { size, source: Source::Beginning, ..before };
            return;
        }
        let weight = if before.source == Source::Chunks { NEWEST * (self.plain / WEIGHTY).min(1.0) } else { 1.0 };
        // What makes this one cost more, another machine or other data, makes the others cost more, too; as far as it is not
        // that a trial on a part was wrong.
        let shared = if matches!(before.source, Source::Trial | Source::Beginning) { before.part } else { 1.0 };
        let drift = |was: f64, is: f64| (is / was).powf(weight).clamp(0.01, 100.0);
        let (slower, larger) = (drift(before.time, time), drift(before.size, size));
        // Plain chunks say nothing about the others' work: they are a list of buffers.
        let alone = cost.config == Config::PLAIN;
        for (other, rung) in self.rungs.iter_mut().enumerate() {
            if other == index {
                (rung.time, rung.size, rung.source) = (rung.time * slower, rung.size * larger, Source::Chunks);
            } else if !alone && rung.config != Config::PLAIN {
                (rung.time, rung.size) = (rung.time * slower.powf(shared), rung.size * larger.powf(shared));
            }
        }
    }

    pub(super) fn link(&mut self, sample: &LinkSample) {
        self.rate.sample(sample);
        let sent = sample.sent.saturating_sub(self.last.sent);
        if sent > 0 {
            self.reader.took(sample, self.plain * self.rungs[self.current].reading);
        }
        if self.is_overlapped {
            self.last = *sample;
            return;
        }
        let since = self.pending.as_mut().map(|pending| *pending.since.get_or_insert(sample.at));
        if sent > 0
            && let (Some(Pending { work, bytes, .. }), Some(since), Some(rate)) =
                (self.pending.take(), since, self.rate.measured())
        {
            let blocked = sample.at.saturating_sub(since).as_nanos() as f64;
            let beside = (bytes - blocked * rate).max(0.0);
            if beside >= NEARLY * bytes.min(work * rate) {
                self.beside = self.beside.max(beside);
            } else if self.beside.is_finite() {
                self.beside += NEWEST * (beside - self.beside);
            } else {
                self.beside = beside;
            }
        }
        self.last = *sample;
    }

    /// The part of a chunk that the next one is to be: at first little is known, and a small chunk tells as much as a
    /// large one.
    pub(super) fn share(&mut self) -> f64 {
        // While a chunk is encoded, the link may have changed; and on one that falls, it may be there for long.
        let own = self.rungs[self.current];
        let work = own.time * self.slowness * self.full / LONGEST;
        let bytes = if self.last.at < self.unsteady { own.size * self.full / STRANDED } else { 0.0 };
        let least = work.max(bytes).log2().ceil().clamp(0.0, f64::from(BEGIN)) as u32;
        let part = |halvings: u32, smallest: f64| {
            let part = 1.0 / f64::from(1u32 << halvings);
            if self.full > 0.0 { part.max((smallest / self.full).min(1.0)) } else { part }
        };
        self.asked = part(self.small, SMALLEST.0).min(part(least, SMALLEST.1));
        self.asked
    }

    /// Whether encoding takes no more of the CPU than it may. Light encodings cost less than sending what they save.
    fn is_allowed(&self, rung: &Rung, rate: f64) -> bool {
        [Config::PLAIN, Config::LIGHT].contains(&rung.config) || rung.time <= self.cpu * self.value(rung, rate)
    }

    /// Nanoseconds a plain byte takes from end to end.
    fn value(&self, rung: &Rung, rate: f64) -> f64 {
        let (encoding, sending) = (rung.time * self.slowness, rung.size / rate);
        // Rows are made for several chunks at once: the first of them waits, the others do not.
        let (producing, chunks) = self.production.pieces();
        let (first, work) = (producing + encoding, producing / chunks + encoding);
        let room = |bytes: f64| bytes / rate / self.plain.max(1.0);
        let beside = if self.is_overlapped {
            // The link has a chunk and what waits in the kernel to go on with.
            let idle = (first - sending - room(UNSENT as f64)).max(0.0) / chunks;
            sending.min(work - idle)
        } else {
            let beside = |work: f64| work.min(sending).min(room(self.beside));
            (beside(first) + (chunks - 1.0) * beside(encoding)) / chunks
        };
        // Where the CPU is wanted by others, doing two things at once gains less, as far as both are work.
        let time = work + sending - beside + (1.0 - 1.0 / self.slowness) * beside.min(SENDING * rung.size);
        let toll = if self.last.at < self.unsteady { TOLL.1 } else { TOLL.0 };
        // Whoever reads works beside both.
        PRICE * encoding + time.max(self.reader.slowness() * rung.reading) * (1.0 + toll * rung.size)
    }
}

/// Nanoseconds of work and bytes on the wire for each plain byte.
fn per_byte(cost: &ChunkCost) -> Option<(f64, f64)> {
    let plain = cost.plain_bytes as f64;
    // A clock that stands still must not make anything free.
    let time = (cost.cpu.as_nanos() as f64 / plain).max(1e-3);
    (cost.plain_bytes > 0 && cost.wire_bytes > 0).then(|| (time, cost.wire_bytes as f64 / plain))
}
