//! PostgreSQL's names of encodings (manual, "Character Set Support").

use super::multi_byte::MultiByte;
use super::single_byte::SingleByte;
use super::{Charset, ClientEncoding, EncodingNameError, Table};

/// The encodings with their other names, all without signs and in lower case.
const NAMES: [(&str, &[&str]); 42] = [
    ("BIG5", &["win950", "windows950"]),
    ("EUC_CN", &[]),
    ("EUC_JIS_2004", &[]),
    ("EUC_JP", &[]),
    ("EUC_KR", &[]),
    ("EUC_TW", &[]),
    ("GB18030", &[]),
    ("GBK", &["win936", "windows936"]),
    ("ISO_8859_5", &[]),
    ("ISO_8859_6", &[]),
    ("ISO_8859_7", &[]),
    ("ISO_8859_8", &[]),
    ("JOHAB", &[]),
    ("KOI8R", &["koi8"]),
    ("KOI8U", &[]),
    ("LATIN1", &["iso88591"]),
    ("LATIN2", &["iso88592"]),
    ("LATIN3", &["iso88593"]),
    ("LATIN4", &["iso88594"]),
    ("LATIN5", &["iso88599"]),
    ("LATIN6", &["iso885910"]),
    ("LATIN7", &["iso885913"]),
    ("LATIN8", &["iso885914"]),
    ("LATIN9", &["iso885915"]),
    ("LATIN10", &["iso885916"]),
    ("MULE_INTERNAL", &[]),
    ("SHIFT_JIS_2004", &[]),
    ("SJIS", &["mskanji", "shiftjis", "win932", "windows932"]),
    ("SQL_ASCII", &[]),
    ("UHC", &["win949", "windows949"]),
    ("UTF8", &["unicode"]),
    ("WIN866", &["alt", "windows866"]),
    ("WIN874", &["windows874"]),
    ("WIN1250", &["windows1250"]),
    ("WIN1251", &["win", "windows1251"]),
    ("WIN1252", &["windows1252"]),
    ("WIN1253", &["windows1253"]),
    ("WIN1254", &["windows1254"]),
    ("WIN1255", &["windows1255"]),
    ("WIN1256", &["windows1256"]),
    ("WIN1257", &["windows1257"]),
    ("WIN1258", &["abc", "tcvn", "tcvn5712", "vscii", "windows1258"]),
];

/// The name without signs, in lower case.
fn cleaned(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

pub(super) fn find(name: &str) -> Result<ClientEncoding, EncodingNameError> {
    let wanted = cleaned(name);
    let is_it = |(known, others): &&(&str, &[&str])| cleaned(known) == wanted || others.contains(&wanted.as_str());
    let Some(&(name, _)) = NAMES.iter().find(is_it) else { return Err(EncodingNameError::Unknown(name.to_owned())) };
    let table = match name {
        "UTF8" => return Ok(ClientEncoding::Utf8),
        "SQL_ASCII" => return Ok(ClientEncoding::SqlAscii),
        "LATIN1" => Some(Table::Latin1),
        _ => SingleByte::named(name).map(Table::Single).or_else(|| MultiByte::named(name).map(Table::Multi)),
    };
    let table = table.ok_or(EncodingNameError::NotBuilt(name))?;
    Ok(ClientEncoding::Other(Charset { name, table }))
}
