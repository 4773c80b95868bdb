//! The choice of each chunk's configuration and size.

use std::time::Duration;

use super::costs::{Cost, Costs};
use super::model::Model;
use super::throughput::{LINK_MEMORY, LinkEstimate, MIN_CHUNK, SIGNIFICANT_CHANGE, Throughput};
use super::{ChunkCost, LinkSample};
use crate::{Codec, CodecSet, Config};

/// Another configuration must take less than this part of the present one's time, or the choice would change with each
/// chunk.
const HYSTERESIS: f64 = 0.985;
/// A configuration is explored if it would win with this part of its estimated time; one that was never used, with the
/// square of it, because its estimate is less certain.
const EXPLORATION_MARGIN: f64 = 0.85;
/// A link that was never the limit may be so many times faster than is known.
const OPTIMISM: f64 = 8.0;
/// The throughput that is assumed while nothing is known, in bytes a nanosecond. It makes light+zstd-1 the first
/// configuration: TCP's slow start is slow on any link, and a result may end before anything is measured.
const COLD_START: f64 = 0.2;
/// A small chunk is smaller than a full one by so many powers of two. There are as many small chunks at the start, and
/// after a step to less work on a link that was never the limit: one chunk more than it takes for the link to show
/// itself.
const SMALL: u32 = 3;

#[derive(Debug)]
pub(super) struct Adaptive {
    costs: Costs,
    throughput: Throughput,
    model: Model,
    /// The share of a CPU that encoding may take.
    cpu: f64,
    current: usize,
    /// The configuration of the next chunk, once it is decided.
    next: Option<usize>,
    /// The configuration to explore after a small chunk in the current one.
    planned: Option<usize>,
    /// The number of the idle span after which less work was explored the last time.
    explored_span: u64,
    /// How many times the next chunk's size is to double until it is a full one.
    small: u32,
    /// The parts of a full chunk that the next chunk and the last chunk were to be.
    share: f64,
    last_share: f64,
    stability: Stability,
    last: LinkSample,
    /// Bytes that the writer has handed over and the kernel has not sent.
    waiting: f64,
    /// Nanoseconds that a reader like the table's works on the last chunk.
    last_decoding: f64,
}

/// A link that became slower by a significant change is unstable from then on: it may do so again.
#[derive(Debug, Default)]
struct Stability {
    judged: f64,
    is_unstable: bool,
    /// The lowest throughput since it became unstable.
    lowest: f64,
}

impl Adaptive {
    pub(super) fn new(codecs: CodecSet, cpu: f64) -> Self {
        Self {
            costs: Costs::new(|config| codecs.contains(config.codec)),
            throughput: Throughput::default(),
            model: Model::default(),
            cpu,
            current: 0,
            next: None,
            planned: None,
            explored_span: 0,
            small: 2 * SMALL - 1,
            share: 1.0,
            last_share: 0.0,
            stability: Stability::default(),
            last: LinkSample::default(),
            waiting: 0.0,
            last_decoding: 0.0,
        }
    }

    pub(super) fn overlapped(mut self) -> Self {
        self.throughput.is_overlapped = true;
        self.model.is_overlapped = true;
        self
    }

    pub(super) fn remember(&mut self, estimate: &LinkEstimate) {
        self.throughput.remember(estimate);
    }

    pub(super) fn link_estimate(&self) -> Option<LinkEstimate> {
        self.throughput.link_estimate()
    }

    /// The configuration of the next chunk.
    pub(super) fn choose(&mut self) -> Config {
        let index = match self.next {
            Some(index) => index,
            None => self.decide(),
        };
        self.next = Some(index);
        self.costs.all()[index].config
    }

    fn decide(&mut self) -> usize {
        let known = self.throughput.estimate();
        let throughput = known.unwrap_or(COLD_START);
        if !self.costs.all().iter().any(Cost::is_known) {
            self.current = self.first(throughput);
        }
        if known.is_none() || self.model.full == 0.0 {
            return self.current;
        }
        self.stability.judge(self.throughput.measured());
        let is_limit = self.throughput.is_limit();
        self.current = self.best(throughput, is_limit);
        if let Some(index) = self.planned.take() {
            return self.explore(index, is_limit);
        }
        if is_limit && !self.costs.all()[self.current].is_measured() {
            return self.current;
        }
        let candidate = if is_limit || self.model.reader.is_limit() {
            self.candidate(throughput)
        } else {
            self.candidate_with_less_work(throughput)
        };
        match candidate {
            // It is to be compared with a chunk of the same size.
            Some(index) if self.last_share > 1.5 * self.small_share() => {
                (self.planned, self.small) = (Some(index), SMALL + 1);
                self.current
            }
            Some(index) => self.explore(index, is_limit),
            None => self.current,
        }
    }

    /// The best configuration by the table alone. A connection that knows its link chooses for a result of one chunk,
    /// which is sent when it is encoded: the table's work is of another machine, and slow encoding would be noticed
    /// late.
    fn first(&self, throughput: f64) -> usize {
        let is_candidate = |cost: &Cost| cost.config != Config::PLAIN && self.is_allowed(cost, throughput);
        let found = if self.throughput.estimate().is_some() {
            self.least(is_candidate, |cost| self.model.time_alone(cost, throughput))
        } else {
            self.fastest(throughput, is_candidate)
        };
        found.map_or(0, |(index, _)| index)
    }

    /// The best of the configurations that are known.
    fn best(&self, throughput: f64, is_limit: bool) -> usize {
        let own = &self.costs.all()[self.current];
        let now = if self.is_allowed(own, throughput) { self.model.time(own, throughput) } else { f64::INFINITY };
        let best = self.fastest(throughput, |cost| {
            (cost.is_known() || cost.config == Config::PLAIN)
                // While the link is not the limit, more work for fewer bytes gains nothing.
                && (is_limit || cost.work <= own.work)
                && self.is_allowed(cost, throughput)
        });
        best.filter(|(_, time)| *time < now * HYSTERESIS).map_or(self.current, |(index, _)| index)
    }

    /// A configuration to explore where the link is the limit: one that could be better.
    fn candidate(&self, throughput: f64) -> Option<usize> {
        let own = &self.costs.all()[self.current];
        let candidates = self.costs.all().iter().enumerate().filter(|(index, cost)| {
            *index != self.current
                // Every chunk shows what light encoding alone costs.
                && ![Config::PLAIN, Config::LIGHT].contains(&cost.config)
                && self.costs.is_due(cost)
                && self.is_allowed(cost, throughput)
        });
        let times = candidates.map(|(index, cost)| (index, self.optimistic_time(index, cost, throughput)));
        let (index, time) = times.min_by(|a, b| a.1.total_cmp(&b.1))?;
        (time < self.model.time(own, throughput) * HYSTERESIS).then_some(index)
    }

    /// The time of a configuration that is better than its estimate.
    fn optimistic_time(&self, index: usize, cost: &Cost, throughput: f64) -> f64 {
        let margin = EXPLORATION_MARGIN.powi(if cost.is_known() { 1 } else { 2 });
        let own = &self.costs.all()[self.current];
        // Zstandard leaves no more than FSST, LZ4 or one of its lower levels.
        let size = if matches!(own.config.codec, Codec::Zstd(_)) && index < self.current {
            (margin * cost.size).max(own.size)
        } else {
            margin * cost.size
        };
        self.model.time(&cost.with(margin * cost.work, size), throughput)
    }

    /// A configuration to explore where the link is not the limit: one with less work, once for each span in which
    /// nothing waited.
    fn candidate_with_less_work(&mut self, throughput: f64) -> Option<usize> {
        if self.explored_span == self.throughput.idle_spans {
            return None;
        }
        let own = &self.costs.all()[self.current];
        let was_limit = self.throughput.measured().is_some();
        let optimistic = throughput * if was_limit { SIGNIFICANT_CHANGE } else { OPTIMISM };
        let (index, time) = self.fastest(optimistic, |cost| {
            cost.work < own.work && self.is_allowed(cost, throughput) && (!was_limit || self.costs.is_due(cost))
        })?;
        if time >= self.model.time(own, optimistic) * HYSTERESIS {
            return None;
        }
        self.explored_span = self.throughput.idle_spans;
        Some(index)
    }

    /// The next chunk is a small one in another configuration.
    fn explore(&mut self, index: usize, is_limit: bool) -> usize {
        self.costs.explored(index);
        self.small = SMALL;
        // Less work is kept until the link is the limit.
        if !is_limit && self.costs.all()[index].work < self.costs.all()[self.current].work {
            self.current = index;
            if self.throughput.measured().is_none() {
                self.small = 2 * SMALL;
            }
        }
        index
    }

    fn fastest(&self, throughput: f64, is_candidate: impl Fn(&Cost) -> bool) -> Option<(usize, f64)> {
        self.least(is_candidate, |cost| self.model.time(cost, throughput))
    }

    fn least(&self, is_candidate: impl Fn(&Cost) -> bool, time: impl Fn(&Cost) -> f64) -> Option<(usize, f64)> {
        let candidates = self.costs.all().iter().enumerate().filter(|(_, cost)| is_candidate(cost));
        let times = candidates.map(|(index, cost)| (index, time(cost)));
        times.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Whether encoding takes no more of the CPU than it may. Light encodings cost less than sending what they save.
    fn is_allowed(&self, cost: &Cost, throughput: f64) -> bool {
        [Config::PLAIN, Config::LIGHT].contains(&cost.config)
            || cost.work <= self.cpu * self.model.time(cost, throughput)
    }

    /// The part of a full chunk that the next one is to hold.
    pub(super) fn share(&mut self) -> f64 {
        let cost = &self.costs.all()[self.next.unwrap_or(self.current)];
        let time = (cost.work * self.model.slowness).max(cost.size / self.stability.lowest());
        let longest = LINK_MEMORY / (time * self.model.full).max(1.0);
        let small = self.small_share();
        let wanted = if self.small < SMALL { self.growing_share() } else { small };
        self.share = longest.min(wanted).max(small).min(1.0);
        self.share
    }

    /// Chunks double after small ones. Where the link is the limit, the next one is as large as what can be made and
    /// encoded while the bytes that wait are sent.
    fn growing_share(&self) -> f64 {
        let doubled = 1.0 / f64::from(1u32 << self.small);
        let cost = &self.costs.all()[self.next.unwrap_or(self.current)];
        match self.throughput.measured() {
            Some(throughput) if self.throughput.is_limit() => {
                let making = self.model.making(cost) * self.model.full;
                // The work of a first chunk says little of the next one's.
                let fitting = if cost.is_measured() { self.waiting / throughput / making.max(1.0) } else { 0.0 };
                // Where sending and encoding take turns, smaller chunks do not keep the link busy.
                let least = if self.model.is_overlapped { doubled / 2.0 } else { doubled };
                fitting.clamp(least, 1.0)
            }
            _ => doubled,
        }
    }

    fn small_share(&self) -> f64 {
        let small = 1.0 / f64::from(1u32 << SMALL);
        // While nothing is known of the link, half of that tells as much.
        let small = if self.throughput.estimate().is_none() { small / 2.0 } else { small };
        if self.model.full > 0.0 { small.max((MIN_CHUNK / self.model.full).min(1.0)) } else { small }
    }

    pub(super) fn produced(&mut self, elapsed: Duration) {
        self.model.production.record_time(elapsed.as_nanos() as f64);
    }

    pub(super) fn encoded(&mut self, chunk: &ChunkCost) {
        self.next = None;
        if chunk.plain_bytes == 0 || chunk.wire_bytes == 0 {
            return;
        }
        self.last_share = self.share;
        self.small = self.small.saturating_sub(1);
        let own = self.costs.all().iter().find(|cost| cost.config == chunk.config);
        let plain = chunk.plain_bytes as f64;
        self.last_decoding = own.map_or(0.0, |cost| cost.decoding * plain);
        self.model.record(chunk, self.share);
        self.costs.record(chunk, plain / self.model.full);
    }

    pub(super) fn link(&mut self, sample: &LinkSample) {
        self.throughput.sample(sample);
        if sample.sent > self.last.sent {
            self.model.reader.record(sample, self.last_decoding);
        }
        if sample.sent > 0 {
            self.model.sending_work = sample.sending.as_nanos() as f64 / sample.sent as f64;
        }
        let held = if sample.is_held { sample.sent.saturating_sub(self.last.sent) } else { 0 };
        self.waiting = sample.unsent as f64 + held as f64;
        self.last = *sample;
    }
}

impl Stability {
    fn judge(&mut self, measured: Option<f64>) {
        let Some(measured) = measured else { return };
        if !(self.judged / SIGNIFICANT_CHANGE..self.judged * SIGNIFICANT_CHANGE).contains(&measured) {
            self.is_unstable |= measured < self.judged;
            self.judged = measured;
        }
        if self.is_unstable {
            self.lowest = self.lowest().min(measured);
        }
    }

    /// Infinite as long as the link is stable.
    fn lowest(&self) -> f64 {
        if self.lowest > 0.0 { self.lowest } else { f64::INFINITY }
    }
}
