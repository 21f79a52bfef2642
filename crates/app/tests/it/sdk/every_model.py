"""Calls every model that `trunkline dev` lists, by the plainest call of its own endpoint: all are 200.

Usage: every_model.py BASE_URL KEY, with DASH_URL in the environment. Chat models are called by the SDKs of OpenAI,
Anthropic and Google, whole and as streams, with the parameters that every tutorial sends. All failures are told.
"""

import json
import os
import struct
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

warnings.simplefilter("ignore")

import anthropic
from google import genai
from google.genai import types
from openai import OpenAI

BASE_URL, KEY = sys.argv[1:]
# A key may send 600 requests a minute, and this is faster.
KEYS = os.environ["KEYS"].split(",")
ROOT, DASH = BASE_URL.removesuffix("/v1"), os.environ["DASH_URL"]
# Music has no path.
NOT_SERVED = {"music-generation", "system-one"}

openai = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=120)
chats = [OpenAI(base_url=BASE_URL, api_key=key, max_retries=0, timeout=120) for key in KEYS]
claude = anthropic.Anthropic(base_url=ROOT, api_key=KEYS[0], max_retries=0, timeout=120)
gemini = genai.Client(api_key=KEYS[1], http_options=types.HttpOptions(base_url=ROOT))


def get(url):
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def post(path, body):
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(BASE_URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def picture(side=512):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def sound():
    """A second of silence."""
    data = b"\0\0" * 16000
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16, b"data", len(data))
    return head + data


def said(text):
    """Sentences, not numbered words."""
    assert text.startswith("Hello!"), text


def chat(model):
    plain = {"max_tokens": 20, "temperature": 0.7, "stop": ["\n\n\n"]}
    messages = [{"role": "user", "content": "Hello"}]
    openai = chats[zlib.crc32(model.encode()) % len(chats)]
    answer = openai.chat.completions.create(model=model, messages=messages, **plain)
    said(answer.choices[0].message.content)
    assert answer.usage.completion_tokens == 20 and answer.choices[0].finish_reason == "length", answer
    pieces = openai.chat.completions.create(model=model, messages=messages, stream=True, **plain)
    said("".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices))
    openai.chat.completions.create(model=model, messages=messages, max_completion_tokens=20)


def messages(model):
    # The SDK of today has no temperature any more; those of yesterday send it.
    plain = {"max_tokens": 20, "stop_sequences": ["###"], "extra_body": {"temperature": 0.7}}
    asked = [{"role": "user", "content": "Hello"}]
    answer = claude.messages.create(model=model, messages=asked, **plain)
    said("".join(block.text for block in answer.content if block.type == "text"))
    with claude.messages.stream(model=model, messages=asked, **plain) as stream:
        said("".join(stream.text_stream))


def responses(model):
    answer = openai.responses.create(model=model, input="Hello", max_output_tokens=20, temperature=0.7)
    said(answer.output_text)


def generate(model):
    config = {"max_output_tokens": 20, "temperature": 0.7, "stop_sequences": ["\n\n\n"]}
    said(gemini.models.generate_content(model=model, contents="Hello", config=config).text)
    pieces = gemini.models.generate_content_stream(model=model, contents="Hello", config=config)
    said("".join(piece.text or "" for piece in pieces))


def passed_through(model, tasks):
    if "embeddings" in tasks:
        assert openai.embeddings.create(model=model, input="Hello").data[0].embedding
    elif "rerank" in tasks:
        assert post("/rerank", {"model": model, "query": "Hello", "documents": ["Hello", "Goodbye"]})["results"]
    else:
        assert openai.moderations.create(model=model, input="Hello").results


def image(model):
    link = openai.images.generate(model=model, prompt="A cat").data[0]
    assert link.url or link.b64_json, link


def speech(model, record):
    # Voices are a vendor's own, and the record names one.
    voice = record.get("default_voice", "alloy")
    assert openai.audio.speech.create(model=model, voice=voice, input="Good morning.").content


def transcript(model):
    assert openai.audio.transcriptions.create(model=model, file=("a.wav", sound(), "audio/wav")).text


def realtime(model):
    content = [{"type": "input_text", "text": "Hello"}]
    with openai.realtime.connect(model=model) as connection:
        connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        connection.response.create()
        for event in connection:
            assert event.type != "error", event
            if event.type == "response.done":
                assert event.response.status == "completed", event
                return


def video(model, record):
    tasks, body = record["tasks"], {"model": model, "prompt": "A cat"}
    if "video-editing" in tasks:
        body["video_url"] = VIDEO
    elif "text-to-video" not in tasks:
        body["input_reference"] = PICTURE
    if model in ALSO:
        body["metadata"] = ALSO[model]
    task = post("/videos", body)
    assert task["status"] in ("queued", "in_progress", "completed"), task


def social(cell):
    def ask(items):
        query = urllib.parse.urlencode({item["name"]: item["example"] for item in items})
        return get(f"{ROOT}{cell['path']}?{query}")["object"]

    try:
        assert ask(item for item in cell["params"] if item["required"]), cell
    except urllib.error.HTTPError as error:
        # One of several is required, and the first will do.
        assert json.load(error)["error"]["code"] == "missing_parameter", cell
        assert ask(cell["params"][:1]), cell


def walk(name, record):
    kinds = set(record["supported_endpoint_types"]) - NOT_SERVED
    assert kinds, "nothing serves it"
    if {"embeddings", "rerank", "moderation"} & set(record["tasks"]):
        return passed_through(name, record["tasks"])
    for kind in sorted(kinds):
        match kind:
            case "openai":
                chat(name)
            case "anthropic":
                messages(name)
            case "openai-response":
                responses(name)
            case "gemini":
                generate(name)
            case "image-generation":
                image(name)
            case "audio-speech":
                speech(name, record)
            case "audio-transcription":
                transcript(name)
            case "realtime":
                realtime(name)
            case "openai-video":
                video(name, record)
            case other:
                raise AssertionError(f"no call for {other}")


class Files(BaseHTTPRequestHandler):
    """A picture and a video of two seconds for models that take one."""

    def do_GET(self):
        body, kind = (VIDEO_BYTES, "video/mp4") if self.path.endswith(".mp4") else (picture(), "image/png")
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def two_second_video():
    """One that the gateway makes itself."""
    task = post("/videos", {"model": "sim-video", "prompt": "A cat", "seconds": "4"})
    while task["status"] != "completed":
        task = get(f"{BASE_URL}/videos/{task['id']}?wait=30")
        assert task["status"] != "failed", task
    return openai.videos.download_content(task["id"]).read()


VIDEO_BYTES = two_second_video()
files = ThreadingHTTPServer(("127.0.0.1", 0), Files)
threading.Thread(target=files.serve_forever, daemon=True).start()
PLACE = f"http://127.0.0.1:{files.server_port}"
PICTURE, VIDEO = f"{PLACE}/cat.png", f"{PLACE}/cat.mp4"
# What the specification requires of single models.
ALSO = {
    "kling-v3-omni": {"aspect_ratio": "16:9"},
    "MiniMax-H3": {"ratio": "16:9"},
    "MiniMax-Hailuo-2.3-Fast": {"first_frame_image": PICTURE},
}

listed = [model.id for model in openai.models.list()]
records = {record["model_name"]: record for record in get(f"{DASH}/api/pricing")["data"]}
cells = {cell["model"]: cell for cell in get(f"{DASH}/api/social/catalog")["cells"]}
assert set(listed) <= set(records) | set(cells), set(listed) - set(records) - set(cells)


def is_gone(name):
    """A record whose last day has come is refused by name, and listed no more."""
    try:
        post("/quotes", {"endpoint": "images", "body": {"model": name, "prompt": "x"}})
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]["code"] == "model_shut_down"
    return False


def outcome(name):
    try:
        if name not in listed and name in records and is_gone(name):
            return None
        social(cells[name]) if name in cells else walk(name, records[name])
        return None
    except urllib.error.HTTPError as error:
        return f"{name}: {error.code} {error.read().decode()[:300]}"
    except Exception as error:
        return f"{name}: {type(error).__name__} {str(error)[:300]}"


every = sorted(set(records) | set(cells))
with ThreadPoolExecutor(4) as pool:
    failed = [text for text in pool.map(outcome, every) if text]
print(f"{len(every)} models called, {len(failed)} failed")
if failed:
    raise SystemExit("\n".join(failed))
