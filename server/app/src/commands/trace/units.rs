//! Times and sizes for people.

/// A duration with three or four digits and its unit.
#[allow(clippy::cast_precision_loss)] // three digits are shown
pub(super) fn duration(ns: i64) -> String {
    let value = ns as f64;
    match ns {
        ..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

/// A size in powers of 1024.
#[allow(clippy::cast_precision_loss)]
pub(super) fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        ..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{:.1} KiB", value / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", value / 1_048_576.0),
        _ => format!("{:.2} GiB", value / 1_073_741_824.0),
    }
}

/// Milliseconds with a fraction, for columns that are compared.
#[allow(clippy::cast_precision_loss)]
pub(super) fn ms(ns: i64) -> serde_json::Value {
    ((ns as f64 / 1e3).round() / 1e3).into()
}

/// `1 line`, `2 lines`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(
            [7, 1_000, 1_234_567, 61_500_000_000].map(duration),
            ["7 ns", "1.0 us", "1.2 ms", "61.50 s"]
        );
        assert_eq!([7, 1536, 5 << 20, 3 << 30].map(size), ["7 B", "1.5 KiB", "5.0 MiB", "3.00 GiB"]);
        assert_eq!(ms(1_234_567), serde_json::json!(1.235));
        assert_eq!([count(1, "mark"), count(0, "mark")], ["1 mark", "0 marks"]);
    }
}
