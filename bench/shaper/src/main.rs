//! A link between two TUN devices: packets that one device receives leave by the other, limited by the rate and after
//! the delay.
//!
//! `colonnade-shaper A B MBIT DELAY_US LOSS QUEUE_BYTES OFFLOAD [ADDRESS]` creates the devices A and B, prints `ready`,
//! and shapes until its standard input ends. A line `rate MBIT` there changes the rate. Rate, delay, loss (a share from
//! 0 to 1) and queue apply to each direction. With OFFLOAD 1 the kernel passes on units of up to 64 KiB, which a
//! gigabit needs. A loss would then drop a whole unit, so use 0 with loss. ADDRESS is an address by which B's side
//! reaches 127.0.0.1 of A's side, to measure a server that listens on loopback only. A's device needs `route_localnet`.

mod link;
mod loopback;
mod tun;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use link::{Link, Shape};

/// The largest unit: an IP packet with its offload header.
const LARGEST: usize = 65_535 + tun::OFFLOAD_HEADER;
/// Units taken from a device before the other device is served.
const BURST: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [a, b, rate, delay, loss, queue, offload, rest @ ..] = &arguments[..] else {
        return Err("usage: colonnade-shaper A B MBIT DELAY_US LOSS QUEUE_BYTES OFFLOAD [ADDRESS]".into());
    };
    let shape = Shape {
        nanoseconds_per_byte: per_byte(rate.parse()?),
        delay: Duration::from_micros(delay.parse()?),
        loss: loss.parse()?,
        queue: queue.parse()?,
    };
    let offload = offload == "1";
    let address = rest.first().map(|address| address.parse::<Ipv4Addr>()).transpose()?;
    let devices = [tun::open(a, offload)?, tun::open(b, offload)?];
    // A delay of the shaper would be a slower link, so it has priority over everything else on this machine.
    tun::set_realtime();
    println!("ready");
    io::stdout().flush()?;
    run(&devices, [Link::new(shape, 1), Link::new(shape, 2)], if offload { tun::OFFLOAD_HEADER } else { 0 }, address)?;
    Ok(())
}

fn per_byte(mbit: f64) -> f64 {
    8000.0 / mbit
}

/// Shapes until standard input ends. `links[0]` is the way from the first device to the second.
fn run(devices: &[File; 2], mut links: [Link; 2], header: usize, address: Option<Ipv4Addr>) -> io::Result<()> {
    let stdin = io::stdin();
    let (mut unit, mut line) = (vec![0; LARGEST], [0; 64]);
    loop {
        let now = Instant::now();
        for (link, device) in links.iter_mut().zip([&devices[1], &devices[0]]) {
            while let Some(due) = link.due(now) {
                // A device that is down or full loses the packet, as any device does.
                let _ = (&*device).write(&due);
            }
        }
        let next = links.iter().filter_map(Link::next).min();
        let timeout = next.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut polled = [
            PollFd::new(&devices[0], PollFlags::IN),
            PollFd::new(&devices[1], PollFlags::IN),
            PollFd::new(&stdin, PollFlags::IN),
        ];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = [0, 1, 2].map(|index: usize| !polled[index].revents().is_empty());
        for index in 0..2 {
            for _ in 0..if is_ready[index] { BURST } else { 0 } {
                let Ok(length) = (&devices[index]).read(&mut unit) else { break };
                if let Some(address) = address {
                    loopback::translate(&mut unit[..length], header, address);
                }
                links[index].take(Instant::now(), &unit[..length], header);
            }
        }
        if is_ready[2] {
            let length = stdin.lock().read(&mut line)?;
            if length == 0 {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&line[..length]);
            for rate in text.lines().filter_map(|line| line.strip_prefix("rate ")?.parse().ok()) {
                links.iter_mut().for_each(|link| link.set_rate(per_byte(rate)));
            }
        }
    }
}
