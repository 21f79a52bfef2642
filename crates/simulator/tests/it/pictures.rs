//! Reads pictures as a client does: the head of a file, and a JPEG to its last block.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use trunkline_simulator::{ImageCall, Simulator};

use crate::client::{Response, ask};

/// Kind, width and height as the file itself tells them.
pub(crate) fn seen(file: &[u8]) -> (&'static str, u32, u32) {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0u32, |sum, byte| sum << 8 | u32::from(*byte))
    };
    if file.starts_with(b"\x89PNG\r\n\x1a\n") {
        assert_eq!(&file[12..16], b"IHDR");
        assert!(file.ends_with(b"IEND\xaeB`\x82"), "the file is whole");
        return ("png", number(&file[16..20]), number(&file[20..24]));
    }
    assert!(
        file.starts_with(b"\xff\xd8") && file.ends_with(b"\xff\xd9"),
        "a whole JPEG"
    );
    let mut at = 2;
    loop {
        assert_eq!(file[at], 0xff, "a mark");
        let (mark, length) = (file[at + 1], number(&file[at + 2..at + 4]));
        if mark == 0xc0 {
            let (height, width) = (number(&file[at + 5..at + 7]), number(&file[at + 7..at + 9]));
            return ("jpeg", width, height);
        }
        at += 2 + usize::try_from(length).unwrap();
    }
}

/// What stands as base64 in an answer.
pub(crate) fn decoded(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("base64 is text");
    STANDARD.decode(text).expect("base64")
}

/// Follows a link without a key.
pub(crate) async fn followed(simulator: &Simulator, link: &Value) -> Response {
    let link = link.as_str().expect("a link is text");
    let path = link
        .strip_prefix("http://simulator")
        .expect("the host that was asked");
    ask(simulator, "GET", path, "", b"").await
}

/// The file behind a link.
pub(crate) async fn fetched(simulator: &Simulator, link: &Value) -> (&'static str, u32, u32) {
    let got = followed(simulator, link).await;
    assert_eq!(got.status, 200);
    let seen = seen(&got.body);
    assert_eq!(
        got.header("content-type"),
        Some(format!("image/{}", seen.0).as_str())
    );
    seen
}

/// A hash as records write it.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The last order that was taken.
pub(crate) fn last(simulator: &Simulator) -> ImageCall {
    simulator.image_calls().pop().expect("an order")
}

/// A fox of this many pixels, as a file of the simulator's own making.
pub(crate) async fn source(simulator: &Simulator, name: &str) -> Vec<u8> {
    ask(simulator, "GET", &format!("/_images/{name}"), "", b"")
        .await
        .body
}

/// The same with other fields; null takes one away.
pub(crate) fn merged(mut base: Value, more: &Value) -> Value {
    let fields = base.as_object_mut().unwrap();
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    base
}

/// How many blocks the scan of a JPEG holds, read code by code with the tables of the file.
pub(crate) fn blocks(file: &[u8]) -> usize {
    let mut codes = [Vec::new(), Vec::new()];
    let mut at = 2;
    let scan = loop {
        let length = usize::from(file[at + 2]) << 8 | usize::from(file[at + 3]);
        let inside = &file[at + 4..at + 2 + length];
        match file[at + 1] {
            0xc4 => codes = tables(inside),
            0xda => break &file[at + 2 + length..file.len() - 2],
            _ => {}
        }
        at += 2 + length;
    };
    // A byte of ones has a zero behind it, which is no part of the data.
    let mut bytes = Vec::new();
    let mut is_stuffed = false;
    for byte in scan {
        assert!(!is_stuffed || *byte == 0, "a mark inside the scan");
        if !is_stuffed {
            bytes.push(*byte);
        }
        is_stuffed = *byte == 0xff;
    }
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))
        .collect();
    let (mut place, mut count) = (0, 0);
    while bits.len() - place >= 8 || bits[place..].contains(&0) {
        let first = symbol(&bits, &mut place, &codes[0]);
        place += usize::from(first);
        let rest = symbol(&bits, &mut place, &codes[1]);
        assert_eq!(rest, 0, "a flat block has no more than its first number");
        count += 1;
    }
    count
}

/// Codes as bits with what they stand for, of the first numbers and of the others.
fn tables(mut inside: &[u8]) -> [Vec<(Vec<u8>, u8)>; 2] {
    let mut tables = [Vec::new(), Vec::new()];
    while let [class, rest @ ..] = inside {
        let (lengths, mut values) = rest.split_at(16);
        let mut code = 0u32;
        for (shorter, number) in lengths.iter().enumerate() {
            for _ in 0..*number {
                let bits = (0..=shorter).rev();
                let bits = bits.map(|bit| u8::try_from(code >> bit & 1).unwrap());
                tables[usize::from(class >> 4)].push((bits.collect(), values[0]));
                values = &values[1..];
                code += 1;
            }
            code <<= 1;
        }
        inside = values;
    }
    tables
}

fn symbol(bits: &[u8], place: &mut usize, codes: &[(Vec<u8>, u8)]) -> u8 {
    let mut fitting = codes
        .iter()
        .filter(|(code, _)| bits[*place..].starts_with(code));
    let (code, value) = fitting.next().expect("a code of the table");
    *place += code.len();
    *value
}
