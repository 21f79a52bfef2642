//! Words and tokens. A token of the simulator is a word for output and four bytes for input, so a
//! client and a checker can count them without a tokenizer.

/// Bytes of message text for one prompt token.
const BYTES_PER_PROMPT_TOKEN: u64 = 4;
/// What each message costs beside its text.
const TOKENS_PER_MESSAGE: u64 = 3;
/// What each image part costs, whatever its size.
const TOKENS_PER_IMAGE: u64 = 85;

/// What a prompt is made of, as far as its price goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptSize {
    pub(crate) text_bytes: u64,
    pub(crate) messages: u64,
    pub(crate) images: u64,
}

// === impl PromptSize ===

impl PromptSize {
    pub(crate) fn tokens(self) -> u64 {
        let text = self.text_bytes.div_ceil(BYTES_PER_PROMPT_TOKEN);
        let messages = self.messages.saturating_mul(TOKENS_PER_MESSAGE);
        let images = self.images.saturating_mul(TOKENS_PER_IMAGE);
        text.saturating_add(messages).saturating_add(images)
    }
}

/// Cuts a text into tokens: each is a word with the white space behind it. White space at the
/// start belongs to the first word.
pub(crate) fn tokens_of(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut token = String::new();
    let mut word_ended = false;
    for character in text.chars() {
        let is_space = character.is_whitespace();
        if word_ended && !is_space {
            tokens.push(std::mem::take(&mut token));
            word_ended = false;
        }
        token.push(character);
        if is_space && !token.trim().is_empty() {
            word_ended = true;
        }
    }
    if !token.is_empty() {
        tokens.push(token);
    }
    tokens
}

/// How many bytes or items there are, as the counts of this crate.
pub(crate) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    // Audio is told this way, megabytes at a time, so no formatter is asked for each byte.
    let digit = |four_bits: u8| char::from_digit(four_bits.into(), 16).unwrap_or('0');
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_tokens_are_a_quarter_of_the_bytes_plus_three_a_message() {
        let size = PromptSize {
            text_bytes: 9,
            messages: 2,
            images: 1,
        };
        assert_eq!(size.tokens(), 3 + 6 + 85);
    }

    #[test]
    fn tokens_join_to_the_text_and_count_its_words() {
        for text in ["", "a", "a b", " a  b ", "{\n  \"a\": 1\n}"] {
            let tokens = tokens_of(text);
            assert_eq!(tokens.concat(), text);
            assert_eq!(tokens.len(), text.split_whitespace().count());
        }
    }
}
