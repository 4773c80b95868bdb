//! Short results: a connection's first query and a later one.

use colonnade_wire::{CodecSet, Controller};

use crate::mbit;
use crate::recorded::{self, Recorded};
use crate::simulated::{ALL, CONFIGS, Data, INITIAL_WINDOW, SALES, World};

/// Mbit/s, plain megabytes, and the largest regret. A result of 10 MB takes about 20 ms over a gigabit.
const LINKS: [(f64, f64, f64); 4] =
    [(100.0, 10.0, 0.05), (100.0, 100.0, 0.05), (1000.0, 10.0, 0.2), (1000.0, 100.0, 0.1)];

/// The largest regrets for recorded tables. Storms take 5 ms (10 MB) and 50 ms over a gigabit; 10 MB of ddos take 80 ms
/// at 100 Mbit/s.
const RECORDED: [f64; 4] = [0.06, 0.05, 0.5, 0.15];

/// What chunks cost: the same each, or as it was recorded.
#[derive(Clone, Copy)]
enum Datum<'a> {
    Steady(Data),
    Recorded(&'a Recorded),
}

/// How much longer a result of so many megabytes takes than with the best fixed configuration, on a connection that
/// begins with TCP's slow start: its first query, and the next one on a connection that is warm.
fn short_regrets(data: Datum<'_>, rate: f64, sender: (f64, f64), is_overlapped: bool, megabytes: f64) -> [f64; 2] {
    let rtt = if rate > 500.0 { 0.5e6 } else { 2e6 };
    let (recorded, data) = match data {
        Datum::Recorded(table) => (Some(table), SALES),
        Datum::Steady(data) => (None, data),
    };
    let (data, rate) = (|_| data, |_| mbit(rate));
    let chunks = megabytes / 4.0;
    let controller = || {
        let controller = Controller::adaptive(CodecSet::ALL, 1.0);
        if is_overlapped { controller.overlapped() } else { controller }
    };
    let world = |window| World { recorded, is_overlapped, rtt, sender, window, ..World::new(&data, 0.7, &rate) };
    let mut first = controller();
    let mut own = world(INITIAL_WINDOW);
    let times = [own.send_part(&mut first, chunks), {
        let estimate = first.link_estimate().unwrap_or_default();
        let mut later = controller().remembering(&estimate);
        world(own.window).send_part(&mut later, chunks)
    }];
    let best = [INITIAL_WINDOW, own.window].map(|window| {
        let times = CONFIGS.map(|config| world(window).send_part(&mut Controller::fixed(config), chunks));
        times.into_iter().fold(f64::INFINITY, f64::min)
    });
    [times[0] / best[0] - 1.0, times[1] / best[1] - 1.0]
}

/// One that sends by itself, one with a thread that sends at once, and one with a thread that runs late and shares the
/// CPU.
const SENDERS: [(&str, (f64, f64), bool); 3] =
    [("alone", (0.0, 0.0), false), ("calm", (0.0, 0.0), true), ("busy", (1e6, 2.0), true)];

#[test]
fn short_results() {
    for (name, sender, is_overlapped) in SENDERS {
        for (rate, megabytes, most) in LINKS {
            let regrets =
                ALL.map(|(_, data)| short_regrets(Datum::Steady(data), rate, sender, is_overlapped, megabytes));
            for (query, place) in [("first", 0), ("later", 1)] {
                let regrets = regrets.map(|both| both[place]);
                let shown = regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join("");
                println!("{name:>6} {query} {rate:>5} Mbit/s {megabytes:>4} MB{shown}");
                let worst = regrets.into_iter().fold(0.0, f64::max);
                assert!(worst <= most, "{name}, {query} query, {rate} Mbit/s, {megabytes} MB: {:.1} %", worst * 100.0);
            }
        }
    }
}

#[test]
fn short_results_of_recorded_tables() {
    let tables = recorded::tables();
    let mut too_long = Vec::new();
    for (name, sender, is_overlapped) in SENDERS {
        for ((rate, megabytes, _), most) in LINKS.into_iter().zip(RECORDED) {
            for (table, recorded) in &tables {
                let regrets = short_regrets(Datum::Recorded(recorded), rate, sender, is_overlapped, megabytes);
                let shown = regrets.map(|regret| format!("{:7.1}%", regret * 100.0)).join("");
                println!("{name:>6} {table:>8} {rate:>5} Mbit/s {megabytes:>4} MB{shown}");
                let worst = regrets.into_iter().fold(0.0, f64::max);
                if worst > most {
                    too_long.push(format!("{name}, {table}, {rate} Mbit/s, {megabytes} MB: {:.1} %", worst * 100.0));
                }
            }
        }
    }
    assert!(too_long.is_empty(), "{too_long:#?}");
}
