//! The SELECT around a call of a function in LANGUAGE PYTHON that gives a value: such a call is a whole item of a
//! SELECT list.

use std::ops::Range;

use colonnade_sql::{Dialect, Token, TokenKind, code};

/// One SELECT, up to its ORDER BY, LIMIT or set operation. Places are bytes of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectBlock {
    /// From SELECT to the end.
    pub place: Range<usize>,
    /// ALL or DISTINCT.
    pub quantifier: Option<Range<usize>>,
    /// The items of its list.
    pub items: Vec<SelectItem>,
    /// What follows the list: FROM, WHERE, GROUP BY and so on.
    pub rest: Range<usize>,
    /// Whether it is not within parentheses.
    pub is_outermost: bool,
    /// A clause that would mean something else after the call.
    pub conflict: Option<BlockConflict>,
    /// The names of columns of the list by which ORDER BY sorts, in lower case.
    pub sorted_by: Vec<String>,
}

/// A clause that needs the result of the call, or what the result does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockConflict {
    /// ORDER BY anything but columns of the list, by their names or numbers. DuckDB reads names within expressions as
    /// columns of FROM, which are gone after the call.
    OrderBy,
    /// GROUP BY ALL, whose groups are the values of the call.
    GroupByAll,
}

/// An item of a SELECT list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectItem {
    /// The whole item.
    pub place: Range<usize>,
    /// The item without its name, if it has one behind it.
    pub value: Range<usize>,
    /// The name.
    pub alias: Option<String>,
}

/// Operators that follow their operand: `f(x) ISNULL` is no call with a name.
const POSTFIX_OPERATORS: [&str; 2] = ["isnull", "notnull"];
/// Words that end a SELECT with its FROM, WHERE and GROUP BY.
const ENDS: [&str; 9] = ["order", "limit", "offset", "fetch", "union", "except", "intersect", "returning", "for"];

/// The SELECT that has the call at `place` as a whole item; `None` if it stands elsewhere.
pub fn select_block(statement: &str, dialect: Dialect, place: &Range<usize>) -> Option<SelectBlock> {
    let tokens: Vec<_> = code(statement, dialect).collect();
    let call = tokens.iter().position(|token| token.start == place.start)?;
    let (first, end, is_outermost) = level(&tokens, call);
    // The tokens of this level, with what is in parentheses left out.
    let own: Vec<usize> = outer_tokens(&tokens, first, end);
    let before = own.iter().rposition(|at| *at <= call)?;
    let is = |at: usize, words: &[&str]| tokens[own[at]].is_one_of(words);
    let select = (0..before).rev().find(|at| is(*at, &["select", "union", "except", "intersect"]))?;
    // FROM in front of SELECT belongs to the block too.
    let begins = (0..select).rev().find(|at| is(*at, &["union", "except", "intersect"])).map_or(0, |at| at + 1);
    if !is(select, &["select"]) || (begins..select).any(|at| is(at, &["from"])) {
        return None;
    }
    let is_conflict = |at: usize| is(at, &["on"]) && at + 1 < own.len() && is(at + 1, &["conflict"]);
    let stop = (select + 1..own.len()).find(|at| is(*at, &ENDS) || is_conflict(*at)).unwrap_or(own.len());
    let from = |at: &usize| is(*at, &["from", "where", "group", "having", "window", "qualify", "using"]);
    let list_end = (select + 1..stop).find(from).unwrap_or(stop);
    let is_quantified = is(select + 1, &["all", "distinct"]);
    let list = select + 1 + usize::from(is_quantified)..list_end;
    if list.is_empty() || is(list.start, &["on"]) {
        return None;
    }
    // Where a token of this level ends, with the parentheses behind it.
    let end_of = |at: usize| tokens[own.get(at + 1).map_or(end, |next| *next) - 1].end();
    let mut items = Vec::new();
    let mut start = list.start;
    for at in list.clone() {
        let is_last = at + 1 == list.end;
        let is_comma = tokens[own[at]].is_symbol(b',');
        if is_comma || is_last {
            let last = if is_comma { at.checked_sub(1)? } else { at };
            if start > last {
                return None;
            }
            items.push(item(&tokens, &own, start..last + 1, end_of(last)));
            start = at + 1;
        }
    }
    let block_end = end_of(stop - 1);
    let groups_by_all = (list.end..stop).any(|at| is(at, &["group"]) && at + 2 < stop && is(at + 2, &["all"]));
    // The ORDER BY behind UNION sorts by names of the list anyway.
    let is_part = begins > 0;
    let behind = own.get(stop).map_or(end, |next| *next);
    let behind_parentheses = enclosed(&tokens, first, end).unwrap_or(tokens.len());
    let own_keys = if is_part { Some(Vec::new()) } else { sort_names(&tokens[behind..end]) };
    let keys = own_keys.zip(sort_names(&tokens[behind_parentheses..]));
    let conflict = match (&keys, groups_by_all) {
        (None, _) => Some(BlockConflict::OrderBy),
        (Some(_), true) => Some(BlockConflict::GroupByAll),
        (Some(_), false) => None,
    };
    let sorted_by = keys.map(|(own, outer)| [own, outer].concat()).unwrap_or_default();
    let block = SelectBlock {
        place: tokens[own[select]].start..block_end,
        quantifier: is_quantified.then(|| tokens[own[select + 1]].range()),
        rest: end_of(list.end - 1)..block_end,
        items,
        is_outermost,
        conflict,
        sorted_by,
    };
    block.items.iter().any(|item| item.value == *place).then_some(block)
}

/// The columns of its list by which what follows a SELECT sorts it, without numbers and ALL; `None` if it sorts by
/// anything else.
fn sort_names(rest: &[Token<'_>]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = match rest {
        [order, by, rest @ ..] if order.is_word("order") && by.is_word("by") => rest,
        _ => return Some(names),
    };
    loop {
        let [key, behind @ ..] = rest else { return Some(names) };
        match key.kind {
            TokenKind::Word | TokenKind::Name if !key.is_word("all") => names.push(key.folded().to_lowercase()),
            TokenKind::Word | TokenKind::Number => {}
            _ => return None,
        }
        rest = behind;
        while let [word, behind @ ..] = rest
            && word.is_one_of(&["asc", "desc", "nulls", "first", "last"])
        {
            rest = behind;
        }
        rest = match rest {
            [comma, behind @ ..] if comma.is_symbol(b',') => behind,
            [next, ..] => return (next.is_one_of(&ENDS) || next.is_symbol(b')')).then_some(names),
            [] => return Some(names),
        };
    }
}

/// The end of the parentheses around these tokens, if they are those of a SELECT that stands where a statement may:
/// what follows them belongs to it.
fn enclosed(tokens: &[Token<'_>], first: usize, end: usize) -> Option<usize> {
    let open = first.checked_sub(1)?;
    let closes = |at: usize| tokens.get(at).is_some_and(|token| token.is_symbol(b')'));
    // A statement may end before its parentheses do.
    if !closes(end) {
        return None;
    }
    let Some(before) = open.checked_sub(1).map(|before| &tokens[before]) else { return Some(end + 1) };
    if before.is_symbol(b'(') && closes(end + 1) {
        return enclosed(tokens, open, end + 1);
    }
    let is_inserted = open.checked_sub(2).is_some_and(|at| tokens[at].is_word("into"));
    let follows = matches!(before.kind, TokenKind::Symbol(b'(' | b')')) || before.is_word("as") || is_inserted;
    follows.then_some(end + 1)
}

/// The first token of the parentheses around a token, the end, and whether there are none.
fn level(tokens: &[Token<'_>], at: usize) -> (usize, usize, bool) {
    let opens = |token: &Token<'_>| matches!(token.kind, TokenKind::Symbol(b'(' | b'[' | b'{'));
    let closes = |token: &Token<'_>| matches!(token.kind, TokenKind::Symbol(b')' | b']' | b'}'));
    let mut depth = 0_usize;
    let mut first = None;
    for before in (0..at).rev() {
        if closes(&tokens[before]) {
            depth += 1;
        } else if opens(&tokens[before]) {
            if depth == 0 {
                first = Some(before + 1);
                break;
            }
            depth -= 1;
        }
    }
    let mut depth = 0_usize;
    let mut end = tokens.len();
    for (after, token) in tokens.iter().enumerate().skip(at) {
        if opens(token) {
            depth += 1;
        } else if closes(token) {
            if depth == 0 {
                end = after;
                break;
            }
            depth -= 1;
        }
    }
    (first.unwrap_or(0), end, first.is_none())
}

/// The tokens between these that are not within further parentheses. Of those, the opening one is here, because an item
/// may consist of nothing else.
fn outer_tokens(tokens: &[Token<'_>], first: usize, end: usize) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut own = Vec::new();
    for (at, token) in tokens.iter().enumerate().take(end).skip(first) {
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => {
                if depth == 0 {
                    own.push(at);
                }
                depth += 1;
            }
            TokenKind::Symbol(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ if depth == 0 => own.push(at),
            _ => {}
        }
    }
    own
}

/// An item whose tokens of the block's level are `own[range]`.
fn item(tokens: &[Token<'_>], own: &[usize], range: Range<usize>, end: usize) -> SelectItem {
    let start = tokens[own[range.start]].start;
    let last = own[range.end - 1];
    let is_name = tokens[last].is_identifier() && tokens[last].end() == end;
    let is_operator = tokens[last].is_one_of(&POSTFIX_OPERATORS);
    let has_name = is_name && range.len() > 1;
    // `f(x) y` has a parenthesis in front of the name; `f(x) AS y` has AS.
    let is_as = has_name && range.len() > 2 && tokens[own[range.end - 2]].is_word("as");
    let follows = has_name && !is_operator && last > 0 && tokens[last - 1].is_symbol(b')');
    if is_as || follows {
        let before = if is_as { own[range.end - 2] } else { last };
        let value = start..tokens[before - 1].end();
        return SelectItem { place: start..end, value, alias: Some(tokens[last].folded().into_owned()) };
    }
    SelectItem { place: start..end, value: start..end, alias: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The block of the first call of `f`: quantifier, items, rest.
    fn shown(sql: &str) -> Option<(String, Vec<String>, String)> {
        let start = sql.find("f(")?;
        let end = start + sql[start..].find(')')? + 1;
        let block = select_block(sql, Dialect::WITH_PYTHON, &(start..end))?;
        let text = |place: &Range<usize>| sql[place.clone()].trim().to_owned();
        let item = |item: &SelectItem| match &item.alias {
            Some(alias) => format!("{} -> {alias}", text(&item.value)),
            None => text(&item.value),
        };
        let quantifier = block.quantifier.as_ref().map(&text).unwrap_or_default();
        Some((quantifier, block.items.iter().map(item).collect(), text(&block.rest)))
    }

    #[test]
    fn a_call_is_an_item() {
        let of = |quantifier: &str, items: &[&str], rest: &str| {
            Some((quantifier.to_owned(), items.iter().map(|&text| text.to_owned()).collect(), rest.to_owned()))
        };
        assert_eq!(shown("select f(x) from t"), of("", &["f(x)"], "from t"));
        assert_eq!(shown("SELECT DISTINCT a + 1, f(x) AS \"Y\", *"), of("DISTINCT", &["a + 1", "f(x) -> Y", "*"], ""));
        assert_eq!(
            shown("select f(x) y, g(a, (1)) from t where b group by all order by y limit 3"),
            of("", &["f(x) -> y", "g(a, (1))"], "from t where b group by all")
        );
        assert_eq!(
            shown("select (select 1), f(x), [1, (2)] as l, (a), {'k': 1} from t"),
            of("", &["(select 1)", "f(x)", "[1, (2)] -> l", "(a)", "{'k': 1}"], "from t")
        );
        assert_eq!(shown("select f(x) \"isnull\", (a) isnull"), of("", &["f(x) -> isnull", "(a) isnull"], ""));
        assert_eq!(shown("select f(x), (a) b"), of("", &["f(x)", "(a) -> b"], ""));
        assert_eq!(shown("select 1 union all (select f(x) from t)"), of("", &["f(x)"], "from t"));
        assert_eq!(shown("select 1 from a union all select f(x) from t union select 2"), of("", &["f(x)"], "from t"));
        assert_eq!(shown("insert into u select f(x) from t on conflict do nothing"), of("", &["f(x)"], "from t"));
        assert_eq!(shown("with a as (select f(x) from t) select 1 from a"), of("", &["f(x)"], "from t"));
    }

    #[test]
    fn clauses_that_mean_something_else_are_found() {
        let conflict = |sql: &str| {
            let start = sql.find("f(").unwrap();
            let end = start + sql[start..].find(')').unwrap() + 1;
            select_block(sql, Dialect::WITH_PYTHON, &(start..end)).unwrap().conflict
        };
        for sql in [
            "select f(x), i from t order by i desc nulls last, 2, \"F\" limit 3",
            "select f(x) from t order by all desc",
            "select f(x) from t group by x offset 2",
            "select i from t union select f(x) from t order by i + 1",
            "(select f(x) from t order by f) limit 1",
            "((select f(x) from t)) order by 1",
            "select 1 where x in (select f(x) from t) order by i + 1",
            "select 1 where x in ((select f(x) from t)) order by i + 1",
            "select * from (select f(x) from t) order by i + 1",
        ] {
            assert_eq!(conflict(sql), None, "{sql}");
        }
        for sql in [
            "select -i as i, f(x) from t order by i + 1",
            "select i, f(x) from t order by t.i",
            "select i, f(x) from t order by i, -i",
            "select i, f(x) from t order by (i)",
            "select i, f(x) from t order by abs(i)",
            "select i, f(x) from t order by i collate nocase limit 1",
            "select * from (select i, f(x) from t order by i + 1)",
            "(select -i as i, f(x) from t) order by i + 1",
            "((select -i as i, f(x) from t)) order by i + 1 limit 2",
            "create table u as (select -i as i, f(x) from t) order by i + 1",
            "insert into u (select -i as i, f(x) from t) order by i + 1",
        ] {
            assert_eq!(conflict(sql), Some(BlockConflict::OrderBy), "{sql}");
        }
        assert_eq!(conflict("select f(x), count(*) from t group by all"), Some(BlockConflict::GroupByAll));
        let sql = "(select i, f(x) from t order by I, \"My key\" desc, 2 limit 3) order by f";
        let block = select_block(sql, Dialect::WITH_PYTHON, &(11..15)).unwrap();
        assert_eq!(block.sorted_by, ["i", "my key", "f"]);
    }

    #[test]
    fn elsewhere_it_is_none() {
        for sql in [
            "select f(x) + 1 from t",
            "select sum(f(x)) from t",
            "select 1 from t where f(x)",
            "select a from t group by f(x)",
            "select a from t order by f(x)",
            "from t select f(x)",
            "select distinct on (a) f(x) from t",
            "values (f(x))",
            "select [f(x)]",
            "select -f(x)",
            "select f(x) isnull from t",
            "select i, f(x) NotNull",
            "update t set a = f(x)",
        ] {
            assert_eq!(shown(sql), None, "{sql}");
        }
    }
}
