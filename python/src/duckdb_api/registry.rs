//! What the ids of functions mean. A definition never changes, so this knows those of all databases of the process.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use colonnade_udf::{Function, FunctionKind};

use super::handles::KnownTypes;
use super::sql_type::SqlType;

/// How stable a function's result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Volatility {
    /// The same for the same arguments.
    Immutable,
    /// The same within a statement.
    Stable,
    /// Any for each row.
    Volatile,
}

/// A function that can be called.
#[derive(Debug, PartialEq)]
pub(super) struct Definition {
    pub function: Arc<Function>,
    /// The types of the parameters.
    pub parameters: Vec<SqlType>,
    pub result: SqlType,
    pub volatility: Volatility,
}

impl Definition {
    /// The DuckDB function that calls it.
    pub fn dispatcher(&self) -> &'static str {
        dispatcher(self.function.kind, self.volatility)
    }
}

/// The DuckDB function that calls a function in Python. DuckDB decides by a function's name whether a result may be used twice.
pub(super) fn dispatcher(kind: FunctionKind, volatility: Volatility) -> &'static str {
    match (kind, volatility) {
        (FunctionKind::Aggregate | FunctionKind::AggregatePerGroup, _) => AGGREGATE,
        (_, Volatility::Immutable) => MAP_IMMUTABLE,
        (_, Volatility::Stable) => MAP_STABLE,
        (_, Volatility::Volatile) => MAP_VOLATILE,
    }
}

pub(super) const MAP_IMMUTABLE: &str = "colonnade_map";
pub(super) const MAP_STABLE: &str = "colonnade_map_stable";
pub(super) const MAP_VOLATILE: &str = "colonnade_map_volatile";
pub(super) const AGGREGATE: &str = "colonnade_aggregate";

/// The types of all definitions.
pub(super) static TYPES: LazyLock<KnownTypes> = LazyLock::new(KnownTypes::default);

static DEFINITIONS: LazyLock<RwLock<HashMap<u64, Arc<Definition>>>> = LazyLock::new(RwLock::default);

/// Reads an id: 16 digits in hexadecimal, lower case.
pub(super) fn parse_id(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() == 16 && text.bytes().all(is_digit) { u64::from_str_radix(text, 16).ok() } else { None }
}

/// Makes a definition known. `false` if its id is that of another one.
pub(super) fn define(definition: Definition) -> bool {
    let mut definitions = DEFINITIONS.write().unwrap_or_else(PoisonError::into_inner);
    match definitions.get(&definition.function.id) {
        Some(known) => **known == definition,
        None => {
            definitions.insert(definition.function.id, Arc::new(definition));
            true
        }
    }
}

/// The definition with an id.
pub(super) fn find(id: u64) -> Option<Arc<Definition>> {
    DEFINITIONS.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
}
