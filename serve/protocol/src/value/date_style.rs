//! The text forms of dates, by PostgreSQL's setting `DateStyle`.

/// The form of dates and timestamps in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateStyle {
    pub(super) form: DateForm,
    pub(super) order: DateOrder,
}

/// The first word of the setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DateForm {
    /// `2024-12-31 23:59:59+01`
    #[default]
    Iso,
    /// `12/31/2024 23:59:59 CET`
    Sql,
    /// `Tue Dec 31 23:59:59 2024 CET`, and `12-31-2024`
    Postgres,
    /// `31.12.2024 23:59:59 CET`
    German,
}

/// The second word. `Ymd` is `Mdy` in text that the server sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
}

impl DateStyle {
    /// The style with these words, in any order and letter case. A word that is left out is as in `self`; German dates
    /// begin with the day unless a word says otherwise. `None` if a word is unknown or contradicts another one.
    pub fn with(self, words: &str) -> Option<Self> {
        let (mut form, mut order) = (None, None);
        for word in words.split(',') {
            match &*word.trim().to_ascii_lowercase() {
                "iso" => set(&mut form, DateForm::Iso)?,
                "sql" => set(&mut form, DateForm::Sql)?,
                "german" => set(&mut form, DateForm::German)?,
                word if word.starts_with("postgres") => set(&mut form, DateForm::Postgres)?,
                "ymd" => set(&mut order, DateOrder::Ymd)?,
                "default" => {}
                word if word == "dmy" || word.starts_with("euro") => set(&mut order, DateOrder::Dmy)?,
                word if ["mdy", "us"].contains(&word) || word.starts_with("noneuro") => {
                    set(&mut order, DateOrder::Mdy)?
                }
                _ => return None,
            }
        }
        let of_form = (form == Some(DateForm::German)).then_some(DateOrder::Dmy);
        Some(Self { form: form.unwrap_or(self.form), order: order.or(of_form).unwrap_or(self.order) })
    }

    /// The value of `DateStyle`.
    pub fn name(self) -> String {
        format!("{}, {}", self.form.name(), format!("{:?}", self.order).to_ascii_uppercase())
    }
}

fn set<T: PartialEq>(chosen: &mut Option<T>, value: T) -> Option<()> {
    let is_possible = chosen.as_ref().is_none_or(|before| *before == value);
    *chosen = Some(value);
    is_possible.then_some(())
}

impl DateForm {
    fn name(self) -> &'static str {
        match self {
            Self::Iso => "ISO",
            Self::Sql => "SQL",
            Self::Postgres => "Postgres",
            Self::German => "German",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_have_postgresqls_names() {
        // Taken from PostgreSQL 15: set datestyle = …; show datestyle.
        for (words, expected) in [
            ("iso", "ISO, MDY"),
            ("Euro", "ISO, DMY"),
            ("ymd,ISO", "ISO, YMD"),
            ("German", "German, DMY"),
            ("german, mdy", "German, MDY"),
            ("postgresql, european", "Postgres, DMY"),
            ("SQL", "SQL, MDY"),
            ("default", "ISO, MDY"),
        ] {
            assert_eq!(DateStyle::default().with(words).unwrap().name(), expected, "{words}");
        }
        for words in ["", "iso, sql", "dmy, mdy", "iso mdy", "klingon"] {
            assert_eq!(DateStyle::default().with(words), None, "{words}");
        }
    }
}
