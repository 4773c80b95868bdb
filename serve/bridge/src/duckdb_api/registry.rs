//! What the ids of functions mean. A definition never changes, so this knows those of all databases of the process.
//! Each database says when none of its sessions can call a function any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use colonnade_udf::{Function, FunctionColumn, FunctionKind};

use super::handles::KnownTypes;
use super::sql_type::{SqlType, UnsupportedType};

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
    /// Whether it takes any arguments, so that each call has parameters of its own: [`variant`].
    pub is_variadic: bool,
    /// The id under which it was declared. That of the function differs if it is a variant.
    pub declared: u64,
}

/// A definition that was made known.
struct Known {
    definition: Arc<Definition>,
    /// How often it was made known and not forgotten.
    owners: usize,
    /// What a function with any arguments is for arguments of these types.
    variants: Mutex<HashMap<Vec<String>, Arc<Definition>>>,
}

/// How many variants of a function are kept.
const MAX_VARIANTS: usize = 256;

impl Definition {
    /// The DuckDB function that calls it.
    pub fn dispatcher(&self) -> &'static str {
        dispatcher(self.function.kind, self.volatility)
    }
}

/// The DuckDB function that calls a function in Python. DuckDB decides by a function's name whether a result may be
/// used twice.
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
/// The arguments of a dispatcher before those of the function: the id and the token.
pub(super) const OWN_ARGUMENTS: u64 = 2;

/// The types of all definitions.
pub(super) static TYPES: LazyLock<KnownTypes> = LazyLock::new(KnownTypes::default);

static DEFINITIONS: LazyLock<RwLock<HashMap<u64, Known>>> = LazyLock::new(RwLock::default);

/// Reads an id: 16 digits in hexadecimal, lower case.
pub(super) fn parse_id(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() == 16 && text.bytes().all(is_digit) { u64::from_str_radix(text, 16).ok() } else { None }
}

/// Makes a definition known. `false` if its id is that of another one.
pub(super) fn define(definition: Definition) -> bool {
    let mut definitions = DEFINITIONS.write().unwrap_or_else(PoisonError::into_inner);
    match definitions.get_mut(&definition.function.id) {
        Some(known) => {
            let is_same = *known.definition == definition;
            known.owners += usize::from(is_same);
            is_same
        }
        None => {
            let known = Known { definition: Arc::new(definition), owners: 1, variants: Mutex::default() };
            definitions.insert(known.definition.declared, known);
            true
        }
    }
}

/// Forgets a definition, if nobody else has made it known. Calls that are bound keep it.
pub(super) fn forget(id: u64) {
    let mut definitions = DEFINITIONS.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = definitions.get_mut(&id) {
        known.owners -= 1;
        if known.owners == 0 {
            definitions.remove(&id);
        }
    }
}

/// The definition with an id.
pub(super) fn find(id: u64) -> Option<Arc<Definition>> {
    let definitions = DEFINITIONS.read().unwrap_or_else(PoisonError::into_inner);
    definitions.get(&id).map(|known| Arc::clone(&known.definition))
}

/// A function with any arguments, for arguments of these types. They are called `arg1`, `arg2` and so on.
///
/// # Errors
/// If functions cannot have a type.
pub(super) fn variant(definition: &Arc<Definition>, types: Vec<String>) -> Result<Arc<Definition>, UnsupportedType> {
    let definitions = DEFINITIONS.read().unwrap_or_else(PoisonError::into_inner);
    let known = definitions.get(&definition.declared);
    let mut variants = known.map(|known| known.variants.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(found) = variants.as_ref().and_then(|variants| variants.get(&types)) {
        return Ok(Arc::clone(found));
    }
    let made = Arc::new(specialized(definition, &types)?);
    if let Some(variants) = &mut variants {
        // Calls that are bound keep theirs.
        if variants.len() >= MAX_VARIANTS {
            variants.clear();
        }
        variants.insert(types, Arc::clone(&made));
    }
    Ok(made)
}

fn specialized(definition: &Definition, types: &[String]) -> Result<Definition, UnsupportedType> {
    /// Function processes keep functions by their ids. Those of declarations are parts of digests, so a multiple of an
    /// odd number that is added to one is as unlikely to be another one's as any.
    static VARIANTS: AtomicU64 = AtomicU64::new(1);
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let parameters = types.iter().map(|name| SqlType::parse(name)).collect::<Result<Vec<_>, _>>()?;
    let columns = (1..).zip(&parameters).map(|(number, type_)| FunctionColumn {
        name: format!("arg{number}"),
        type_name: type_.name.clone(),
        column_type: type_.column_type.clone(),
        is_scalar: false,
    });
    let function = Function {
        id: definition.declared.wrapping_add(VARIANTS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP)),
        parameters: columns.collect(),
        ..(*definition.function).clone()
    };
    Ok(Definition {
        function: Arc::new(function),
        parameters,
        result: definition.result.clone(),
        volatility: definition.volatility,
        is_variadic: true,
        declared: definition.declared,
    })
}
