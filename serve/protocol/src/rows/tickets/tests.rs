use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;

use colonnade_wire::{Config, DecodeLimits, Decoder, Link, Message};
use proptest::prelude::*;

use super::*;
use crate::connection::cancel::Control;
use crate::connection::output::Output;
use crate::connection::registry::{NewSession, Registry};
use crate::connection::socket::Socket;
use crate::copy::options::StreamOptions;
use crate::engine::{Interrupt, Role, Rows};
use crate::rows::spool::Spools;

pub(super) fn user(name: &str, role: Role) -> SessionUser {
    SessionUser { name: name.to_owned(), role, connections: None, functions: false, entry: 0 }
}

pub(super) fn tickets(bytes: Option<usize>, ttl: Option<Duration>) -> Arc<Tickets> {
    Tickets::new(&Limits { ticket_bytes: bytes, ticket_ttl: ttl, ..Limits::default() })
}

pub(super) fn add(tickets: &Tickets, name: &str) -> (String, Arc<Spooled>) {
    let (ticket, spooled) = tickets.add(&user(name, Role::ReadOnly), None).unwrap();
    (ticket.to_string(), spooled)
}

#[test]
fn tickets_are_long_and_differ() {
    let (first, second) = (Ticket::random().unwrap(), Ticket::random().unwrap());
    assert!(first != second);
    assert_eq!(first.to_string().len(), 32);
    assert!(Ticket::parse(&first.to_string()) == Some(first));
    let text = first.to_string();
    for odd in ["", "1", &text[1..], &format!("{text}0"), &format!("+{}", &text[1..]), "zz", &"é".repeat(16)] {
        assert!(Ticket::parse(odd).is_none(), "{odd}");
    }
}

#[test]
fn all_wrong_tickets_give_the_same_error() {
    let tickets = tickets(None, Some(Duration::from_secs(10)));
    let (ticket, spooled) = add(&tickets, "a");
    spooled.complete();
    assert!(tickets.find(&ticket, &user("a", Role::ReadOnly)).is_ok());
    assert!(tickets.find(&ticket.to_uppercase(), &user("a", Role::ReadOnly)).is_ok());
    let error = |ticket: &str, user: &SessionUser| match tickets.find(ticket, user) {
        Err(Failure::Engine(error)) => error,
        _ => panic!("{ticket} was found"),
    };
    let expected = error("", &user("a", Role::ReadOnly));
    assert_eq!(expected.code, SqlState::UNDEFINED_OBJECT);
    assert_eq!(error(&ticket, &user("b", Role::ReadOnly)), expected);
    assert_eq!(error(&ticket, &user("a", Role::ReadWrite)), expected);
    assert_eq!(error(&Ticket::random().unwrap().to_string(), &user("a", Role::ReadOnly)), expected);
    tickets.release(&ticket, &user("a", Role::ReadOnly)).unwrap();
    assert_eq!(error(&ticket, &user("a", Role::ReadOnly)), expected);
}

#[test]
fn a_ticket_expires_if_its_result_is_complete_and_nobody_reads() {
    let ttl = Duration::from_secs(10);
    let tickets = tickets(None, Some(ttl));
    let (_, spooled) = add(&tickets, "a");
    let late = Instant::now() + ttl + Duration::from_secs(1);
    spooled.add(Part::default());
    tickets.expire(late);
    assert_eq!(tickets.counts().tickets, 1, "a result that is written has expired");
    spooled.complete();
    {
        let (_, _reading) = spooled.parts(1, 1).unwrap();
        tickets.expire(late);
        assert_eq!(tickets.counts().tickets, 1, "a result that is read has expired");
    }
    tickets.expire(Instant::now());
    assert_eq!(tickets.counts().tickets, 1);
    tickets.expire(late);
    assert_eq!(tickets.counts(), SpoolCounts { begun: 1, ..SpoolCounts::default() });
}

#[test]
fn a_session_can_shorten_the_time_and_not_extend_it() {
    let tickets = tickets(None, Some(Duration::from_secs(10)));
    for (wanted, seconds) in [(Some(3), 3), (Some(20), 10), (None, 10)] {
        let (_, spooled) = tickets.add(&user("a", Role::ReadOnly), wanted.map(Duration::from_secs)).unwrap();
        spooled.complete();
        let now = Instant::now();
        assert!(!spooled.has_expired(now + Duration::from_secs(seconds - 1)));
        assert!(spooled.has_expired(now + Duration::from_secs(seconds + 1)));
    }
}

#[test]
fn a_missing_part_has_an_error_of_its_own() {
    let tickets = tickets(None, None);
    let (_, spooled) = add(&tickets, "a");
    let code_of = |first, last| match spooled.parts(first, last) {
        Err(failure) => failure.code().as_str().to_owned(),
        Ok((parts, _)) => format!("{:05}", parts.len()),
    };
    let code = |number| code_of(number, number);
    assert_eq!((code(1), code(0), code(-1)), ("55000".to_owned(), "42704".to_owned(), "42704".to_owned()));
    spooled.add(Part::default());
    assert_eq!((code(1), code(2)), ("00001".to_owned(), "55000".to_owned()));
    spooled.add(Part::default());
    spooled.complete();
    for (first, last, expected) in [
        (3, 3, "42704"),
        (i64::MAX, i64::MAX, "42704"),
        (1, 3, "42704"),
        (0, 1, "42704"),
        (1, 0, "42704"),
        (2, 1, "22023"),
        (1, 2, "00002"),
    ] {
        assert_eq!(code_of(first, last), expected, "{first} to {last}");
    }
}

#[test]
fn chunks_are_sent_as_they_are_only_if_the_reader_takes_them() {
    let form = |config: &str| spooled::KeptForm { config: config.parse().unwrap(), type_names: Vec::new(), columns: 1 };
    let part = Part { max_rows: 1000, max_plain_bytes: 8000, max_message_bytes: 9000, ..Part::default() };
    let options = StreamOptions::default;
    let fixed = |config: &str| StreamOptions { compression: Some(config.parse().unwrap()), ..options() };
    for (config, options, link, expected) in [
        ("plain", options(), Link::SameMachine, true),
        ("light", options(), Link::Loopback, true),
        ("plain", options(), Link::Remote, false),
        ("light", options(), Link::Unobserved, false),
        ("light", fixed("light"), Link::Remote, true),
        ("light", fixed("plain"), Link::SameMachine, false),
        ("light", StreamOptions { encodings: "plain".parse().unwrap(), ..options() }, Link::SameMachine, false),
        ("plain", StreamOptions { encodings: "plain".parse().unwrap(), ..options() }, Link::SameMachine, true),
        ("light+lz4", StreamOptions { codecs: "none,zstd".parse().unwrap(), ..options() }, Link::SameMachine, false),
        ("plain", StreamOptions { chunk_rows: 999, ..options() }, Link::SameMachine, false),
        ("plain", StreamOptions { chunk_bytes: 7999, ..options() }, Link::SameMachine, false),
        ("plain", StreamOptions { chunk_bytes: 8000, ..options() }, Link::SameMachine, true),
        ("plain", StreamOptions { max_message_bytes: 8999, ..options() }, Link::SameMachine, false),
    ] {
        assert_eq!(form(config).suits(&part, &options, link), expected, "{config} {options:?} {link:?}");
    }
}

/// Rows of one column, in batches of these sizes; fails at the end if `fails`.
struct Counted {
    batches: Vec<usize>,
    next: i64,
    fails: bool,
}

impl Rows for Counted {
    fn schema(&self) -> arrow_schema::SchemaRef {
        Arc::new(arrow_schema::Schema::new(vec![arrow_schema::Field::new("n", arrow_schema::DataType::Int64, false)]))
    }

    fn next(&mut self) -> Result<Option<arrow_array::RecordBatch>, EngineError> {
        if self.batches.is_empty() {
            let error = EngineError::new(SqlState::DIVISION_BY_ZERO, "division by zero");
            return if self.fails { Err(error) } else { Ok(None) };
        }
        let rows = self.batches.remove(0) as i64;
        let numbers = arrow_array::Int64Array::from_iter_values(self.next..self.next + rows);
        self.next += rows;
        Ok(Some(arrow_array::RecordBatch::try_new(self.schema(), vec![Arc::new(numbers)]).unwrap()))
    }
}

struct NoInterrupt;

impl Interrupt for NoInterrupt {
    fn interrupt(&self) {}
}

fn session() -> (Arc<Control>, Output, UnixStream) {
    let (socket, peer) = UnixStream::pair().unwrap();
    let socket = Arc::new(Socket::from(socket));
    let limits = Arc::new(Limits::default());
    let (user, interrupt) = (user("a", Role::ReadOnly), Arc::new(NoInterrupt));
    let new = NewSession { user, interrupt, socket: Arc::clone(&socket), secret_bytes: 4 };
    let spools = Spools::new(&limits);
    let registration = Arc::new(Registry::default()).register(new, &limits, &spools, &Arc::default());
    (Arc::clone(&registration.unwrap().control), Output::new(socket), peer)
}

fn settings(part_bytes: u64, config: Config) -> SpoolSettings {
    SpoolSettings { part_bytes, parts: None, ttl: None, config }
}

/// Writes a spool to its end. Gives its parts, and the rows of `colonnade_spool`.
fn spool(
    control: &Arc<Control>,
    tickets: &Arc<Tickets>,
    batches: Vec<usize>,
    settings: SpoolSettings,
) -> (Arc<Spooled>, Vec<Part>) {
    let rows = Box::new(Counted { batches, next: 0, fails: false });
    let mut rows = SpoolingRows::begin(rows, control, tickets, settings).unwrap();
    let spooled = rows.spooled().clone();
    let mut parts = Vec::new();
    while let Some(batch) = rows.next().unwrap() {
        assert_eq!(batch.num_rows(), 1);
        // A part can be read as soon as its row is there.
        let number = parts.len() as i64 + 1;
        parts.extend(spooled.parts(number, number).unwrap().0);
    }
    drop(rows);
    (spooled, parts)
}

/// The values in a part's stream, as another process would read it from CopyData messages.
fn values(mut frames: &[u8]) -> Vec<i64> {
    let mut decoder = Decoder::new(DecodeLimits::default());
    let mut values = Vec::new();
    while !frames.is_empty() {
        assert_eq!(frames[0], b'd');
        let length = u32::from_be_bytes(frames[1..5].try_into().unwrap()) as usize;
        let message = bytes::Bytes::copy_from_slice(&frames[5..1 + length]);
        if let Message::Chunk(chunk) = decoder.message(message).unwrap() {
            let colonnade_wire::Values::Fixed(bytes) = chunk.column(0).unwrap().values else { panic!() };
            values.extend(bytes.chunks_exact(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap())));
        }
        frames = &frames[1 + length..];
    }
    assert_eq!(decoder.finish().unwrap().rows, values.len() as u64);
    values
}

/// The values of parts as the server decodes them.
fn decoded_values(spooled: &Arc<Spooled>, parts: Vec<Part>, selection: Selection) -> Vec<i64> {
    let mut reader = PartReader::new(spooled, parts, selection).unwrap();
    let mut values = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        let column = batch.column(0).as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
        values.extend(column.values().iter().copied());
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_parts_have_each_row_once_and_in_order(
        batches in prop::collection::vec(0_usize..3000, 0..12),
        part_bytes in 1_u64..60_000,
        is_plain in any::<bool>(),
    ) {
        let (tickets, (control, mut output, mut peer)) = (tickets(None, None), session());
        let total: usize = batches.iter().sum();
        let config = if is_plain { Config::PLAIN } else { Config::LIGHT_LZ4 };
        let (spooled, parts) = spool(&control, &tickets, batches, settings(part_bytes, config));
        prop_assert!(!parts.is_empty());
        let (mut sent, mut decoded) = (Vec::new(), Vec::new());
        for (at, part) in parts.iter().enumerate() {
            let mut in_file = vec![0; part.length as usize];
            spooled.file.read_exact_at(&mut in_file, part.start).unwrap();
            let length = part.length as usize;
            let reader = std::thread::spawn(move || {
                let mut received = vec![0; length];
                peer.read_exact(&mut received).unwrap();
                (peer, received)
            });
            send(&mut output, &control, &spooled.file, part).unwrap();
            let received;
            (peer, received) = reader.join().unwrap();
            prop_assert!(received == in_file);
            let numbers = values(&received);
            prop_assert_eq!(numbers.len() as u64, part.rows);
            prop_assert_eq!(part.plain_bytes, 8 * part.rows);
            prop_assert!(part.plain_bytes >= part_bytes || at + 1 == parts.len());
            sent.extend(numbers);
            decoded.extend(decoded_values(&spooled, vec![*part], Selection::default()));
        }
        prop_assert!(sent == (0..total as i64).collect::<Vec<_>>());
        prop_assert!(decoded == sent);
        prop_assert!(decoded_values(&spooled, parts.clone(), Selection::default()) == sent);
        let most = total / 2;
        let limited = Selection { limit: Some(most as u64), columns: Some(vec![0]) };
        prop_assert!(decoded_values(&spooled, parts.clone(), limited) == sent[..most]);
        let bytes: u64 = parts.iter().map(|part| part.length).sum();
        prop_assert_eq!(tickets.counts().bytes, bytes);
    }
}

#[test]
fn a_failed_or_abandoned_spool_has_no_ticket_and_takes_no_space() {
    let tickets = tickets(None, None);
    let (control, _output, _peer) = session();
    let rows = Box::new(Counted { batches: vec![100, 100], next: 0, fails: true });
    let mut failing = SpoolingRows::begin(rows, &control, &tickets, settings(1, Config::PLAIN)).unwrap();
    assert!(failing.next().unwrap().is_some() && failing.next().unwrap().is_some());
    assert_eq!(tickets.counts().tickets, 1);
    assert_eq!(failing.next().unwrap_err().code, SqlState::DIVISION_BY_ZERO);
    assert_eq!(tickets.counts().tickets, 0);
    assert!(failing.next().is_err(), "a failed spool seems complete");
    drop(failing);
    let rows = Box::new(Counted { batches: vec![100, 100], next: 0, fails: false });
    let mut abandoned = SpoolingRows::begin(rows, &control, &tickets, settings(1, Config::PLAIN)).unwrap();
    assert!(abandoned.next().unwrap().is_some());
    assert_eq!(tickets.counts().tickets, 1);
    drop(abandoned);
    assert_eq!(tickets.counts(), SpoolCounts { begun: 2, ..SpoolCounts::default() });
}

#[test]
fn a_damaged_file_is_noticed() {
    let (tickets, (control, _output, _peer)) = (tickets(None, None), session());
    let (spooled, parts) = spool(&control, &tickets, vec![1000], settings(u64::MAX, Config::PLAIN));
    let read = |part: &Part| {
        let mut reader = PartReader::new(&spooled, vec![*part], Selection::default())?;
        while reader.next()?.is_some() {}
        Ok::<(), Failure>(())
    };
    read(&parts[0]).unwrap();
    let place = parts[0].start + parts[0].length / 2;
    spooled.file.write_all_at(&[0x55], place).unwrap();
    assert_eq!(read(&parts[0]).unwrap_err().code(), SqlState::IO_ERROR);
}

#[test]
fn a_result_that_is_to_be_shared_has_small_parts_first() {
    let (tickets, (control, _output, _peer)) = (tickets(None, None), session());
    let shared = |shares| SpoolSettings { parts: Some(shares), ..settings(8 << 20, Config::PLAIN) };
    let rows = |batches, shares| {
        let (_, parts) = spool(&control, &tickets, batches, shared(shares));
        parts.iter().map(|part| part.rows).collect::<Vec<_>>()
    };
    assert_eq!(rows(vec![], 8), [0]);
    assert_eq!(rows(vec![1000], 8), [1000]);
    assert_eq!(rows(vec![4096, 4096], 8), [1024; 8]);
    let many = rows(vec![65_536; 64], 8);
    let total: u64 = many.iter().sum();
    assert_eq!(total, 64 * 65_536);
    let mut before = 0;
    for part in &many {
        assert!(*part <= 1024.max(before / 16), "{part} of {before}");
        before += part;
    }
    assert!(many.len() < 400, "{}", many.len());
}

#[test]
fn columns_are_chosen_by_their_numbers() {
    let (tickets, (control, _output, _peer)) = (tickets(None, None), session());
    let (spooled, parts) = spool(&control, &tickets, vec![10], settings(1, Config::PLAIN));
    let columns = |columns| Selection { columns: Some(columns), limit: None };
    let error = PartReader::new(&spooled, parts.clone(), columns(vec![0, 1])).err().unwrap();
    assert_eq!(error.code(), SqlState::UNDEFINED_COLUMN);
    let nothing = Selection { columns: None, limit: Some(0) };
    let mut reader = PartReader::new(&spooled, parts, nothing).unwrap();
    assert_eq!(reader.schema().fields().len(), 1);
    assert!(reader.next().unwrap().is_none());
}
