"""What is said in the formats that the harness does not speak, and the harness's programs taught to say it.

The harness's own sources stay as they are: beside `load.rs` and `mock.rs` stands one more of each, the same
but for a few lines that read bodies from files.
"""

import json

SYSTEM = "You are a careful assistant that answers in plain language."
# The harness's own question, so that each format carries the same words.
QUESTION = (
    "Explain in three short paragraphs how a gateway meters and charges calls, what happens when an upstream "
    "fails halfway through a stream, and why a reservation is needed before the first byte is sent. Use plain "
    "words and one worked example with numbers in it."
)
ANSWER = (
    "A gateway sits between many clients and many model providers. It checks the key, picks an upstream, forwards "
    "the call, counts the tokens and charges the account, and it should do all of that in far less time than the "
    "model itself needs to answer a single token."
)
PIECES = 64

LOAD_MARK = "    let req = Arc::new(format!("
LOAD_MORE = """    let name = format!("{}{}.json", g("path", "").rsplit('/').next().unwrap_or(""), if stream { ".stream" } else { "" });
    let file = std::env::var("LOAD_BODIES").ok().and_then(|folder| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).ok());
    let body = file.map_or(body, |file| file.replace("MODEL", &g("model", "gpt-4o-mini")));
"""
MOCK_MARK = "    eprintln!(\"mock on"
MOCK_MORE = """    let (json, sse): (&'static [u8], &'static [Vec<u8>]) = match std::env::args().nth(2) {
        None => (json, sse),
        Some(folder) => {
            let read = |name: &str| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).unwrap();
            let body = read("whole.json");
            let whole = format!("HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: {}\\r\\n\\r\\n{}", body.len(), body);
            let mut parts: Vec<Vec<u8>> = read("events.txt").split_inclusive("\\n\\n").map(http_chunk).collect();
            parts.last_mut().unwrap().extend_from_slice(b"0\\r\\n\\r\\n");
            (whole.into_bytes().leak(), parts.leak())
        }
    };
"""


def teach(home):
    """Writes the two programs beside those of the harness; untouched if they are there, so that nothing is built again."""
    for name, mark, more in (("load", LOAD_MARK, LOAD_MORE), ("mock", MOCK_MARK, MOCK_MORE)):
        source = (home / f"src/bin/{name}.rs").read_text()
        if source.count(mark) != 1:
            raise SystemExit(f"bench: {name}.rs of the harness has changed; see {__file__}")
        taught = source.replace(mark, more + mark)
        path = home / f"src/bin/{name}_any.rs"
        if not path.exists() or path.read_text() != taught:
            path.write_text(taught)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def write_bodies(folder):
    """What callers send, by the last word of the path."""
    folder.mkdir()
    asked = {
        "messages": {"model": "MODEL", "system": SYSTEM, "messages": [{"role": "user", "content": QUESTION}],
                     "temperature": 0.2, "max_tokens": 256},
        "responses": {"model": "MODEL", "instructions": SYSTEM, "input": [{"role": "user", "content": QUESTION}],
                      "temperature": 0.2, "max_output_tokens": 256, "store": False},
    }
    for name, body in asked.items():
        (folder / f"{name}.json").write_text(compact(body))
        (folder / f"{name}.stream.json").write_text(compact({**body, "stream": True}))
    return folder


def write_answers(folder):
    """What Anthropic would say; returns the folder and the events of a stream."""
    folder.mkdir()
    message = {"id": "msg_bench0001", "type": "message", "role": "assistant", "model": "claude-bench"}
    usage = {"input_tokens": 87, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 52}
    whole = {**message, "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn", "stop_sequence": None,
             "usage": usage}
    (folder / "whole.json").write_text(compact(whole))
    begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    events = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f" token{number}"}}
          for number in range(PIECES)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": PIECES}},
        {"type": "message_stop"},
    ]
    (folder / "events.txt").write_text("".join(f"event: {event['type']}\ndata: {compact(event)}\n\n" for event in events))
    return folder, len(events)
