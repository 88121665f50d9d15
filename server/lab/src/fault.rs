//! What is wrong with a lab's folder, all of it at once.

use std::fmt;
use std::path::{Path, PathBuf};

/// One fault of a lab, for its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The file (or folder) that has it.
    pub path: PathBuf,
    /// Line in that file, from 1, where one can be named.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n    hint: {hint}")?;
        }
        Ok(())
    }
}

/// Every fault that was found; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct LoadErrors(pub Vec<LoadError>);

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Collects faults while a folder is read.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<LoadError>);

impl Faults {
    /// Notes a fault; an empty hint is none.
    pub(crate) fn add(&mut self, path: &Path, line: Option<u32>, message: impl Into<String>, hint: &str) {
        self.0.push(LoadError {
            path: path.to_owned(),
            line,
            message: message.into(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        });
    }

    /// `value`, if nothing was wrong; else the faults in the order of files and lines.
    pub(crate) fn or<T>(mut self, value: Option<T>) -> Result<T, LoadErrors> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => {
                self.0.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
                Err(LoadErrors(self.0))
            }
        }
    }
}
