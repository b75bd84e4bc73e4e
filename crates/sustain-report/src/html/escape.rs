//! Makes text from outside (names, kernel lines, messages) harmless in each place of the page.
//! Every other module of the page calls it; no text may enter the page by another way.

/// A longer label would hide the chart.
const LABEL_CHARACTERS_MAX: usize = 200;

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

/// Escapes a label inside a chart. The plotting script interprets a few tags and entities in
/// labels, so that a name could become a link.
pub(super) fn label(outside: &str) -> String {
    let mut shown: String = outside.chars().take(LABEL_CHARACTERS_MAX).collect();
    if shown.len() < outside.len() {
        shown.push('…');
    }
    text(&shown).replace("&quot;", "\"").replace("&#39;", "'")
}

/// Escapes JSON inside a `<script>` element, so that no character can end the element or open a
/// comment.
pub(super) fn script_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
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
        assert_eq!(label("<a href=\"x\">"), "&lt;a href=\"x\"&gt;");
    }

    #[test]
    fn json_cannot_end_its_script_and_stays_the_same_json() {
        let value = serde_json::json!("</script><!--&\u{2028}");
        let safe = script_json(&value.to_string());
        assert!(!safe.contains('<') && !safe.contains('>') && !safe.contains('&'));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).unwrap(),
            value
        );
    }
}
