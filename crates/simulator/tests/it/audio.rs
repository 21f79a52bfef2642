//! What the tests of speech and recognition share: texts that are spoken, files that are heard.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use trunkline_simulator::{AudioCall, AudioFault, Fault, Simulator};

use crate::client::{Response, ask, post};

pub(crate) const KEY: &str = "authorization: Bearer sk-test-1234\r\n";
pub(crate) const TEXT: &str = "The quick brown fox jumps.";
/// How long it sounds: sixty milliseconds for each of its 26 characters.
pub(crate) const MILLIS: u64 = 1_560;

pub(crate) async fn speak(simulator: &Simulator, more: Value) -> Response {
    let base = json!({"model": "gpt-4o-mini-tts", "voice": "alloy", "input": TEXT});
    post(simulator, "/v1/audio/speech", &merged(base, &more)).await
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

/// A WAV file of so many milliseconds of silence and a mark that makes it another one.
pub(crate) fn wav(millis: usize, mark: u8) -> Vec<u8> {
    let samples = millis * 16;
    let length = u32::try_from(samples * 2).unwrap();
    let mut file = b"RIFF".to_vec();
    file.extend((36 + length).to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend(16_000u32.to_le_bytes());
    file.extend(32_000u32.to_le_bytes());
    file.extend(b"\x02\0\x10\0data");
    file.extend(length.to_le_bytes());
    file.extend(vec![mark; samples * 2]);
    file
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The body of a form with one file.
pub(crate) fn form(fields: &[(&str, &str)], file: Option<(&str, &[u8])>) -> Vec<u8> {
    let mut body = Vec::new();
    let disposition = "content-disposition: form-data";
    for (name, value) in fields {
        let part = format!("--b0undary\r\n{disposition}; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend(part.as_bytes());
    }
    if let Some((name, bytes)) = file {
        let head = format!("{disposition}; name=\"file\"; filename=\"{name}\"");
        body.extend(format!("--b0undary\r\n{head}\r\ncontent-type: audio/wav\r\n\r\n").as_bytes());
        body.extend(bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--b0undary--\r\n");
    body
}

/// Sends a form.
pub(crate) async fn upload(
    simulator: &Simulator,
    path: &str,
    fields: &[(&str, &str)],
    file: &[u8],
) -> Response {
    let body = form(fields, Some(("a.wav", file)));
    let head = format!("{KEY}content-type: multipart/form-data; boundary=b0undary\r\n");
    ask(simulator, "POST", path, &head, &body).await
}

/// Follows a link of the simulator.
pub(crate) async fn follow(simulator: &Simulator, link: &str) -> Response {
    let path = link.split_once("//").unwrap().1;
    let path = &path[path.find('/').unwrap()..];
    ask(simulator, "GET", path, "", b"").await
}

pub(crate) fn audio(fault: AudioFault) -> Fault {
    Fault::Audio(fault)
}

/// The only call.
pub(crate) fn only_call(simulator: &Simulator) -> AudioCall {
    let calls = simulator.audio_calls();
    let [call] = calls.as_slice() else {
        panic!("one call, not {calls:#?}");
    };
    call.clone()
}
