//! What becomes of a document.

use super::*;

fn rendered(markdown: &str) -> Rendered {
    render(markdown, &["keys".to_owned()])
}

#[test]
fn headings_have_anchors_and_the_first_is_the_pages_own() {
    let page =
        rendered("# Page\n\nBefore.\n\n## Same `x`\n\nOne.\n\n## Same `x`\n\n### `a_code`\n");
    assert_eq!(page.title, "Page");
    assert!(!page.html.contains("<h1"), "{}", page.html);
    let ids: Vec<&str> = page
        .headings
        .iter()
        .map(|heading| heading.id.as_str())
        .collect();
    assert_eq!(ids, ["same-x", "same-x-1", "a_code"]);
    assert!(
        page.html.contains("<h3 id=\"a_code\"><code>a_code</code>"),
        "{}",
        page.html
    );
    let texts: Vec<&str> = page
        .sections
        .iter()
        .map(|section| section.text.trim())
        .collect();
    assert_eq!(texts, ["Before.", "One.", "", ""]);
}

#[test]
fn tables_scroll_inside_themselves_and_carry_no_styles() {
    let page = rendered("|  | b |\n|---|--:|\n| [k](keys.md) | 1 |\n");
    assert_eq!(
        page.html,
        "<div class=\"table\" tabindex=\"0\"><table><thead><tr><td></td>\
         <th scope=\"col\" class=\"number\">b</th></tr></thead><tbody>\n\
         <tr><td><a href=\"/docs/keys\">k</a></td><td class=\"number\">1</td></tr>\n\
         </tbody></table></div>\n"
    );
}

#[test]
fn code_says_its_language_and_what_it_answers_says_that() {
    let page = rendered("```sh\nls\n```\n\n```json output\n{}\n```\n\n```\nx\n```\n");
    assert!(
        page.html
            .contains("<figcaption>sh</figcaption><pre tabindex=\"0\"><code>ls</code>")
    );
    assert!(
        page.html
            .contains("<figure class=\"code output\"><figcaption>Answer</figcaption>")
    );
    assert!(
        page.html
            .contains("<figure class=\"code\"><pre tabindex=\"0\"><code>x</code>")
    );
}

#[test]
fn markup_is_shown_as_text_comments_are_not_shown_and_dead_links_are_told() {
    let page = rendered("<script>x</script>\n\na <b>c</b> <!-- n --> [d](gone.md) [e](#here)\n");
    assert!(
        !page.html.contains("<script") && !page.html.contains("<b>"),
        "{}",
        page.html
    );
    assert!(!page.html.contains("<!--") && page.html.contains("<a href=\"#here\">e</a>"));
    assert_eq!(page.broken, ["gone.md"]);
}
