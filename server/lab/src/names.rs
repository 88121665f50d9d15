//! Rules for names of files that go into a sandbox. One place: submissions and labs obey the same.

/// Longest file name, in bytes. Far below `PATH_MAX`, so no prefix can push it over.
pub const MAX_FILE_NAME_BYTES: usize = 200;

/// A rule that a file name breaks: stable code for programs, sentence for people.
pub(crate) type BrokenRule = (&'static str, &'static str);

/// Whether `name` may be a file below the work folder: relative, normal, printable.
pub(crate) fn check_file_name(name: &str) -> Result<(), BrokenRule> {
    let broken = if name.is_empty() {
        ("file_name_empty", "a file needs a name")
    } else if name.len() > MAX_FILE_NAME_BYTES {
        ("file_name_long", "a file name has at most 200 bytes")
    } else if name.contains('\0') {
        ("file_name_nul", "a file name holds no NUL byte")
    } else if name.chars().any(char::is_control) {
        ("file_name_control", "a file name holds no control characters")
    } else if name.contains('\\') {
        ("file_name_backslash", "folders are separated by /, not by a backslash")
    } else if name.starts_with('/') {
        ("file_name_absolute", "a file name is relative to the work folder: remove the first /")
    } else if name.split('/').any(|segment| segment == "..") {
        ("file_name_parent", "a file name may not hold ..: files stay in the work folder")
    } else if name.split('/').any(|segment| segment.is_empty() || segment == ".") {
        ("file_name_segment", "a file name has no empty or . part between its /")
    } else {
        return Ok(());
    };
    Err(broken)
}

/// Whether `id` may name a lab, run, question or check: it ends up in addresses and SQL.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=60).contains(&id.len())
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}
