//! The throughput of the link.

use std::time::Duration;

/// The state of a socket at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSample {
    /// Time since the stream's begin.
    pub at: Duration,
    /// Bytes handed over for sending since then.
    pub sent: u64,
    /// Bytes that the peer has acknowledged, selectively or not, counted from any moment on (Linux: TCP_INFO's
    /// tcpi_bytes_acked and tcpi_sacked).
    pub delivered: u64,
    /// Bytes that wait in the kernel (Linux: tcpi_notsent_bytes). While there are some, the link is the limit.
    pub unsent: u64,
    /// Whether the congestion window is below the slow start threshold (RFC 5681): then the window is the limit, not
    /// the link.
    pub is_slow_start: bool,
    /// Whether another thread of the writer's has bytes that it has not passed to the kernel.
    pub is_held: bool,
    /// CPU time of that thread since the stream's begin.
    pub sending: Duration,
    /// Time since the connection's begin in which the peer's window was the limit (Linux: TCP_INFO's
    /// tcpi_rwnd_limited): then the peer is slow, not the link.
    pub peer_limited: Duration,
}

/// The throughput of a connection, which a stream hands to the next one on the same connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkEstimate {
    /// Bytes a nanosecond; 0 if nothing was measured.
    pub throughput: f64,
    /// Whether the link was the limit. Otherwise the throughput is a lower bound.
    pub was_limit: bool,
}

/// Nanoseconds of busy time in which older spans fade to 1/e, and a chunk's longest time to encode, or to send over an
/// unstable link: meanwhile the link may change.
pub(super) const LINK_MEMORY: f64 = 100e6;
/// Nanoseconds of a span in which bytes waited, at least: acknowledgements come in bursts. A span in which nothing
/// waited has ten times as many on a link that was the limit before, since what was held up for a moment comes faster
/// than the link's rate allows.
const MIN_SPAN: f64 = 2e6;
/// Nothing is learnt of the link in a span of which the peer was the limit for more than this part.
const PEER_LIMITED_PART: u32 = 8;
/// By this factor a link that has become faster or slower is another one.
pub(super) const SIGNIFICANT_CHANGE: f64 = 2.0;
/// Plain bytes of a small chunk, at least: a smaller one consists of overhead.
pub(super) const MIN_CHUNK: f64 = 128e3;

/// An estimate of the link's throughput, in bytes a nanosecond, from spans in which bytes waited to be sent. Other
/// spans show the writer's own speed, which is a lower bound.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    /// Whether another thread sends.
    pub(super) is_overlapped: bool,
    last: Option<LinkSample>,
    /// Nanoseconds and bytes of busy spans, fading.
    busy: (f64, f64),
    /// Nanoseconds and bytes of idle time since the last idle span.
    idle: (f64, f64),
    lower_bound: f64,
    is_limit: bool,
    /// How many idle spans there have been.
    pub(super) idle_spans: u64,
    /// Whether this stream has measured something.
    has_measured: bool,
}

impl Throughput {
    /// Begins with what an earlier stream measured.
    pub(super) fn remember(&mut self, estimate: &LinkEstimate) {
        let LinkEstimate { throughput, was_limit } = *estimate;
        if !(throughput.is_finite() && throughput > 0.0) {
            return;
        }
        if was_limit {
            // As much as one span: the first spans of this stream count as much.
            self.busy = (MIN_SPAN, MIN_SPAN * throughput);
        } else {
            self.lower_bound = throughput;
        }
        self.is_limit = was_limit;
    }

    /// What this stream measured, if anything.
    pub(super) fn link_estimate(&self) -> Option<LinkEstimate> {
        let throughput = self.estimate().filter(|_| self.has_measured)?;
        Some(LinkEstimate { throughput, was_limit: self.measured().is_some() })
    }

    pub(super) fn sample(&mut self, now: &LinkSample) {
        let Some(last) = self.last else {
            self.last = Some(*now);
            return;
        };
        let is_busy = now.unsent > 0 && (last.unsent > 0 || (!self.is_overlapped && now.sent > last.sent));
        let is_short = (now.at.saturating_sub(last.at).as_nanos() as f64) < MIN_SPAN;
        // It becomes a part of the next span.
        if is_busy && is_short && now.at > last.at && now.delivered >= last.delivered {
            return;
        }
        self.last = Some(*now);
        // A clock or a counter that runs backwards starts a new span.
        let (Some(time), Some(_)) = (now.at.checked_sub(last.at), now.sent.checked_sub(last.sent)) else { return };
        let Some(delivered) = now.delivered.checked_sub(last.delivered) else { return };
        let limited = now.peer_limited.saturating_sub(last.peer_limited).min(time);
        // Bytes pass while the peer is the limit, too, so the rest of the span would show bursts.
        if limited > time / PEER_LIMITED_PART {
            return;
        }
        let (time, bytes) = ((time - limited).as_nanos() as f64, delivered as f64);
        if time <= 0.0 {
            return;
        }
        if is_busy {
            // It ends after some round trips, if bytes go on waiting.
            if !now.is_slow_start {
                self.record_busy(time, bytes);
            }
        } else if limited.is_zero() && !now.is_held {
            self.record_idle(time, bytes);
        }
    }

    fn record_busy(&mut self, time: f64, bytes: f64) {
        let age = time / LINK_MEMORY;
        let fading = (-age).exp();
        // The span itself fades, too, until its end.
        let weight = (1.0 - fading) / age;
        self.busy = (self.busy.0 * fading + time * weight, self.busy.1 * fading + bytes * weight);
        (self.idle, self.lower_bound) = ((0.0, 0.0), 0.0);
        self.is_limit = self.measured().is_some();
        self.has_measured |= self.is_limit;
    }

    fn record_idle(&mut self, time: f64, bytes: f64) {
        self.idle = (self.idle.0 + time, self.idle.1 + bytes);
        let (time, bytes) = self.idle;
        if (self.measured().is_some() && time < 10.0 * MIN_SPAN) || bytes < MIN_CHUNK / 2.0 {
            return;
        }
        self.idle = (0.0, 0.0);
        self.lower_bound = self.lower_bound.max(bytes / time);
        (self.is_limit, self.has_measured) = (false, true);
        self.idle_spans += 1;
        if self.measured().is_some_and(|measured| self.lower_bound > measured * SIGNIFICANT_CHANGE) {
            self.busy = (0.0, 0.0);
        }
    }

    /// From busy spans alone; `None` if bytes have never waited.
    pub(super) fn measured(&self) -> Option<f64> {
        (self.busy.0 > 0.0 && self.busy.1 > 0.0).then_some(self.busy.1 / self.busy.0)
    }

    /// What the link takes at least, as far as it is known.
    pub(super) fn estimate(&self) -> Option<f64> {
        let estimate = self.measured().unwrap_or(0.0).max(self.lower_bound);
        (estimate > 0.0).then_some(estimate)
    }

    /// Whether bytes have lately waited; otherwise the writer is the limit.
    pub(super) fn is_limit(&self) -> bool {
        self.is_limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, sent: u64, delivered: u64, unsent: u64) -> LinkSample {
        LinkSample { at: Duration::from_millis(at), sent, delivered, unsent, ..LinkSample::default() }
    }

    fn is_near(measured: Option<f64>, expected: f64) -> bool {
        measured.is_some_and(|measured| (measured / expected - 1.0).abs() < 0.01)
    }

    #[test]
    fn bytes_that_wait_show_the_throughput() {
        let mut throughput = Throughput::default();
        throughput.sample(&sample(0, 0, 0, 0));
        throughput.sample(&sample(10, 2_000_000, 1_000_000, 900_000));
        throughput.sample(&sample(20, 2_000_000, 2_000_000, 0));
        assert!(is_near(throughput.measured(), 0.1) && throughput.is_limit());
    }

    #[test]
    fn an_empty_queue_shows_a_lower_bound() {
        let mut throughput = Throughput::default();
        throughput.sample(&sample(0, 0, 0, 0));
        throughput.sample(&sample(10, 2_000_000, 2_000_000, 0));
        assert_eq!((throughput.measured(), throughput.estimate()), (None, Some(0.2)));
        assert!(!throughput.is_limit());
    }

    #[test]
    fn bytes_that_another_thread_holds_show_nothing() {
        let mut throughput = Throughput { is_overlapped: true, ..Throughput::default() };
        throughput.sample(&sample(0, 0, 0, 0));
        throughput.sample(&LinkSample { is_held: true, ..sample(10, 2_000_000, 1_000_000, 0) });
        // Handed over 5 ms ago; since when it has waited in the kernel is not known.
        throughput.sample(&sample(15, 3_000_000, 1_000_000, 900_000));
        assert_eq!(throughput.estimate(), None);
    }

    /// 100 kB a millisecond, of which some always wait.
    fn known() -> Throughput {
        let mut throughput = Throughput::default();
        for at in (0..=300).step_by(10) {
            throughput.sample(&sample(at, at * 100_000 + 1_000_000, at * 100_000, 1_000_000));
        }
        assert!(is_near(throughput.measured(), 0.1));
        throughput
    }

    #[test]
    fn a_burst_after_a_pause_is_no_faster_link() {
        let mut throughput = known();
        throughput.sample(&sample(310, 31_000_000, 31_000_000, 0));
        // 14 ms of the link's bytes in 4 ms.
        throughput.sample(&sample(314, 32_400_000, 32_400_000, 0));
        assert!(is_near(throughput.estimate(), 0.1));
    }

    #[test]
    fn a_lower_bound_far_above_the_measured_throughput_replaces_it() {
        let mut throughput = known();
        throughput.sample(&sample(310, 31_000_000, 31_000_000, 0));
        throughput.sample(&sample(340, 40_000_000, 40_000_000, 0));
        assert_eq!((throughput.measured(), throughput.estimate()), (None, Some(0.25)));
    }

    #[test]
    fn time_in_which_the_peer_was_the_limit_is_left_out() {
        let mut throughput = Throughput::default();
        throughput.sample(&sample(0, 0, 0, 0));
        let limited = |sample, milliseconds| LinkSample { peer_limited: Duration::from_millis(milliseconds), ..sample };
        throughput.sample(&limited(sample(100, 2_000_000, 1_000_000, 900_000), 10));
        let measured = throughput.measured();
        assert!(is_near(measured, 1.0 / 90.0));
        throughput.sample(&limited(sample(200, 4_000_000, 1_000_100, 900_000), 30));
        assert_eq!(throughput.measured(), measured);
    }

    #[test]
    fn clocks_and_counters_may_jump() {
        let mut throughput = Throughput::default();
        for (at, sent, delivered) in
            [(50, 10, 0), (0, 500_000, 1), (u64::MAX / 2, 3, u64::MAX), (7, u64::MAX, 0), (7, 0, 9)]
        {
            throughput.sample(&sample(at, sent, delivered, delivered));
            assert!(throughput.measured().is_none_or(|measured| measured.is_finite() && measured >= 0.0));
        }
    }

    #[test]
    fn a_change_is_followed_within_a_second() {
        for [first, second] in [[1_250_000, 12_500], [12_500, 1_250_000]] {
            let (mut throughput, mut sent) = (Throughput::default(), 0);
            for at in (0..2000).step_by(10) {
                sent += if at < 1000 { first } else { second };
                throughput.sample(&sample(at, sent, sent, 4_000_000));
            }
            assert!(throughput.measured().is_some_and(|measured| (measured / second as f64 * 1e7 - 1.0).abs() < 0.15));
        }
    }

    #[test]
    fn an_estimate_is_handed_on() {
        let estimate = known().link_estimate().unwrap_or_default();
        assert!(estimate.was_limit);
        let mut later = Throughput::default();
        later.remember(&estimate);
        assert_eq!(later.link_estimate(), None, "this stream measured nothing");
        assert!(is_near(later.measured(), 0.1));
    }
}
