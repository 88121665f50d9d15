//! Text on its way into PostgreSQL: words of enums, and the one character it cannot hold.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde_json::Value;

use crate::Error;

/// Stands for U+0000 where we must store what somebody else wrote: U+2400, SYMBOL FOR NULL.
const NUL_SHOWN: &str = "\u{2400}";

/// The word that serde writes for a value of an enum without data.
pub(crate) fn word_of<T: Serialize>(value: T) -> Result<String, Error> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Ok(word),
        Ok(other) => Err(encode_error(format!("{other} is no word"))),
        Err(error) => Err(encode_error(error)),
    }
}

/// The value whose word this is.
pub(crate) fn from_word<T: DeserializeOwned>(word: &str) -> Result<T, Error> {
    let word: StrDeserializer<'_, WordError> = word.into_deserializer();
    T::deserialize(word).map_err(|error| Error::Database(sqlx::Error::Decode(error.into())))
}

/// Any value as JSON that PostgreSQL can hold: each U+0000 is shown as U+2400.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<Value, Error> {
    let mut json = serde_json::to_value(value).map_err(encode_error)?;
    show_nul_in(&mut json);
    Ok(json)
}

/// The value of which this is the JSON.
pub(crate) fn from_json<T: DeserializeOwned>(json: Value) -> Result<T, Error> {
    serde_json::from_value(json).map_err(|error| Error::Database(sqlx::Error::Decode(error.into())))
}

fn encode_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Database(sqlx::Error::Encode(error.into()))
}

/// Text with each U+0000 shown as U+2400.
pub(crate) fn show_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', NUL_SHOWN)) } else { Cow::Borrowed(text) }
}

fn show_nul_in(json: &mut Value) {
    match json {
        Value::String(text) => {
            if let Cow::Owned(shown) = show_nul(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show_nul_in),
        Value::Object(fields) => {
            fields.values_mut().for_each(show_nul_in);
            if fields.keys().any(|name| name.contains('\0')) {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, value)| (show_nul(&name).into_owned(), value))
                    .collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Refuses text that its writer must mend before it can be stored as it is.
pub(crate) fn refuse_nul(place: &str, text: &str) -> Result<(), Error> {
    if text.contains('\0') {
        return Err(Error::Nul { place: show_nul(place).into_owned() });
    }
    Ok(())
}

/// [`refuse_nul`] for each name and each text of `fields`, however deep.
pub(crate) fn refuse_nul_in<'a>(
    place: &str,
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> Result<(), Error> {
    for (name, value) in fields {
        let place = format!("{place}.{name}");
        refuse_nul(&place, name)?;
        refuse_nul_in_value(&place, value)?;
    }
    Ok(())
}

fn refuse_nul_in_value(place: &str, value: &Value) -> Result<(), Error> {
    match value {
        Value::String(text) => refuse_nul(place, text),
        Value::Array(items) => items.iter().try_for_each(|item| refuse_nul_in_value(place, item)),
        Value::Object(fields) => refuse_nul_in(place, fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}
