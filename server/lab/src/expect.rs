//! What the rows of a check must be.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What makes a check pass.
///
/// In `lab.toml`: `"rows"`, `"none"`, `{ rows = 4 }`, `{ value = ">= 0.9" }`, `{ between = [2, 3] }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Expect {
    /// At least one row.
    SomeRows,
    /// No row.
    NoRows,
    /// Exactly so many rows.
    RowCount(usize),
    /// The only column of the only row, compared with a number.
    Value(Comparison, f64),
    /// The only column of the only row lies between two numbers, both included.
    Between(f64, f64),
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    AtLeast,
    /// `>`
    More,
}

/// Longer operators first: `>=` starts with `>`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

/// The form in TOML and JSON.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expect is \"rows\", \"none\", { rows = 4 }, { value = \">= 0.9\" } or { between = [2, 3] }"
)]
enum Written {
    Word(String),
    Rows(WrittenRows),
    Value(WrittenValue),
    Between(WrittenBetween),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRows {
    rows: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenValue {
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBetween {
    between: (f64, f64),
}

/// Rows that a query returns at most (see `docs/evidence.md`): a higher count is never met.
const MAX_ROWS: usize = 10_000;

impl TryFrom<Written> for Expect {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Word(word) => match word.as_str() {
                "rows" => Ok(Self::SomeRows),
                "none" => Ok(Self::NoRows),
                _ => Err(format!("expect is \"rows\" or \"none\", not \"{word}\"")),
            },
            Written::Rows(WrittenRows { rows }) if rows <= MAX_ROWS => Ok(Self::RowCount(rows)),
            Written::Rows(_) => Err(format!("a query returns at most {MAX_ROWS} rows")),
            Written::Value(WrittenValue { value }) => {
                comparison(&value).ok_or_else(|| format!("expect.value is like \">= 0.9\", not \"{value}\""))
            }
            Written::Between(WrittenBetween { between: (low, high) }) => {
                if low <= high {
                    Ok(Self::Between(low, high))
                } else {
                    Err(format!("expect.between is [least, most], not [{low}, {high}]"))
                }
            }
        }
    }
}

fn comparison(text: &str) -> Option<Expect> {
    let text = text.trim();
    let (operator, comparison) = COMPARISONS.iter().find(|(operator, _)| text.starts_with(operator))?;
    let number: f64 = text[operator.len()..].trim().parse().ok()?;
    number.is_finite().then_some(Expect::Value(*comparison, number))
}

impl From<Expect> for Written {
    fn from(expect: Expect) -> Self {
        match expect {
            Expect::SomeRows => Self::Word("rows".to_owned()),
            Expect::NoRows => Self::Word("none".to_owned()),
            Expect::RowCount(rows) => Self::Rows(WrittenRows { rows }),
            Expect::Value(comparison, number) => {
                Self::Value(WrittenValue { value: format!("{comparison} {number}") })
            }
            Expect::Between(low, high) => Self::Between(WrittenBetween { between: (low, high) }),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator =
            COMPARISONS.iter().find_map(|(operator, comparison)| (comparison == self).then_some(*operator));
        f.write_str(operator.unwrap_or_default())
    }
}

impl Comparison {
    fn holds(self, value: f64, number: f64) -> bool {
        match self {
            Self::Less => value < number,
            Self::AtMost => value <= number,
            Self::Equal => value == number,
            Self::NotEqual => value != number,
            Self::AtLeast => value >= number,
            Self::More => value > number,
        }
    }
}

impl Expect {
    /// Whether the rows meet the expectation; `Err` where the query does not return what the
    /// expectation speaks of, which is its author's mistake.
    pub(crate) fn is_met(&self, rows: &[Vec<Value>]) -> Result<bool, String> {
        match self {
            Self::SomeRows => Ok(!rows.is_empty()),
            Self::NoRows => Ok(rows.is_empty()),
            Self::RowCount(count) => Ok(rows.len() == *count),
            Self::Value(comparison, number) => {
                Ok(only_value(rows)?.is_some_and(|value| comparison.holds(value, *number)))
            }
            Self::Between(low, high) => {
                Ok(only_value(rows)?.is_some_and(|value| (*low..=*high).contains(&value)))
            }
        }
    }

    /// Whether a single value is read from the rows.
    pub(crate) const fn reads_value(&self) -> bool {
        matches!(self, Self::Value(..) | Self::Between(..))
    }
}

/// The first column of the only row; `None` where there is no row or it is null, as an aggregate
/// over nothing is.
fn only_value(rows: &[Vec<Value>]) -> Result<Option<f64>, String> {
    if rows.len() > 1 {
        let count = rows.len();
        return Err(format!("expect compares one value, the query returned {count} rows"));
    }
    match rows.first().and_then(|row| row.first()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(number.as_f64()),
        Some(other) => Err(format!("expect compares a number, the query returned {other}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// `Ok(met)`, or the fault of the expectation or of the rows.
    fn check(expect: &Value, rows: &[Value]) -> Result<bool, String> {
        let expect: Expect = serde_json::from_value(expect.clone()).map_err(|e| e.to_string())?;
        let written = serde_json::to_value(&expect).unwrap();
        assert_eq!(serde_json::from_value::<Expect>(written).unwrap(), expect);
        let rows: Vec<_> = rows.iter().map(|value| vec![value.clone()]).collect();
        expect.is_met(&rows)
    }

    #[test]
    fn expectations() {
        let cases = [
            (json!("rows"), vec![], Ok(false)),
            (json!("rows"), vec![json!(1)], Ok(true)),
            (json!("none"), vec![], Ok(true)),
            (json!("none"), vec![json!(1)], Ok(false)),
            (json!({"rows": 2}), vec![json!(1), json!(1)], Ok(true)),
            (json!({"rows": 2}), vec![json!(1)], Ok(false)),
            (json!({"rows": 0}), vec![], Ok(true)),
            (json!({"value": ">= 0.9"}), vec![json!(0.9)], Ok(true)),
            (json!({"value": ">=0.9"}), vec![json!(0.89)], Ok(false)),
            (json!({"value": "> 1"}), vec![json!(1)], Ok(false)),
            (json!({"value": "< 1"}), vec![json!(0)], Ok(true)),
            (json!({"value": "<= -1"}), vec![json!(-1)], Ok(true)),
            (json!({"value": "== 3"}), vec![json!(3)], Ok(true)),
            (json!({"value": "!= 3"}), vec![json!(3)], Ok(false)),
            (json!({"value": "!= 3"}), vec![], Ok(false)),
            (json!({"value": "< 1"}), vec![json!(null)], Ok(false)),
            (json!({"between": [2, 3]}), vec![json!(2)], Ok(true)),
            (json!({"between": [2, 3]}), vec![json!(3.1)], Ok(false)),
        ];
        for (expect, rows, met) in cases {
            assert_eq!(check(&expect, &rows), met, "{expect} of {rows:?}");
        }
    }

    #[test]
    fn faults_are_named() {
        let one = [json!(1)];
        let two = [json!(1), json!(2)];
        let text = [json!("4")];
        let cases: [(Value, &[Value], &str); 8] = [
            (json!("row"), &one, "not \"row\""),
            (json!({"value": "0.9"}), &one, "is like"),
            (json!({"value": "> many"}), &one, "is like"),
            (json!({"value": "> inf"}), &one, "is like"),
            (json!({"between": [3, 2]}), &one, "[least, most]"),
            (json!({"rows": 10_001}), &one, "at most 10000"),
            (json!({"value": "> 1"}), &two, "2 rows"),
            (json!({"value": "> 1"}), &text, "returned \"4\""),
        ];
        for (expect, rows, part) in cases {
            let fault = check(&expect, rows).unwrap_err();
            assert!(fault.contains(part), "{expect}: {fault}");
        }
        assert!(check(&json!({"rows": 1, "value": "> 1"}), &one).is_err());
    }
}
