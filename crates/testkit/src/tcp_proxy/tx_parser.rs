//! What a client of PostgreSQL has said in its transaction so far.

use std::collections::HashMap;

/// A type byte and a length stand before the body of a message.
const HEAD_BYTES: usize = 5;

/// The statements of one connection, and which of them its transaction ran.
#[derive(Default)]
pub(super) struct TransactionLog {
    prepared: HashMap<Vec<u8>, String>,
    /// Names of prepared statements that were run since the transaction began.
    ran: Vec<Vec<u8>>,
}

// === impl TransactionLog ===

impl TransactionLog {
    /// Takes in one message of the client.
    pub(super) fn hear(&mut self, message: &[u8]) {
        let body = message.get(HEAD_BYTES..).unwrap_or_default();
        let mut texts = body.split(|byte| *byte == 0);
        match (message.first(), texts.next(), texts.next()) {
            (Some(b'Q'), Some(query), _) if query.starts_with(b"BEGIN") => self.ran.clear(),
            (Some(b'P'), Some(name), Some(text)) => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.prepared.insert(name.to_vec(), text);
            }
            (Some(b'B'), Some(_portal), Some(name)) => self.ran.push(name.to_vec()),
            _ => {}
        }
    }

    /// Whether a statement with these words was run since the transaction began.
    pub(super) fn has(&self, words: &str) -> bool {
        let mut texts = self.ran.iter().filter_map(|name| self.prepared.get(name));
        texts.any(|text| text.contains(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag, 0, 0, 0, 0][..], body].concat()
    }

    #[test]
    fn a_statement_counts_for_its_own_transaction_and_for_no_later_one() {
        let mut log = TransactionLog::default();
        log.hear(&message(b'P', b"s1\0INSERT INTO a\0\0\0"));
        log.hear(&message(b'P', b"s2\0UPDATE b\0\0\0"));
        assert!(!log.has("INTO a"), "prepared is not run");
        log.hear(&message(b'Q', b"BEGIN\0"));
        log.hear(&message(b'B', b"\0s1\0\0\0"));
        assert!(log.has("INTO a") && !log.has("UPDATE b"));
        log.hear(&message(b'Q', b"BEGIN READ WRITE\0"));
        assert!(!log.has("INTO a"));
        log.hear(&message(b'B', b"\0s2\0\0\0"));
        assert!(log.has("UPDATE b"), "prepared in an earlier one");
    }
}
