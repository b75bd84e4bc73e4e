//! Makes text from outside (names, kernel lines, messages) harmless in each place of the page.
//! Every other module of the page calls it; no text may enter the page by another way.

/// Escapes text between tags and inside quoted attributes.
pub(super) fn text(outside: &str) -> String {
    let mut safe = String::with_capacity(outside.len());
    for character in outside.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters have no place in a page; a line break may fold a long text.
            '\n' | '\t' => safe.push(' '),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            text(r#"<b a="1" b='2'>&"#),
            "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;"
        );
        assert_eq!(text("a\nb\x1b"), "a b\u{fffd}");
    }
}
