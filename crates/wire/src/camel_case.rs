//! Google's spelling of a key.

/// `topP` for `top_p`; an underscore ahead stays.
pub(crate) fn camel(key: &str) -> String {
    let mut spelled = String::with_capacity(key.len());
    let mut raise = false;
    for character in key.chars() {
        if character == '_' && !spelled.is_empty() {
            raise = true;
        } else if raise {
            spelled.push(character.to_ascii_uppercase());
            raise = false;
        } else {
            spelled.push(character);
        }
    }
    spelled
}
