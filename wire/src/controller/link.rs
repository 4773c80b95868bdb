//! How fast the link takes bytes.

use std::collections::VecDeque;
use std::time::Duration;

/// What a socket says at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSample {
    /// Time since the stream's begin.
    pub at: Duration,
    /// Bytes that were to be sent since then.
    pub sent: u64,
    /// Bytes that the peer has acknowledged, selectively or not, counted from any moment on (Linux: TCP_INFO's tcpi_bytes_acked
    /// and tcpi_sacked).
    pub delivered: u64,
    /// Bytes that have not left yet (Linux: tcpi_notsent_bytes, and what the kernel has no room for). While there are some,
    /// it is the link that is waited for.
    pub unsent: u64,
    /// Time since the connection's begin in which the peer's window was the limit (Linux: TCP_INFO's
    /// tcpi_rwnd_limited): then the peer is slow, not the link.
    pub peer_limited: Duration,
}

/// An estimate of the link's rate, in bytes a nanosecond, from times in which something waited to be sent. Otherwise it
/// would be the writer's own rate that is measured.
#[derive(Debug)]
pub(super) struct Rate {
    last: Option<LinkSample>,
    /// Busy spans: when they ended, their lengths and bytes.
    spans: VecDeque<(Duration, f64, f64)>,
    /// Time and bytes since the last look at what the link does while nothing waits.
    idle: (f64, f64),
    /// The highest rate that was seen since something waited: the link can do at least this.
    floor: f64,
    /// How much more than that is hoped for; it grows while nothing waits.
    hope: f64,
    /// By how much it grows above all that was measured of late.
    growth: f64,
    /// The highest rate that was measured of late, and when.
    ceiling: (Duration, f64),
    /// Spans on end that were unlike those before.
    leaps: usize,
}

/// Busy time that the estimate looks back upon: a link that changes is followed within a second.
const WINDOW: f64 = 250e6;
/// Or bytes, in so many spans.
const ENOUGH: (f64, usize) = (2e6, 4);
/// Spans that differ by such a factor, so many on end, tell of a link that has changed. One alone is a burst.
const LEAP: (f64, usize) = (4.0, 3);
/// In less time, it may be that somebody did not get the CPU.
const PAUSE: f64 = 50e6;
/// What ended longer ago than this is forgotten.
const MEMORY: Duration = Duration::from_secs(2);
/// Nor is what is looked at while nothing waits: of a link that was never measured, and of one that was. What was held up
/// for a moment comes in less time than a link's rate allows.
const IDLE: (f64, f64) = (2e6, 20e6);
/// Spans are no shorter.
const MOMENT: Duration = Duration::from_millis(2);
/// Less than this says nothing: acknowledgements come in bursts.
const LEAST: (f64, f64, f64) = (2e6, 65536.0, 1e6);
/// By how much hope grows with each span in which nothing waited, at most and at least. To be wrong costs chunks that are
/// too large for the link.
const GROWTH: (f64, f64) = (1.5, 1.005);
/// What is left of the growth after a hope that was in vain.
const VAIN: f64 = 0.25;
/// A link that has taken so many times more than was measured of late is another one, and who knows how fast.
const FASTER: f64 = 1.6;
/// So long a rate that was measured may come back at any moment.
const LATELY: Duration = Duration::from_secs(10);
/// Of a span in which the peer was the limit for more than this part, nothing is learnt of the link.
const LIMITED: u32 = 8;
/// Once the link was measured, hope grows so much in this time.
const PACE: f64 = 25e6;
/// Before that, so much faster with each look.
const UNKNOWN: f64 = 2.0;

impl Default for Rate {
    fn default() -> Self {
        Self {
            last: None,
            spans: VecDeque::new(),
            idle: (0.0, 0.0),
            floor: 0.0,
            hope: 1.0,
            growth: GROWTH.0,
            ceiling: (Duration::ZERO, 0.0),
            leaps: 0,
        }
    }
}

impl Rate {
    pub(super) fn sample(&mut self, now: &LinkSample) {
        let Some(last) = self.last else {
            self.last = Some(*now);
            return;
        };
        let is_busy = now.unsent > 0 && (last.unsent > 0 || now.sent > last.sent);
        // Acknowledgements come in bursts, so a moment says nothing: it becomes a part of the next one.
        if is_busy && now.at > last.at && now.at.saturating_sub(last.at) < MOMENT && now.delivered >= last.delivered {
            return;
        }
        self.last = Some(*now);
        // A clock or a counter that runs backwards: begin anew.
        let (Some(time), Some(_)) = (now.at.checked_sub(last.at), now.sent.checked_sub(last.sent)) else { return };
        let limited = now.peer_limited.saturating_sub(last.peer_limited).min(time);
        // Bytes pass while the peer is the limit, too, so what is left tells of its bursts.
        if limited > time / LIMITED {
            return;
        }
        let time = (time - limited).as_nanos() as f64;
        let Some(delivered) = now.delivered.checked_sub(last.delivered) else { return };
        let drained = delivered as f64;
        if time <= 0.0 {
            return;
        }
        if is_busy {
            self.idle = (0.0, 0.0);
            self.notice_leap(time, drained);
            self.spans.push_back((now.at, time, drained));
            self.forget(now.at);
            if let Some(rate) = self.measured() {
                if rate >= self.ceiling.1 || now.at.saturating_sub(self.ceiling.0) > LATELY {
                    self.ceiling = (now.at, rate);
                }
                if self.hope > 1.0 {
                    // It was in vain, or nearly so: hope more slowly.
                    self.growth = (1.0 + (self.growth - 1.0) * VAIN).max(GROWTH.1);
                }
                (self.hope, self.floor) = (1.0, 0.0);
            }
        } else if limited.is_zero() {
            self.idle = (self.idle.0 + time, self.idle.1 + drained);
            self.look_at_idle();
        }
    }

    /// Chunks may follow one another faster than acknowledgements come, and a burst of these is no rate.
    fn look_at_idle(&mut self) {
        let (time, bytes) = self.idle;
        let enough = if self.measured().is_none() { IDLE.0 } else { IDLE.1 };
        if time < enough || bytes < LEAST.1 {
            return;
        }
        self.idle = (0.0, 0.0);
        let before = self.seen().unwrap_or(0.0);
        self.floor = self.floor.max(bytes / time);
        // What has come true need not be hoped for.
        self.hope = (self.hope * before / self.floor.max(before)).max(1.0);
        if self.floor > self.ceiling.1 * FASTER {
            self.growth = GROWTH.0;
        }
        // A link that takes so much more than was measured is another one: maybe the one that was there of late.
        if self.measured().is_some_and(|rate| self.floor > rate * FASTER) {
            self.spans.clear();
            self.leaps = 0;
            self.hope = self.hope.max(self.ceiling.1 / self.floor);
        }
        let (measured, base) = (self.measured(), self.measured().unwrap_or(0.0).max(self.floor));
        let pace = if measured.is_none() { UNKNOWN } else { (time / PACE).min(1.0) };
        // What was there a moment ago may well be there again; more than that, it may never have been.
        let again = (self.hope * GROWTH.0.powf(pace)).min(self.ceiling.1 / base);
        self.hope = (self.hope * self.growth.powf(pace)).max(again);
    }

    /// After several spans that tell of another link than those before them, these others are forgotten.
    fn notice_leap(&mut self, time: f64, bytes: f64) {
        let (total, sum) = self.total();
        let leaps = (bytes * total) > LEAP.0 * (sum * time) || (bytes * total) * LEAP.0 < sum * time;
        self.leaps = if leaps { self.leaps + 1 } else { 0 };
        let newest = self.spans.iter().rev().take(self.leaps.saturating_sub(1));
        let sum = newest.fold((time, bytes), |sum, span| (sum.0 + span.1, sum.1 + span.2));
        if self.leaps >= LEAP.1 && (sum.0 >= PAUSE || sum.1 >= ENOUGH.0) {
            self.spans.drain(..self.spans.len().saturating_sub(self.leaps - 1));
            self.leaps = 0;
        }
    }

    /// Keeps the newest spans that are enough for an estimate.
    fn forget(&mut self, now: Duration) {
        let (mut time, mut bytes) = self.total();
        while let Some(&(ended, span, sent)) = self.spans.front() {
            (time, bytes) = (time - span, bytes - sent);
            let enough = time >= WINDOW || (bytes >= ENOUGH.0 && self.spans.len() > ENOUGH.1);
            let stale = now.saturating_sub(ended) > MEMORY && self.spans.len() > 1;
            if !enough && !stale {
                break;
            }
            self.spans.pop_front();
        }
    }

    fn total(&self) -> (f64, f64) {
        self.spans.iter().fold((0.0, 0.0), |sum, span| (sum.0 + span.1, sum.1 + span.2))
    }

    /// Bytes a nanosecond, from busy spans alone; `None` as long as the link has never been waited for.
    pub(super) fn measured(&self) -> Option<f64> {
        let (time, bytes) = self.total();
        ((time >= LEAST.0 || bytes >= LEAST.2) && bytes > 0.0).then_some(bytes / time)
    }

    /// What the link is thought to take. One that nothing waits for takes more than it was given; how much more shows only
    /// step by step.
    pub(super) fn expected(&self) -> Option<f64> {
        let hoped = self.measured().unwrap_or(0.0).max(self.floor) * self.hope;
        (hoped > 0.0).then_some(hoped)
    }

    /// What the link was seen to take, without any hope of more.
    pub(super) fn seen(&self) -> Option<f64> {
        let seen = self.measured().unwrap_or(0.0).max(self.floor);
        (seen > 0.0).then_some(seen)
    }

    /// Whether the link was waited for of late; else it is the writer that is slow.
    pub(super) fn is_limit(&self) -> bool {
        self.measured().is_some() && self.hope <= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, sent: u64, delivered: u64, unsent: u64) -> LinkSample {
        LinkSample { at: Duration::from_millis(at), sent, delivered, unsent, peer_limited: Duration::ZERO }
    }

    #[test]
    fn a_full_queue_shows_the_rate() {
        let mut rate = Rate::default();
        rate.sample(&sample(0, 0, 0, 0));
        rate.sample(&sample(10, 2_000_000, 1_000_000, 900_000));
        rate.sample(&sample(20, 2_000_000, 2_000_000, 0));
        assert_eq!(rate.measured(), Some(0.1));
    }

    #[test]
    fn an_empty_queue_shows_a_floor_only() {
        let mut rate = Rate::default();
        rate.sample(&sample(0, 0, 0, 0));
        rate.sample(&sample(10, 2_000_000, 2_000_000, 0));
        assert_eq!(rate.measured(), None);
        assert!(rate.expected().is_some_and(|rate| rate > 0.2));
    }

    /// 100 kB a millisecond, of which some always wait.
    fn known() -> Rate {
        let mut rate = Rate::default();
        for at in (0..=300).step_by(10) {
            rate.sample(&sample(at, at * 100_000 + 1_000_000, at * 100_000, 1_000_000));
        }
        assert_eq!(rate.measured(), Some(0.1));
        rate
    }

    #[test]
    fn what_was_held_up_for_a_moment_tells_of_no_other_link() {
        let mut rate = known();
        // Nothing waits, and in 4 ms comes what was to come in 14.
        rate.sample(&sample(310, 31_000_000, 31_000_000, 0));
        rate.sample(&sample(314, 32_400_000, 32_400_000, 0));
        assert_eq!((rate.measured(), rate.expected()), (Some(0.1), Some(0.1)));
    }

    #[test]
    fn a_link_that_keeps_up_may_take_what_it_took_of_late_and_little_more() {
        let mut rate = known();
        let (mut at, mut all) = (300, 30_000_000);
        let mut pass = |rate: &mut Rate, each: u64, unsent: u64| {
            for _ in 0..20 {
                (at, all) = (at + 20, all + each);
                rate.sample(&sample(at, all + unsent, all, unsent));
            }
        };
        // What was hoped for while nothing waited was in vain, again and again.
        for _ in 0..5 {
            pass(&mut rate, 1_000_000, 0);
            pass(&mut rate, 2_000_000, 1_000_000);
        }
        // Slower for a while, and then it is the writer that is slow.
        pass(&mut rate, 1_000_000, 1_000_000);
        assert_eq!(rate.measured(), Some(0.05));
        pass(&mut rate, 400_000, 0);
        assert!(rate.expected().is_some_and(|rate| (0.1..0.15).contains(&rate)), "{:?}", rate.expected());
    }

    #[test]
    fn time_that_the_peer_took_is_not_the_links() {
        let mut rate = Rate::default();
        rate.sample(&sample(0, 0, 0, 0));
        let mut slow = sample(100, 2_000_000, 1_000_000, 900_000);
        slow.peer_limited = Duration::from_millis(10);
        rate.sample(&slow);
        let measured = rate.measured();
        assert!(measured.is_some_and(|rate| (rate - 1.0 / 90.0).abs() < 1e-9));
        slow = sample(200, 4_000_000, 1_000_100, 900_000);
        slow.peer_limited = Duration::from_millis(30);
        rate.sample(&slow);
        assert_eq!(rate.measured(), measured);
    }

    #[test]
    fn clocks_and_counters_may_jump() {
        let mut rate = Rate::default();
        for (at, sent, delivered) in
            [(50, 10, 0), (0, 500_000, 1), (u64::MAX / 2, 3, u64::MAX), (7, u64::MAX, 0), (7, 0, 9)]
        {
            rate.sample(&sample(at, sent, delivered, delivered));
            assert!(rate.measured().is_none_or(|rate| rate.is_finite() && rate >= 0.0));
        }
    }

    #[test]
    fn a_change_is_followed_within_a_second() {
        let mut rate = Rate::default();
        let mut sent = 0;
        for (until, bytes) in [(1000, 1_250_000), (1500, 12_500)] {
            for at in (until - 1000..until).step_by(10) {
                sent += bytes;
                rate.sample(&sample(at + 1000, sent, sent, 4_000_000));
            }
        }
        assert!(rate.measured().is_some_and(|rate| (rate - 0.00125).abs() < 1e-4));
    }
}
