//! What a client of PostgreSQL has said in its transaction so far.

use std::collections::HashMap;

/// A batch of the ledger, which commits itself where it stands in no transaction.
const BATCH: &str = "ledger.apply_";

/// Where a batch has the requests that it reserves, raises and ends, and the words of a trap that each
/// stands for: it is one statement, whatever it does.
const KINDS: [(usize, &str); 3] = [
    (10, "INSERT INTO ledger.hold_batch_"),
    (25, "INSERT INTO ledger.hold_extension_"),
    (30, "INSERT INTO ledger.usage_unsummed"),
];

/// A type byte and a length stand before the body of a message.
const HEAD_BYTES: usize = 5;

/// The statements of one connection, and which of them its transaction ran.
#[derive(Default)]
pub(super) struct TransactionLog {
    prepared: HashMap<Vec<u8>, String>,
    /// Names of prepared statements that were run since the transaction began.
    ran: Vec<Vec<u8>>,
    /// What batches did since then.
    did: Vec<&'static str>,
    in_transaction: bool,
    /// What was run last commits itself.
    commits_itself: bool,
}

// === impl TransactionLog ===

impl TransactionLog {
    /// Takes in one message of the client.
    pub(super) fn hear(&mut self, message: &[u8]) {
        let body = message.get(HEAD_BYTES..).unwrap_or_default();
        let mut texts = body.split(|byte| *byte == 0);
        match (message.first(), texts.next(), texts.next()) {
            (Some(b'Q'), Some(query), _) => {
                if query.starts_with(b"BEGIN") {
                    self.ran.clear();
                    self.did.clear();
                    self.in_transaction = true;
                } else if query.ends_with(b"COMMIT") || query.ends_with(b"ROLLBACK") {
                    self.in_transaction = false;
                }
                self.commits_itself = false;
            }
            (Some(b'P'), Some(name), Some(text)) => {
                let text = String::from_utf8_lossy(text).into_owned();
                self.prepared.insert(name.to_vec(), text);
            }
            (Some(b'B'), Some(_portal), Some(name)) => {
                if !self.in_transaction {
                    self.ran.clear();
                    self.did.clear();
                }
                let text = self.prepared.get(name).map_or("", String::as_str);
                let is_batch = text.contains(BATCH);
                if is_batch {
                    self.did.extend(kinds(body));
                }
                self.ran.push(name.to_vec());
                self.commits_itself = !self.in_transaction && is_batch;
            }
            _ => {}
        }
    }

    /// Takes in one message of the server: a statement that failed commits nothing.
    pub(super) fn hear_server(&mut self, message: &[u8]) {
        if message.first() == Some(&b'E') {
            self.commits_itself = false;
        }
    }

    /// Whether this message ends a batch that commits itself: the client's `Sync`, which lets it commit,
    /// and the server's "ready" after it has.
    pub(super) fn ends_batch(&mut self, message: &[u8]) -> bool {
        match message.first() {
            Some(b'S') => self.commits_itself,
            Some(b'Z') => std::mem::take(&mut self.commits_itself),
            _ => false,
        }
    }

    /// Whether a statement with these words was run since the transaction began.
    pub(super) fn has(&self, words: &str) -> bool {
        let mut texts = self.ran.iter().filter_map(|name| self.prepared.get(name));
        texts.any(|text| text.contains(words)) || self.did.iter().any(|did| did.contains(words))
    }
}

/// What a batch does, by which of its lists have elements.
fn kinds(bind: &[u8]) -> Vec<&'static str> {
    let Some(arguments) = arguments(bind) else {
        return Vec::new();
    };
    let has_elements = |place: usize| {
        // The number of dimensions, two numbers of the elements' kind, then how many there are.
        let count = arguments.get(place).and_then(|list| list.get(12..16));
        count.is_some_and(|count| count != [0; 4])
    };
    let done = KINDS.iter().filter(|(place, _)| has_elements(*place));
    done.map(|(_, words)| *words).collect()
}

/// The arguments of a statement that is run.
fn arguments(bind: &[u8]) -> Option<Vec<&[u8]>> {
    let mut names = bind.splitn(3, |byte| *byte == 0);
    let rest = names.nth(2)?;
    let (formats, rest) = short(rest)?;
    let (count, mut rest) = short(rest.get(2 * formats..)?)?;
    let mut arguments = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, value) = rest.split_first_chunk::<4>()?;
        // A null has no bytes, and -1 of them.
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        arguments.push(value.get(..length)?);
        rest = value.get(length..)?;
    }
    Some(arguments)
}

fn short(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<2>()?;
    Some((usize::from(u16::from_be_bytes(*number)), rest))
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

    #[test]
    fn a_batch_commits_itself_unless_it_is_in_a_transaction_or_fails() {
        let (sync, ready) = (message(b'S', b""), message(b'Z', b"I"));
        let mut log = TransactionLog::default();
        log.hear(&message(
            b'P',
            b"s1\0SELECT * FROM ledger.apply_20261117($1)\0\0\0",
        ));
        log.hear(&message(b'P', b"s2\0SELECT 1\0\0\0"));
        assert!(!log.ends_batch(&sync), "prepared is not run");
        log.hear(&message(b'B', b"\0s1\0\0\0"));
        assert!(!log.ends_batch(&message(b'C', b"SELECT 1\0")));
        assert!(log.ends_batch(&sync) && log.ends_batch(&ready));
        assert!(!log.ends_batch(&sync), "it is over");
        log.hear(&message(b'B', b"\0s1\0\0\0"));
        log.hear_server(&message(b'E', b""));
        assert!(!log.ends_batch(&ready), "it failed");
        log.hear(&message(b'B', b"\0s2\0\0\0"));
        assert!(!log.ends_batch(&sync), "no batch");
        log.hear(&message(b'Q', b"BEGIN\0"));
        log.hear(&message(b'B', b"\0s1\0\0\0"));
        assert!(!log.ends_batch(&sync), "in a transaction");
        log.hear(&message(b'Q', b"ROLLBACK\0"));
        log.hear(&message(b'B', b"\0s1\0\0\0"));
        assert!(log.ends_batch(&sync));
    }

    #[test]
    fn a_batch_is_known_by_what_it_does() {
        let list = |elements: i32| {
            let numbers = [1, 0, 2950, elements, 1].map(i32::to_be_bytes).concat();
            [&20_i32.to_be_bytes()[..], &numbers].concat()
        };
        let null = (-1_i32).to_be_bytes().to_vec();
        let mut bind = [b"\0s1\0".to_vec(), vec![0, 1, 0, 1], vec![0, 31]].concat();
        for place in 0..31 {
            bind.extend(match place {
                10 => list(0),
                30 => list(2),
                _ => null.clone(),
            });
        }
        let mut log = TransactionLog::default();
        log.hear(&message(
            b'P',
            b"s1\0SELECT * FROM ledger.apply_20261117($1)\0\0\0",
        ));
        log.hear(&message(b'B', &bind));
        assert!(log.has("INSERT INTO ledger.usage_unsummed"));
        assert!(!log.has("INSERT INTO ledger.hold_"), "nothing is reserved");
    }
}
