//! The query of a SELECT whose list has calls of functions that give columns.

use std::ops::Range;

use colonnade_server::EngineError;
use colonnade_server::functions::block::{BlockConflict, SelectBlock, select_block};
use colonnade_server::functions::scope::{TableArgument, TableCall, table_call};
use colonnade_sql::{Dialect, quote};

use super::{BlockInput, FunctionUse, TableFunctions, TableInput, refused};
use crate::Translated;
use crate::placeholder::Placeholders;

/// The SELECT around a call, and its query.
pub(super) fn block_input(
    tables: &mut dyn TableFunctions,
    call: &TableCall,
    statement: &Translated,
) -> Result<(SelectBlock, BlockInput), EngineError> {
    let sql = &statement.text;
    let block = select_block(sql, Dialect::DuckDb, &call.place).ok_or_else(|| {
        let text = format!(
            "function \"{}\" in LANGUAGE PYTHON, which gets whole columns, within an expression or outside of a SELECT list",
            call.name
        );
        let hint = "Make it an item of the SELECT list of a subquery, or write LANGUAGE PYTHON_MAP if each part of the rows can be \
                    computed alone, or a table function.";
        refused(text, hint)
    })?;
    if let Some(conflict) = block.conflict {
        return Err(in_conflict(conflict, &call.name));
    }
    let (mut list, mut arguments) = (Vec::new(), Vec::new());
    let (mut calls, mut marks) = (Vec::new(), Vec::new());
    for item in &block.items {
        let value = &sql[item.value.clone()];
        let found = table_call(value, Dialect::DuckDb, |_, _, start| start == 0)
            .filter(|found| found.place == (0..value.len()));
        let is_column = match &found {
            Some(found) => tables.function_use(found.schema.as_deref(), &found.name)? == FunctionUse::Column,
            None => false,
        };
        match found {
            Some(found) if is_column => {
                if found.has_names {
                    let text = format!("an argument of \"{}\" by its name", found.name);
                    return Err(refused(text, "Write the arguments in the order of the parameters."));
                }
                if item.alias.is_none() && block.sorted_by.contains(&found.name.to_lowercase()) {
                    let text = format!("ORDER BY \"{}\", which is no name of the list", found.name);
                    return Err(refused(text, "Give the call a name by AS, or write its number in ORDER BY."));
                }
                let mark = format!("colonnade call {}", calls.len());
                list.push(format!("NULL AS {}", quote::identifier(&mark, Dialect::DuckDb)));
                let given = found.arguments.iter().map(|argument| &value[with_parentheses(value, argument)]);
                arguments.extend(given.map(str::to_owned));
                let alias = item.alias.clone().unwrap_or_else(|| found.name.clone());
                calls.push((found.schema, found.name, found.arguments.len(), alias));
                marks.push(mark);
            }
            _ => list.push(sql[item.place.clone()].to_owned()),
        }
    }
    list.extend(arguments);
    let select = format!("SELECT {} {}", list.join(", "), &sql[block.rest.clone()]);
    let text = match (&call.scopes[..], block.is_outermost) {
        ([], _) => select,
        // So that the columns get the names that they have for clients.
        ([scope], true) => format!("{} {select}", &sql[scope.clone()]),
        (scopes, _) => {
            let scope: String = scopes.iter().map(|scope| format!("{} SELECT * FROM (", &sql[scope.clone()])).collect();
            format!("{scope}{select}{}", ")".repeat(scopes.len()))
        }
    };
    let parameters = Placeholders::find(&text).into_numbers();
    let (is_outermost, sorted_by) = (block.is_outermost, block.sorted_by.clone());
    let query = TableInput { text, is_query: true, parameters };
    Ok((block, BlockInput { query, calls, marks, is_outermost, sorted_by }))
}

/// The error of a SELECT with a clause that would mean something else after the call.
fn in_conflict(conflict: BlockConflict, name: &str) -> EngineError {
    match conflict {
        BlockConflict::OrderBy => refused(
            format!(
                "ORDER BY anything but columns of the list in a SELECT with the function \"{name}\", which gets whole columns"
            ),
            "The rows are sorted after the call. Make each key an item of the list, and write its name or number in ORDER BY.",
        ),
        BlockConflict::GroupByAll => refused(
            format!("GROUP BY ALL in a SELECT with the function \"{name}\", which gets whole columns"),
            "The rows are grouped before the call. Write the columns in GROUP BY.",
        ),
    }
}

/// The place of an argument: a subquery is a single value here, in its parentheses.
fn with_parentheses(text: &str, argument: &TableArgument) -> Range<usize> {
    let Range { start, end } = argument.place;
    if !argument.is_query {
        return start..end;
    }
    let opens = text[..start].rfind('(').unwrap_or(start);
    let closes = text[end..].find(')').map_or(end, |closes| end + closes + 1);
    opens..closes
}
