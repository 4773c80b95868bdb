//! A function's definition, and what of it does not fit together.

use std::collections::HashSet;

use colonnade_sql::statement::{
    CreateFunction, FunctionLanguage, FunctionName, FunctionResult, ParallelSafety, Volatility,
};

use super::DefinitionError;

/// The longest body, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// The most parameters and columns of a function.
pub const MAX_PARAMETERS: usize = 100;

/// A function to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDefinition {
    /// Whether it may take the place of another one.
    pub or_replace: bool,
    /// The name.
    pub name: FunctionName,
    /// What it is.
    pub kind: DefinitionKind,
    /// Whether one call gets any part of the rows, or one group: LANGUAGE PYTHON_MAP.
    pub is_map: bool,
    /// `None` for any arguments.
    pub parameters: Option<Vec<DefinedParameter>>,
    /// The result.
    pub result: DefinedResult,
    /// How much its results may change.
    pub volatility: Volatility,
    /// Whether a NULL among the arguments makes the result NULL.
    pub is_strict: bool,
    /// Whether rows may be computed in several processes.
    pub parallel: ParallelSafety,
    /// Whether arguments are arrays of pyarrow instead of NumPy: PARAMETER STYLE ARROW.
    pub is_arrow: bool,
    /// The body in Python.
    pub source: String,
}

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    /// A value for each row.
    Scalar,
    /// A value for each group.
    Aggregate,
    /// Rows.
    Table,
}

/// A parameter. The type and the constant are as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedParameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// A constant.
    pub default: Option<String>,
    /// Whether it has one value for the whole query.
    pub is_scalar: bool,
}

/// What a function returns. Types are as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinedResult {
    /// A value.
    Type(String),
    /// Rows with these columns: name and type.
    Columns(Vec<(String, String)>),
    /// Rows with any columns.
    AnyColumns,
}

/// What a body has without declaring it, so that no parameter has this name.
const SPECIAL: [&str; 5] = ["_columns", "_types", "_conn", "aggr_group", "numpy"];
/// What it has besides with PARAMETER STYLE ARROW.
const SPECIAL_ARROW: &str = "pyarrow";

impl FunctionDefinition {
    /// The definition of a statement.
    ///
    /// # Errors
    /// If its parts do not fit together, or the server has no functions of this kind.
    pub fn new(statement: &CreateFunction) -> Result<Self, DefinitionError> {
        let CreateFunction { name, parallel, body, is_strict, .. } = statement;
        let (kind, result) = result(statement)?;
        let is_map = statement.language == FunctionLanguage::PythonMap
            || kind != DefinitionKind::Aggregate && *parallel == Some(ParallelSafety::Safe);
        if body.source.len() > MAX_BODY_BYTES {
            return Err(DefinitionError::TooLarge { what: "the bytes of the body", limit: MAX_BODY_BYTES });
        }
        Ok(Self {
            or_replace: statement.or_replace,
            name: name.clone(),
            kind,
            is_map,
            parameters: parameters(statement)?,
            result,
            volatility: statement.volatility.unwrap_or(Volatility::Volatile),
            is_strict: *is_strict,
            parallel: parallel.unwrap_or(if is_map { ParallelSafety::Safe } else { ParallelSafety::Unsafe }),
            is_arrow: statement.is_arrow,
            source: body.source.clone(),
        })
    }
}

fn result(statement: &CreateFunction) -> Result<(DefinitionKind, DefinedResult), DefinitionError> {
    let kind = match (&statement.returns, statement.is_aggregate) {
        (FunctionResult::Type(..), true) => DefinitionKind::Aggregate,
        (FunctionResult::Type(..), false) => DefinitionKind::Scalar,
        (_, false) => DefinitionKind::Table,
        (_, true) => {
            return Err(DefinitionError::Invalid("an aggregate returns one value for each group, no table".to_owned()));
        }
    };
    let result = match &statement.returns {
        FunctionResult::Type(type_, _) => DefinedResult::Type(type_.clone()),
        FunctionResult::AnyTable => DefinedResult::AnyColumns,
        FunctionResult::Table(columns) => {
            check_names(columns.iter().map(|(name, ..)| name), "column")?;
            DefinedResult::Columns(columns.iter().map(|(name, type_, _)| (name.clone(), type_.clone())).collect())
        }
    };
    Ok((kind, result))
}

fn parameters(statement: &CreateFunction) -> Result<Option<Vec<DefinedParameter>>, DefinitionError> {
    let scalars: HashSet<&str> = statement.scalars.iter().map(String::as_str).collect();
    let given = statement.parameters.as_deref().unwrap_or_default();
    if let Some(unknown) = scalars.iter().find(|name| given.iter().all(|parameter| parameter.name != **name)) {
        return Err(DefinitionError::Invalid(format!("SCALAR names \"{unknown}\", which is no parameter")));
    }
    check_names(given.iter().map(|parameter| &parameter.name), "parameter")?;
    let mut has_default = false;
    for parameter in given {
        let name = parameter.name.as_str();
        if SPECIAL.contains(&name) || statement.is_arrow && name == SPECIAL_ARROW {
            let text = format!("no parameter can be called \"{name}\", which every body has");
            return Err(DefinitionError::Invalid(text));
        }
        if has_default && parameter.default.is_none() {
            let text = "parameters after one with a default must have defaults too";
            return Err(DefinitionError::Invalid(text.to_owned()));
        }
        has_default |= parameter.default.is_some();
    }
    let defined = |parameters: &Vec<_>| parameters.iter().map(|parameter| defined(parameter, &scalars)).collect();
    Ok(statement.parameters.as_ref().map(defined))
}

fn defined(parameter: &colonnade_sql::statement::FunctionParameter, scalars: &HashSet<&str>) -> DefinedParameter {
    DefinedParameter {
        name: parameter.name.clone(),
        type_: parameter.type_.clone(),
        default: parameter.default.clone(),
        is_scalar: scalars.contains(parameter.name.as_str()),
    }
}

/// Checks that each name occurs once, whatever its case.
fn check_names<'a>(names: impl Iterator<Item = &'a String>, what: &'static str) -> Result<(), DefinitionError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name.to_lowercase()) {
            return Err(DefinitionError::Invalid(format!("{what} name \"{name}\" is used more than once")));
        }
        if seen.len() > MAX_PARAMETERS {
            let what = if what == "column" { "the columns of a table" } else { "the parameters of a function" };
            return Err(DefinitionError::TooLarge { what, limit: MAX_PARAMETERS });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
