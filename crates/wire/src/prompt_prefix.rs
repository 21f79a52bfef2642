//! The prefix of a conversation: everything up to the end of the first user turn, which is the same in every
//! request of the conversation.

use std::borrow::Cow;

use serde::Deserialize;

/// Turns that are looked at; more turns before the first of the user identify the conversation as well.
const MAX_TURNS: usize = 64;

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
}

/// The bytes of a list of turns up to the end of the first one that the user speaks; all of them if there
/// is none. In some formats a turn without a role is the user's.
pub(crate) fn prefix_before_user(list: &[u8], without_role: bool) -> &[u8] {
    let Some(b'[') = list.first() else {
        return list;
    };
    let mut at = 1_usize;
    for _ in 0..MAX_TURNS {
        let rest = list.get(at..).unwrap_or_default();
        let begin = rest.iter().position(|byte| !is_between(*byte));
        let begin = at.saturating_add(begin.unwrap_or(0));
        let rest = list.get(begin..).unwrap_or_default();
        let mut turns = serde_json::Deserializer::from_slice(rest).into_iter::<Turn<'_>>();
        let Some(Ok(turn)) = turns.next() else {
            return list;
        };
        at = begin.saturating_add(turns.byte_offset());
        let is_user = turn.role.map_or(without_role, |role| role == "user");
        if is_user {
            break;
        }
    }
    list.get(..at).unwrap_or(list)
}

const fn is_between(byte: u8) -> bool {
    matches!(byte, b',' | b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_begins_the_same_way_in_every_turn() {
        let first = r#"[ {"role":"system","content":"Be brief"} ,
            {"content":[{"text":"Hi ]"}],"role":"user"}"#;
        for rest in ["]", ",{\"role\":\"assistant\"}]", " , {\"role\":\"user\"}]"] {
            let list = format!("{first}{rest}");
            let opening = prefix_before_user(list.as_bytes(), false);
            assert_eq!(std::str::from_utf8(opening).unwrap(), first);
        }
    }

    #[test]
    fn a_turn_without_a_role_is_the_users_where_the_format_says_so() {
        let list = br#"[{"parts":[]},{"role":"model"}]"#;
        assert_eq!(prefix_before_user(list, true), br#"[{"parts":[]}"#);
        let items = br#"[{"type":"item"},{"role":"user"},{"type":"item"}]"#;
        let opening = br#"[{"type":"item"},{"role":"user"}"#;
        assert_eq!(prefix_before_user(items, false), opening);
    }

    #[test]
    fn what_is_no_list_of_turns_is_taken_whole() {
        for whole in [r#""Hello""#, "[]", "[1,2]", "{}", ""] {
            assert_eq!(
                prefix_before_user(whole.as_bytes(), false),
                whole.as_bytes()
            );
        }
        let long = format!("[{}]", vec![r#"{"role":"system"}"#; 100].join(","));
        let opening = prefix_before_user(long.as_bytes(), false);
        assert!(opening.len() < long.len() && !opening.is_empty());
    }
}
