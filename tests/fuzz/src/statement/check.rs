//! Checks the server's fence for every kind of user:
//!
//! - It refuses a statement that uses anything that the user may not use.
//! - Its judgement does not depend on letter case, spaces, comments and neighbouring statements.
//! - It refuses a statement that exceeds a bound.

use std::sync::LazyLock;

use colonnade_duckdb::fence::{Fence, Refusal, Rights};
use colonnade_duckdb::{ServedDatabase, Translated};
use colonnade_sql::split::split;
use colonnade_sql::statement::{CopySource, CopyStatement};
use colonnade_sql::{Dialect, Statement, StatementKind};

use super::{Choices, GeneratedStatement, Judgement, NONE, RIGHTS, WORDS, grammatical, judge, rewritten, tokens};

static FENCE: LazyLock<Fence> = LazyLock::new(|| {
    let catalog = WORDS.functions.iter().chain(WORDS.listed.iter().map(|(name, _)| name));
    Fence::new(catalog.map(|name| (*name).to_owned()), 1 << 20).expect("the lists are read")
});

/// Checks that a user who may not send a text cannot send the form into which the server changes it.
fn stays_refused(text: &str, rights: Rights, what: &str) {
    assert!(FENCE.check(text, rights).is_err(), "{what}: {rights:?} may send {text:?}");
}

/// Checks that the fence finds what the grammar has recorded.
fn expect(statement: &GeneratedStatement, judgement: &Judgement, index: usize) {
    let is_permitted = statement.permits >> index & 1 == 1;
    match judgement {
        Judgement::Passes { kinds, carried, .. } => {
            assert!(is_permitted, "{:?} may send {:?}", RIGHTS[index], statement.text);
            assert!(!statement.is_too_deep, "{:?} is too deep", statement.text);
            assert!(statement.kind.is_none_or(|kind| kinds.contains(&kind)), "{kinds:?}: {:?}", statement.text);
            if let Some((first, kind)) = statement.carried.filter(|_| statement.is_whole) {
                let found = carried.expect("it carries a statement");
                assert!(found.0 == first && found.1.contains(&kind), "{found:?}: {:?}", statement.text);
            }
        }
        Judgement::Refused(Refusal::Deep { .. }) => {}
        Judgement::Refused(refusal) => {
            let is_sure = is_permitted && statement.is_whole && !statement.is_too_deep;
            assert!(!is_sure, "{refusal}: {:?} may send {:?}", RIGHTS[index], statement.text);
        }
    }
}

/// Checks the judgement of a text between other statements, and after the server has changed it.
fn beside(text: &str, judgement: &Judgement, starts: &[usize], rights: Rights, choices: &mut Choices<'_>) {
    let is_refused = matches!(judgement, Judgement::Refused(_));
    match choices.byte() % 4 {
        // The text may end with a comment, which the line break ends.
        0 => {
            let several = format!("{text}\n; select 1");
            assert!(FENCE.check(&several, rights).is_err(), "two statements pass as one: {several:?}");
        }
        1 => {
            let several = format!(";; select ';' ; {text}\n;\n; select 1 -- ;\n;");
            let parts: Vec<_> = split(&several, Dialect::DuckDb).collect();
            let is_one = !starts.iter().any(|start| text[*start..].starts_with(';')) && !starts.is_empty();
            if is_one {
                let [_, found, _] = parts.as_slice() else { panic!("{} statements: {several:?}", parts.len()) };
                let found_at = |start: usize| position(starts, starts[0] + start);
                assert_eq!(judge(&FENCE, found.text, found_at, rights), *judgement, "{several:?}");
            }
        }
        2 if is_refused => {
            let served = ServedDatabase { database: "shop".to_owned(), ..ServedDatabase::default() };
            stays_refused(&Translated::new(text, &served).text, rights, "translated");
        }
        _ => {}
    }
}

fn position(starts: &[usize], start: usize) -> usize {
    starts.binary_search(&start).unwrap_or(usize::MAX)
}

/// Makes a statement out of bytes and checks the fence's judgement. The first byte chooses between the grammar and the
/// bytes themselves, the second one the user.
///
/// # Panics
/// If the judgement is wrong.
pub fn check(bytes: &[u8]) {
    let [source, user, rest @ ..] = bytes else { return };
    let index = usize::from(user % 8).checked_sub(4).unwrap_or_else(|| usize::from(user % 2));
    let (rights, mut choices) = (RIGHTS[index], Choices::new(rest));
    let statement = if source % 4 == 3 {
        let (how, text) = rest.split_at(rest.len().min(8));
        choices = Choices::new(how);
        let Ok(text) = std::str::from_utf8(text) else { return };
        GeneratedStatement { text: text.to_owned(), permits: NONE, ..GeneratedStatement::default() }
    } else {
        grammatical(&mut choices)
    };
    let text = statement.text.as_str();
    let Ok(cut) = tokens(text) else {
        assert_eq!(source % 4, 3, "a statement of the grammar is cut: {text:?}");
        return stays_refused(text, rights, "not cut into tokens");
    };
    let starts: Vec<_> = cut.iter().map(|token| token.start).collect();
    let judgement = judge(&FENCE, text, |start| position(&starts, start), rights);
    if source % 4 != 3 {
        assert_eq!(cut, statement.tokens, "{text:?}");
        expect(&statement, &judgement, index);
    }
    let (otherwise, places) = rewritten(text, &cut, &mut choices);
    let again = judge(&FENCE, &otherwise, |start| position(&places, start), rights);
    assert_eq!(again, judgement, "{text:?} and {otherwise:?}");
    beside(text, &judgement, &starts, rights, &mut choices);
    if source % 4 == 0 && statement.is_whole && matches!(judgement, Judgement::Refused(_)) {
        // In COPY, the fence judges the query that the server extracts.
        let copied = format!("copy ( {text} ) to stdout");
        if let StatementKind::Copy(Ok(CopyStatement::ToStdout(CopySource::Query(query), _))) =
            Statement::of(&copied, Dialect::DuckDb).kind
        {
            stays_refused(&copied[query], rights, "copied");
        }
    }
}
