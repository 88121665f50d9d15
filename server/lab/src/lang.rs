//! The two languages of every text, and the text of a check with its placeholders filled.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A language of the product. Every text of a lab exists in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// Japanese.
    Ja,
    /// English.
    En,
}

impl Lang {
    /// Both, in the order in which faults are reported.
    pub const ALL: [Self; 2] = [Self::Ja, Self::En];

    /// The code used in file names, `lab.toml` and the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ja => "ja",
            Self::En => "en",
        }
    }
}

/// One value for each language.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Localized<T> {
    /// Japanese.
    pub ja: T,
    /// English.
    pub en: T,
}

impl<T> Localized<T> {
    /// The value in `lang`.
    pub const fn get(&self, lang: Lang) -> &T {
        match lang {
            Lang::Ja => &self.ja,
            Lang::En => &self.en,
        }
    }

    pub(crate) const fn get_mut(&mut self, lang: Lang) -> &mut T {
        match lang {
            Lang::Ja => &mut self.ja,
            Lang::En => &mut self.en,
        }
    }
}

/// What stands where a placeholder has no value.
const MISSING: &str = "–";

/// Characters of a value that are shown: a path can be 4096 bytes, a sentence should not be.
const MAX_VALUE_CHARS: usize = 200;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Literal(&'a str),
    /// `{source.column}`
    Value {
        source: &'a str,
        column: &'a str,
    },
}

/// Splits a text at its placeholders. Braces around anything but `word.word` are literal, so a
/// text may quote JavaScript.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let after = &rest[open + 1..];
        let placeholder = after
            .find('}')
            .and_then(|close| Some((close, after[..close].split_once('.')?)))
            .filter(|(_, (source, column))| is_word(source) && is_word(column));
        if let Some((close, (source, column))) = placeholder {
            pieces.push(Piece::Literal(&rest[..open]));
            pieces.push(Piece::Value { source, column });
            rest = &after[close + 1..];
        } else {
            pieces.push(Piece::Literal(&rest[..=open]));
            rest = after;
        }
    }
    pieces.push(Piece::Literal(rest));
    pieces
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text with its placeholders filled from the first row of `sql` and of `near`.
pub(crate) fn render(
    text: &str,
    row: Option<&Map<String, Value>>,
    near: Option<&Map<String, Value>>,
) -> String {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Literal(literal) => literal.to_owned(),
            Piece::Value { source, column } => {
                let values = if source == "near" { near } else { row };
                values.and_then(|values| values.get(column)).map_or_else(|| MISSING.to_owned(), plain)
            }
        })
        .collect()
}

/// A value as a reader expects it: no quotes, no `null`, bounded.
pub(crate) fn plain(value: &Value) -> String {
    let text = match value {
        Value::Null => MISSING.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    bounded(&text, MAX_VALUE_CHARS)
}

/// At most `max` characters of `text`; a cut is marked.
pub(crate) fn bounded(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_filled() {
        let row = json!({"n": 4, "ratio": 0.5, "nothing": null});
        let near = json!({"role": "main", "path": "x".repeat(300)});
        let long = format!("{}…", "x".repeat(200));
        let cases = [
            ("plain", "plain"),
            ("{near.role} opened it", "main opened it"),
            ("{row.n} of {row.ratio}", "4 of 0.5"),
            ("{row.nothing}/{row.absent}", "–/–"),
            ("{near.path}", long.as_str()),
            ("if (x) { y.z() } {", "if (x) { y.z() } {"),
            ("{{row.n}}", "{4}"),
            ("{} {.} {a.} 日本{near.role}語", "{} {.} {a.} 日本main語"),
        ];
        for (text, expected) in cases {
            assert_eq!(render(text, row.as_object(), near.as_object()), expected);
        }
        assert_eq!(render("{near.role} {row.n}", None, None), "– –");
    }
}
