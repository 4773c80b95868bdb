use super::tests::{add, tickets, user};
use super::*;
use crate::engine::Role;

#[test]
fn the_space_of_all_results_is_limited_and_freed() {
    let tickets = tickets(Some(1000), None);
    let (ticket, first) = add(&tickets, "a");
    first.charge(700).unwrap();
    let (_, second) = add(&tickets, "b");
    assert_eq!(second.charge(400), Err(LimitError::Tickets(1000)));
    assert_eq!(tickets.counts().bytes, 700);
    tickets.release(&ticket, &user("a", Role::ReadOnly)).unwrap();
    // A reader still has it.
    assert_eq!(second.charge(400), Err(LimitError::Tickets(1000)));
    drop(first);
    second.charge(400).unwrap();
    assert_eq!(tickets.counts().bytes, 400);
}

#[test]
fn the_space_of_one_user_is_limited_and_freed() {
    let limits = Limits { ticket_bytes: Some(2000), user_ticket_bytes: Some(500), ..Limits::default() };
    let tickets = Tickets::new(&limits);
    let (ticket, first) = add(&tickets, "a");
    first.charge(300).unwrap();
    let (_, second) = add(&tickets, "a");
    assert_eq!(second.charge(300), Err(LimitError::UserTickets(500)));
    drop(second);
    let (_, other) = add(&tickets, "b");
    other.charge(500).unwrap();
    assert_eq!(tickets.counts().largest_user_bytes, 500);
    tickets.release(&ticket, &user("a", Role::ReadOnly)).unwrap();
    let (_, third) = add(&tickets, "a");
    // The reader of the first one still has it.
    assert_eq!(third.charge(300), Err(LimitError::UserTickets(500)));
    drop(first);
    third.charge(300).unwrap();
}

#[test]
fn the_number_of_tickets_is_limited() {
    let tickets = tickets(None, None);
    let add_until_refused = |name: &str| {
        let mut added = 0;
        loop {
            match tickets.add(&user(name, Role::ReadWrite), None) {
                Ok(_) => added += 1,
                Err(Failure::Limit(LimitError::TicketCount(most))) => return (added, most),
                Err(other) => panic!("{other}"),
            }
        }
    };
    assert_eq!(add_until_refused("a"), (MAX_USER_TICKETS, MAX_USER_TICKETS));
    assert_eq!(add_until_refused("b"), (MAX_USER_TICKETS, MAX_TICKETS));
    assert_eq!(add_until_refused("c"), (0, MAX_TICKETS));
}
