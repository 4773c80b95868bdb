//! One direction of the link.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The properties of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The inverse of its rate.
    pub(crate) nanoseconds_per_byte: f64,
    /// The propagation delay of a byte.
    pub(crate) delay: Duration,
    /// The share of packets that are lost.
    pub(crate) loss: f64,
    /// The maximum number of bytes in the queue. Packets beyond it are lost.
    pub(crate) queue: f64,
}

/// Bytes of Ethernet around a packet; bytes of Ethernet, IP and TCP around each further packet of an offloaded unit.
const FRAME: usize = 18;
const FURTHER_FRAME: usize = 58;

/// Packets in transit, in order.
pub(crate) struct Link {
    shape: Shape,
    under_way: VecDeque<(Instant, Vec<u8>)>,
    /// When the last packet that entered the link has left.
    free: Instant,
    random: u64,
}

impl Link {
    pub(crate) fn new(shape: Shape, seed: u64) -> Self {
        Self { shape, under_way: VecDeque::new(), free: Instant::now(), random: seed }
    }

    /// Packets that enter the link from now on leave at this rate. Packets in the queue keep theirs.
    pub(crate) fn set_rate(&mut self, nanoseconds_per_byte: f64) {
        self.shape.nanoseconds_per_byte = nanoseconds_per_byte;
    }

    /// A unit enters the link, with this number of bytes of offload header in front.
    pub(crate) fn take(&mut self, now: Instant, unit: &[u8], header: usize) {
        if self.random() < self.shape.loss {
            return;
        }
        let start = self.free.max(now);
        let waiting = start.saturating_duration_since(now).as_nanos() as f64 / self.shape.nanoseconds_per_byte;
        if waiting > self.shape.queue {
            return;
        }
        let payload = unit.len().saturating_sub(header);
        // virtio_net_hdr: flags, gso_type, hdr_len, gso_size, …
        let segment = match unit {
            [_, _, _, _, low, high, ..] if header > 0 => usize::from(u16::from_ne_bytes([*low, *high])),
            _ => 0,
        };
        let frames = payload.checked_div(segment).unwrap_or(0);
        let bytes = payload + FRAME + frames * FURTHER_FRAME;
        self.free = start + Duration::from_nanos((bytes as f64 * self.shape.nanoseconds_per_byte) as u64);
        self.under_way.push_back((self.free + self.shape.delay, unit.to_vec()));
    }

    /// The next unit that has arrived.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.next().filter(|at| *at <= now).and_then(|_| self.under_way.pop_front()).map(|(_, unit)| unit)
    }

    /// When the next unit arrives.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.under_way.front().map(|(at, _)| *at)
    }

    /// From 0 to 1; xorshift64*, the same in every run.
    fn random(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn link(queue: f64, loss: f64) -> Link {
        let delay = Duration::from_millis(5);
        Link::new(Shape { nanoseconds_per_byte: 1000.0, delay, loss, queue }, 1)
    }

    #[test]
    fn bytes_take_their_time_and_packets_their_turn() {
        let (mut link, now) = (link(1e6, 0.0), Instant::now());
        link.take(now, &[1; 1000 - FRAME], 0);
        link.take(now, &[2; 1000 - FRAME], 0);
        assert!(link.due(now + Duration::from_micros(5999)).is_none());
        assert_eq!(link.due(now + Duration::from_micros(6001)).unwrap()[0], 1);
        assert!(link.due(now + Duration::from_micros(6001)).is_none());
        assert_eq!(link.due(now + Duration::from_micros(7001)).unwrap()[0], 2);
    }

    #[test]
    fn a_full_queue_loses_what_comes() {
        let (mut link, now) = (link(2500.0, 0.0), Instant::now());
        (0..10).for_each(|_| link.take(now, &[0; 1000 - FRAME], 0));
        assert_eq!(link.under_way.len(), 3);
    }

    #[test]
    fn as_many_are_lost_as_was_said() {
        let (mut link, now) = (link(f64::INFINITY, 0.01), Instant::now());
        (0..100_000).for_each(|_| link.take(now, &[0; 40], 0));
        assert!((98_500..99_500).contains(&link.under_way.len()));
    }
}
