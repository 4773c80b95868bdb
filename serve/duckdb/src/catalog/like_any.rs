//! `name LIKE ANY (patterns)` and its kind, which DuckDB does not have.
//!
//! Operand and patterns become fields of a row, so that each is computed once, whatever it is. Among the comparisons'
//! results, one decides; otherwise NULL is the answer if one of them is NULL, or the array.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

use super::operands::{Operands, operator_before};

const BEFORE: &str = "system.main.list_extract(system.main.list_transform(system.main.list_transform(\
    system.main.list_value(system.main.struct_pack(l := ";
const ARRAY: &str = ", p := CAST(";
const AFTER_ARRAY: &str = " AS VARCHAR[])";
const SUBQUERY: &str = ", p := ARRAY(";

/// Adds the change of a comparison whose ANY, SOME or ALL is at `at`. Gives none if it is another one.
pub(super) fn rewrite(operands: &Operands<'_, '_>, at: usize, edits: &mut Edits) -> Option<()> {
    let tokens = operands.tokens;
    let quantifier = &tokens[at];
    if !quantifier.is_one_of(&["any", "some", "all"]) || !operands.is_symbol(at + 1, b'(') {
        return None;
    }
    let (start, comparison) = comparison(tokens, at)?;
    let (left, close) = (operands.start_of_operand(start)?, operands.closings[at + 1]?);
    let is_subquery = tokens[at + 2].is_one_of(&["select", "with", "values", "from", "table"]);
    let (patterns, after) = if is_subquery { (SUBQUERY, ")") } else { (ARRAY, AFTER_ARRAY) };
    edits.insert(tokens[left].start, BEFORE);
    if start == left + 1 && tokens[left].kind == TokenKind::Positional {
        // A field of a row gives a parameter no type.
        edits.insert(tokens[left].end(), "::VARCHAR");
    }
    edits.replace(tokens[start].start..tokens[at + 1].end(), patterns);
    let decides = !quantifier.is_word("all");
    edits.replace(
        tokens[close].range(),
        format!(
            "{after})), lambda c: system.main.list_transform(system.main.struct_extract(c, 'p'), \
             lambda p: system.main.struct_extract(c, 'l') {comparison} p ESCAPE '\\')), \
             lambda r: CASE WHEN system.main.list_contains(r, {decides}) THEN {decides} \
             WHEN system.main.len(r) = system.main.list_count(r) THEN {} END), 1)",
            !decides
        ),
    );
    Some(())
}

/// The comparison with patterns that ends before `end`: its first token, and as it is written for one pattern.
fn comparison(tokens: &[Token<'_>], end: usize) -> Option<(usize, &'static str)> {
    let last = end.checked_sub(1)?;
    let is_like = tokens[last].is_word("like");
    if is_like || tokens[last].is_word("ilike") {
        let is_not = last.checked_sub(1).is_some_and(|before| tokens[before].is_word("not"));
        let written = match (is_not, is_like) {
            (false, true) => "LIKE",
            (true, true) => "NOT LIKE",
            (false, false) => "ILIKE",
            (true, false) => "NOT ILIKE",
        };
        return Some((last - usize::from(is_not), written));
    }
    let start = operator_before(tokens, end);
    let operator: String = tokens[start..end].iter().map(|token| token.text).collect();
    let written = match operator.as_str() {
        "~~" => "LIKE",
        "!~~" => "NOT LIKE",
        "~~*" => "ILIKE",
        "!~~*" => "NOT ILIKE",
        _ => return None,
    };
    Some((start, written))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    /// What a comparison becomes, of which one result of this value decides.
    fn expected(left: &str, patterns: &str, comparison: &str, decides: bool) -> String {
        format!(
            "system.main.list_extract(system.main.list_transform(system.main.list_transform(system.main.list_value(\
             system.main.struct_pack(l := {left} , p := {patterns})), \
             lambda c: system.main.list_transform(system.main.struct_extract(c, 'p'), \
             lambda p: system.main.struct_extract(c, 'l') {comparison} p ESCAPE '\\')), \
             lambda r: CASE WHEN system.main.list_contains(r, {decides}) THEN {decides} \
             WHEN system.main.len(r) = system.main.list_count(r) THEN {} END), 1)",
            !decides
        )
    }

    #[test]
    fn comparisons_with_several_patterns() {
        let array = "CAST(array['a%', b] AS VARCHAR[])";
        for (before, left, comparison, patterns, written, decides, after) in [
            ("select ", "a", "like any (array['a%', b])", array, "LIKE", true, ""),
            ("where not ", "t.a::text", "ilike any(array['a%', b])", array, "ILIKE", true, " and c"),
            ("select ", "-a || lower(b)", "not like ALL (array['a%', b])", array, "NOT LIKE", false, " as x"),
            ("select c = ", "(a)", "!~~* ALL (array['a%', b])", array, "NOT ILIKE", false, " or d"),
            ("", "max(b) filter (where c) over w", "like any (d)", "CAST(d AS VARCHAR[])", "LIKE", true, ""),
            ("case when ", "$1::text", "~~ some ($2)", "CAST($2 AS VARCHAR[])", "LIKE", true, " then 1 end"),
            ("", "a", "like any (select b)", "ARRAY(select b)", "LIKE", true, ";"),
            ("", "a", "like any (array(select b))", "CAST(array(select b) AS VARCHAR[])", "LIKE", true, ""),
            ("", "a collate \"C\"", "like any (b)", "CAST(b AS VARCHAR[])", "LIKE", true, ""),
            ("a < ", "-b + f(x)[1]", "like any (b)", "CAST(b AS VARCHAR[])", "LIKE", true, ""),
        ] {
            let given = format!("{before}{left} {comparison}{after}");
            let whole = format!("{before}{}{after}", expected(left, patterns, written, decides));
            assert_eq!(rewritten(&given), whole, "{given}");
        }
    }

    #[test]
    fn other_statements_stay() {
        for given in ["a = any (b)", "a ~ any (b)", "like any (b)", "a like any b", "a like any (b", "a ~~~ any (b)"] {
            assert_eq!(rewritten(given), given);
        }
    }
}
