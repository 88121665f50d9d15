//! Lab texts as HTML.

use comrak::{Options, markdown_to_html};

/// HTML of a lab's Markdown. Raw HTML and unsafe links in it are dropped, so a lab from elsewhere
/// cannot bring a script.
pub(crate) fn html(markdown: &str) -> String {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = false;
    options.extension.cjk_friendly_emphasis = true;
    markdown_to_html(markdown, &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_do_not_pass() {
        let out = html("a <script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=y>");
        for bad in ["<script", "javascript:", "<img"] {
            assert!(!out.contains(bad), "{out}");
        }
    }

    #[test]
    fn emphasis_works_beside_japanese_punctuation() {
        assert!(html("これは**「強調」**です").contains("<strong>「強調」</strong>"));
    }
}
