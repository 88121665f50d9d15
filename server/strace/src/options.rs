//! What a parser is told beforehand.

/// Caps on what is kept of a trace. Beyond one, the trace is cut and says so.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of text; at most 4 GiB - 1.
    pub bytes: usize,
    /// Events.
    pub events: usize,
    /// Bytes of one line: strace can print tens of megabytes for one `select` with `-yy`.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, events: 2_000_000, line_bytes: 1 << 20 }
    }
}

/// What is known of the traced program beforehand.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Absolute path of the script that node executes: its first opening by the main thread ends
    /// the boot phase. Without it the whole trace counts as user phase.
    pub entry: Option<String>,
    /// Caps.
    pub limits: Limits,
}
