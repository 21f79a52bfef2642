//! In which format an upstream is asked. The caller's own goes through unchanged; where a provider does
//! not speak it, the nearest one does. Which is near is this table, with its reasons.

use trunkline_upstream::Format as Spoken;
use trunkline_wire::Format;

/// What a caller's format is turned into, the best first, each with why it stands where it does.
const NEAR: [(Format, [(Format, &str); 3]); 4] = [
    (
        Format::OpenaiChat,
        [
            (
                Format::OpenaiResponses,
                "the same vendor's newer form: the same tools, schemas and efforts by word",
            ),
            (
                Format::ClaudeMessages,
                "typed blocks, files and seals; only several answers at once have no place",
            ),
            (
                Format::Gemini,
                "schemas are a dialect, and calls may come without ids",
            ),
        ],
    ),
    (
        Format::ClaudeMessages,
        [
            (
                Format::OpenaiResponses,
                "typed items in order, and a place for sealed thoughts",
            ),
            (
                Format::Gemini,
                "parts in order with seals; results of tools may hold pictures",
            ),
            (
                Format::OpenaiChat,
                "one text a turn: thoughts, pictures from tools and marks of caches are lost",
            ),
        ],
    ),
    (
        Format::OpenaiResponses,
        [
            (
                Format::ClaudeMessages,
                "blocks keep the order of thoughts, words and calls, and carry seals",
            ),
            (
                Format::Gemini,
                "parts keep the order of thoughts, words and calls, and carry seals",
            ),
            (
                Format::OpenaiChat,
                "the same vendor's older form: order and sealed thoughts are lost",
            ),
        ],
    ),
    (
        Format::Gemini,
        [
            (
                Format::ClaudeMessages,
                "blocks for every part, files and seals included",
            ),
            (
                Format::OpenaiResponses,
                "items for every part; addresses of media only for pictures and files",
            ),
            (
                Format::OpenaiChat,
                "one text a turn: thoughts and the order of parts are lost",
            ),
        ],
    ),
];

/// The format to ask in, of those that a provider speaks; none if it holds no conversations.
pub(crate) fn choose(caller: Format, spoken: &[Spoken]) -> Option<Format> {
    let speaks = |format: Format| spoken.contains(&provider_format(format));
    if speaks(caller) {
        return Some(caller);
    }
    let near = NEAR.iter().find(|(from, _)| *from == caller)?;
    let known = near.1.iter().map(|(format, _)| *format);
    known.into_iter().find(|format| speaks(*format))
}

/// The providers' name for a format.
pub(crate) const fn provider_format(format: Format) -> Spoken {
    match format {
        Format::OpenaiChat => Spoken::OpenaiChat,
        Format::ClaudeMessages => Spoken::ClaudeMessages,
        Format::OpenaiResponses => Spoken::OpenaiResponses,
        Format::Gemini => Spoken::Gemini,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_own_format_goes_first_and_every_other_is_reachable() {
        for caller in Format::ALL {
            let all = Format::ALL.map(provider_format);
            assert_eq!(choose(caller, &all), Some(caller));
            for other in Format::ALL {
                assert_eq!(choose(caller, &[provider_format(other)]), Some(other));
            }
            assert_eq!(choose(caller, &[Spoken::OpenaiImages]), None);
            let near = NEAR.iter().find(|(from, _)| *from == caller).unwrap();
            let mut seen: Vec<Format> = near.1.iter().map(|(format, _)| *format).collect();
            seen.push(caller);
            seen.sort_unstable();
            assert_eq!(seen, Format::ALL, "each of the others once");
            assert!(near.1.iter().all(|(_, why)| !why.is_empty()));
        }
    }

    #[test]
    fn the_page_about_formats_tells_this_table() {
        let page = include_str!("../../../docs/guide/formats.md");
        for (caller, near) in NEAR {
            let cells = near.map(|(format, why)| format!("{}: {why}", format.as_str()));
            let row = format!("| {} | {} |", caller.as_str(), cells.join(" | "));
            assert!(page.contains(&row), "docs/guide/formats.md lacks {row}");
        }
    }
}
