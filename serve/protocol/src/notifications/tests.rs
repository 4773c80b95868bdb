use std::convert::Infallible;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

fn sessions<const N: usize>(all: &Arc<Notifications>) -> [SessionNotifications; N] {
    std::array::from_fn(|at| all.session(at as i32 + 1))
}

fn commit(session: &SessionNotifications) {
    session.commit(|| Ok(()), || Ok::<_, Infallible>(())).unwrap();
}

fn listen(session: &SessionNotifications, channel: &str) {
    session.change(ChannelChange::Listen(channel.to_owned())).unwrap();
    commit(session);
}

/// What has arrived: who has sent it, the channel and the text.
fn received(session: &SessionNotifications) -> Vec<(i32, String, String)> {
    session.take().map(|queued| (queued.process, queued.channel.clone(), queued.payload.clone())).collect()
}

fn texts(session: &SessionNotifications) -> Vec<String> {
    received(session).into_iter().map(|(_, _, payload)| payload).collect()
}

fn is_woken(session: &SessionNotifications) -> bool {
    let arrival = session.arrival().unwrap();
    poll(&mut [PollFd::from_borrowed_fd(arrival, PollFlags::IN)], Some(&Timespec::default())).unwrap() > 0
}

#[test]
fn a_commit_sends_to_all_that_listen() {
    let [a, b, c] = sessions(&Arc::default());
    listen(&a, "x");
    listen(&b, "x");
    listen(&b, "y");
    listen(&c, "z");
    a.notify("x", "1").unwrap();
    a.notify("y", "2").unwrap();
    assert!(received(&b).is_empty() && !is_woken(&b));
    commit(&a);
    assert!(is_woken(&a) && is_woken(&b) && !is_woken(&c));
    assert_eq!(received(&a), [(1, "x".to_owned(), "1".to_owned())]);
    assert_eq!(received(&b), [(1, "x".to_owned(), "1".to_owned()), (1, "y".to_owned(), "2".to_owned())]);
    assert!(received(&c).is_empty() && !is_woken(&a) && !is_woken(&b));
}

#[test]
fn a_commit_that_fails_sends_nothing_yet() {
    let [a] = sessions(&Arc::default());
    listen(&a, "x");
    a.notify("x", "1").unwrap();
    assert_eq!(a.commit(|| Ok(()), || Err("it failed")), Err("it failed"));
    assert!(texts(&a).is_empty());
    a.roll_back(NotificationMark::default());
    commit(&a);
    assert!(texts(&a).is_empty());
}

#[test]
fn equal_ones_of_a_transaction_are_sent_once() {
    let [a] = sessions(&Arc::default());
    listen(&a, "x");
    for text in ["1", "2", "1", "2"] {
        a.notify("x", text).unwrap();
    }
    commit(&a);
    a.notify("x", "1").unwrap();
    commit(&a);
    assert_eq!(texts(&a), ["1", "2", "1"]);
}

#[test]
fn a_transaction_goes_back_to_a_mark() {
    let [a] = sessions(&Arc::default());
    listen(&a, "x");
    a.notify("x", "1").unwrap();
    let mark = a.mark();
    a.notify("x", "2").unwrap();
    a.change(ChannelChange::UnlistenAll).unwrap();
    a.roll_back(mark);
    a.notify("x", "3").unwrap();
    // It was forgotten, so it is no repetition.
    a.notify("x", "2").unwrap();
    commit(&a);
    assert_eq!(texts(&a), ["1", "3", "2"]);
}

#[test]
fn channels_change_at_commit_and_before_what_the_transaction_sends() {
    let [a] = sessions(&Arc::default());
    a.change(ChannelChange::Listen("x".to_owned())).unwrap();
    a.notify("x", "1").unwrap();
    assert!(a.channels().is_empty() && a.arrival().is_none());
    commit(&a);
    assert_eq!((a.channels(), texts(&a)), (vec!["x".to_owned()], vec!["1".to_owned()]));
    a.notify("x", "2").unwrap();
    commit(&a);
    a.change(ChannelChange::Unlisten("x".to_owned())).unwrap();
    a.notify("x", "3").unwrap();
    commit(&a);
    // Neither the one that was sent after it nor the one that waited.
    assert!(texts(&a).is_empty() && a.arrival().is_none());
}

#[test]
fn names_and_texts_have_limits() {
    let [a] = sessions(&Arc::default());
    assert_eq!(a.notify("", "x"), Err(NotificationError::EmptyChannel));
    assert_eq!(a.notify(&"c".repeat(64), "x"), Err(NotificationError::LongChannel));
    assert_eq!(a.notify("c", &"x".repeat(8000)), Err(NotificationError::LongPayload));
    assert_eq!(a.notify(&"c".repeat(63), &"x".repeat(7999)), Ok(()));
    for number in 0..MAX_CHANNELS {
        a.change(ChannelChange::Listen(number.to_string())).unwrap();
    }
    commit(&a);
    let one_more = a.change(ChannelChange::Listen("x".to_owned()));
    assert_eq!(one_more, Err(NotificationError::TooManyChannels));
}

#[test]
fn only_a_new_channel_is_one_too_many() {
    let [a] = sessions(&Arc::default());
    let listen = |number: usize| a.change(ChannelChange::Listen(number.to_string()));
    (0..MAX_CHANNELS).try_for_each(listen).unwrap();
    commit(&a);
    let mark = a.mark();
    listen(0).unwrap();
    a.change(ChannelChange::Unlisten("0".to_owned())).unwrap();
    listen(MAX_CHANNELS).unwrap();
    assert_eq!(listen(0), Err(NotificationError::TooManyChannels));
    a.roll_back(mark);
    assert_eq!(listen(MAX_CHANNELS), Err(NotificationError::TooManyChannels));
    for _ in 0..2 * MAX_CHANGES {
        a.change(ChannelChange::Listen("0".to_owned())).unwrap();
        a.change(ChannelChange::Unlisten("none".to_owned())).unwrap();
    }
    a.change(ChannelChange::UnlistenAll).unwrap();
    commit(&a);
    assert!(a.channels().is_empty());
    let change = || listen(1).and_then(|()| a.change(ChannelChange::UnlistenAll));
    assert_eq!((0..MAX_CHANGES).try_for_each(|_| change()), Err(NotificationError::TooManyChanges));
}

#[test]
fn a_session_that_waits_for_anothers_commit_can_be_stopped() {
    let [a, b, c] = sessions(&Arc::default());
    listen(&c, "x");
    a.notify("x", "1").unwrap();
    b.notify("x", "2").unwrap();
    let committed = a.commit(
        || Ok(()),
        || {
            // It waits for this commit, and is stopped.
            assert_eq!(b.commit(|| Err("stopped"), || Ok(())), Err("stopped"));
            // What sends nothing does not wait.
            c.commit(|| Err("stopped"), || Ok(()))
        },
    );
    assert_eq!(committed, Ok(()));
    commit(&b);
    assert_eq!(texts(&c), ["1", "2"]);
}

#[test]
fn all_that_wait_share_a_quota_until_they_are_taken() {
    let all = Arc::new(Notifications::with_quota(4096));
    let [a, b, c] = sessions(&all);
    listen(&b, "x");
    listen(&c, "x");
    let text = "x".repeat(3000);
    a.notify("x", &text).unwrap();
    assert_eq!(b.notify("y", &text), Err(NotificationError::QueueFull(4096)));
    commit(&a);
    assert_eq!(texts(&b).len(), 1);
    assert_eq!(b.notify("y", &text), Err(NotificationError::QueueFull(4096)));
    // The last one that waited for it.
    c.discard();
    b.notify("y", &text).unwrap();
    b.roll_back(NotificationMark::default());
    assert_eq!(all.queue.used(), 0);
}

#[test]
fn a_session_that_ends_listens_no_more() {
    let all = Arc::<Notifications>::default();
    let [a, b] = sessions(&all);
    listen(&a, "x");
    b.notify("x", "1").unwrap();
    drop(a);
    commit(&b);
    assert!(lock(&all.listeners).is_empty() && all.queue.used() == 0);
}
