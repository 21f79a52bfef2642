"""The vendor's own Python SDK draws, speaks and listens, unmodified but for base URL and key, through the gateway.

Usage: openai_media.py BASE_URL KEY, with SIMULATOR_URL in the environment. Pictures are as large and audio as
long as was asked for, files reach the vendor byte by byte, and the balance falls by what the answers said.
Stops at the first surprise with a traceback.
"""

import base64
import hashlib
import io
import json
import os
import sys
import time
import urllib.request
import warnings
from decimal import Decimal

import openai
from openai import OpenAI

from media_files import expected, lasts, picture, recorded, seen

# The SDK says of translations that they will go one day.
warnings.simplefilter("ignore", DeprecationWarning)
BASE_URL, KEY = sys.argv[1:]
SIMULATOR_URL = os.environ["SIMULATOR_URL"]
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=60)
TEXT = "The quick brown fox jumps over the lazy dog, twice."
# What the simulator speaks.
MILLIS = 60 * len(TEXT)
PAINTER = {"model": "gpt-image-1.5", "prompt": "a cat on a roof", "quality": "low", "size": "1024x1024"}
costs = []


def get(path):
    request = urllib.request.Request(BASE_URL + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def paid():
    return Decimal(get("/balance")["paid_usd"])


def calls(what):
    """What the vendor took, the newest last."""
    with urllib.request.urlopen(f"{SIMULATOR_URL.removesuffix('/v1')}/_simulator/{what}") as answer:
        return json.load(answer)["calls"]


def charged(cost, headers):
    """The price of an answer is the one that was expected, and the ledger's."""
    told = Decimal(headers["trunkline-cost-usd"])
    assert told == Decimal(cost), (told, cost)
    row = get(f"/usage/{headers['x-request-id']}")
    assert row["charged"] is True and Decimal(row["cost_usd"]) == told, row
    costs.append(told)
    return row


def priced(cost, create, **asked):
    raw = create(**asked)
    charged(cost, raw.headers)
    return raw.parse()


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def linked(made):
    """The pictures behind the links of an answer, which need no key."""
    files = []
    for entry in made.data:
        assert entry.b64_json == "", entry
        with urllib.request.urlopen(entry.url) as answer:
            files.append(answer.read())
            assert answer.headers["content-type"] == f"image/{seen(files[-1])[0]}", answer.headers
    return files


def held(made):
    assert all(entry.url == "" for entry in made.data), made
    return [base64.b64decode(entry.b64_json) for entry in made.data]


def pictures_from_text():
    generate = client.images.with_raw_response.generate
    made = priced("0.018", generate, **PAINTER, n=2)
    assert abs(made.created - time.time()) < 120, made.created
    assert made.metadata == {"success_count": "2", "failed_count": "0"}, made
    first, second = linked(made)
    assert first != second and seen(first) == seen(second) == ("png", 1024, 1024)
    wide = {**PAINTER, "size": "1536x1024", "response_format": "b64_json"}
    assert [seen(file) for file in held(priced("0.026", generate, **wide, n=2))] == [("png", 1536, 1024)] * 2
    by_link = {**PAINTER, "size": "1024x1536", "output_format": "jpeg", "response_format": "url"}
    assert [seen(file) for file in linked(priced("0.013", generate, **by_link))] == [("jpeg", 1024, 1536)]
    # A price that does not depend on the size.
    free = {"model": "grok-imagine-image", "prompt": "a cat", "size": "1280x720", "response_format": "b64_json"}
    assert [seen(file) for file in held(priced("0.02", generate, **free))] == [("png", 1280, 720)]


def some_of_several_pictures():
    part = {**PAINTER, "prompt": "[[image:fail_some:1]] a cat"}
    made = priced("0.018", client.images.with_raw_response.generate, **part, n=3)
    assert made.metadata == {"success_count": "2", "failed_count": "1"} and len(linked(made)) == 2, made


def pictures_from_pictures():
    edit = client.images.with_raw_response.edit
    cat, dog, mask = picture(320, 240), picture(256, 256), picture(320, 240)
    named = [("cat.png", cat, "image/png"), ("dog.png", dog, "image/png"), ("mask.png", mask, "image/png")]
    for cost, more, files in (
        ("0.009", {"image": named[0]}, [cat]),
        ("0.009", {"image": io.BytesIO(dog)}, [dog]),
        ("0.018", {"image": named[:2], "n": 2}, [cat, dog]),
        ("0.009", {"image": named[0], "mask": named[2], "output_format": "jpeg"}, [cat, mask]),
        ("0.018", {"image": named[:2], "mask": named[2], "n": 2}, [cat, dog, mask]),
    ):
        made = priced(cost, edit, **PAINTER, **more)
        wanted = (more.get("output_format", "png"), 1024, 1024)
        assert [seen(file) for file in linked(made)] == [wanted] * more.get("n", 1), made
        took = calls("images")[-1]
        assert took["is_edit"] and took["has_mask"] is ("mask" in more), took
        assert took["files"] == [hashlib.sha256(file).hexdigest() for file in files], took
    whole = priced("0.009", edit, **PAINTER, image=named[0], response_format="b64_json")
    assert [seen(file) for file in held(whole)] == [("png", 1024, 1024)]


def spoken(cost, **asked):
    raw = client.audio.speech.with_raw_response.create(**asked)
    row = charged(cost, raw.headers)
    assert row["prompt_tokens"] == len(asked["input"]), row
    return raw.headers["content-type"], raw.parse().content, row


def speech_in_every_format():
    kinds = {"mp3": "mpeg", "opus": "ogg"}
    for format in ("mp3", "opus", "aac", "flac", "wav", "pcm"):
        asked = {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": format}
        kind, file, row = spoken("0.000765", **asked)
        assert kind == f"audio/{kinds.get(format, format)}", kind
        lasts(format, file, MILLIS)
        # A thousand a minute of what was spoken, shown at no price.
        assert row["completion_tokens"] in (51, 52), row
        if format not in ("aac", "pcm"):
            # Three seconds and a bit are billed as four.
            name = f"a.{format}".replace("opus", "ogg")
            asked = {"model": "whisper-1", "file": (name, file), "response_format": "verbose_json"}
            heard = priced("0.0004", client.audio.transcriptions.with_raw_response.create, **asked)
            assert MILLIS <= 1000 * heard.duration <= MILLIS + 36 and heard.usage.seconds == 4, heard
            assert heard.text == expected(file), heard.text
    kind, file, _ = spoken("0.00153", model="tts-1-hd", voice="nova", input=TEXT)
    assert kind == "audio/mpeg", kind
    lasts("mp3", file, MILLIS)
    _, file, _ = spoken("0.000765", model="tts-1", voice="nova", input=TEXT, response_format="pcm", speed=1.5)
    lasts("pcm", file, MILLIS / 1.5)
    # A character is one, however many bytes it has.
    _, file, _ = spoken("0.000045", model="tts-1", voice="nova", input="é猫🐈", response_format="wav")
    lasts("wav", file, 180)


def speech_of_other_vendors():
    narrator = {"model": "speech-2.6-hd", "voice": "English_expressive_narrator", "input": TEXT}
    for format in ("mp3", "flac", "wav", "pcm"):
        _, file, _ = spoken("0.0051", **narrator, response_format=format)
        lasts(format, file, MILLIS)
    _, file, _ = spoken("0.00051", model="qwen3-tts-flash", voice="Cherry", input=TEXT, response_format="wav")
    lasts("wav", file, MILLIS)


def speech_as_it_is_made():
    for model, voice, cost in (("tts-1", "sage", "0.00093"), ("speech-2.6-hd", "English_Graceful_Lady", "0.0062")):
        asked = {"model": model, "voice": voice, "input": "[[pace:40]]" + TEXT, "response_format": "pcm"}
        began, arrived, pieces = time.monotonic(), [], []
        with client.audio.speech.with_streaming_response.create(**asked) as response:
            assert "content-length" not in response.headers, response.headers
            headers = response.headers
            for piece in response.iter_bytes():
                arrived.append(time.monotonic() - began)
                pieces.append(piece)
        lasts("pcm", b"".join(pieces), 60 * len(asked["input"]))
        # Eighteen pauses lie between the pieces; the first did not wait for the last.
        assert len(pieces) > 3 and arrived[-1] - arrived[0] > 0.2, arrived
        charged(cost, headers)


def every_way_of_writing_down():
    create = client.audio.transcriptions.with_raw_response.create
    file = recorded(2460)
    words = expected(file)
    asked = {"model": "whisper-1", "file": ("a.wav", file, "audio/wav")}
    for more in ({}, {"response_format": "json", "temperature": 0.2, "prompt": "a remark", "language": "en"}):
        plain = priced("0.0003", create, **asked, **more)
        assert (plain.text, plain.usage.type, plain.usage.seconds) == (words, "duration", 3), plain
    assert calls("audio")[-1]["sha256"] == hashlib.sha256(file).hexdigest()
    assert priced("0.0003", create, **asked, response_format="text") == words + "\n"
    srt = priced("0.0003", create, **asked, response_format="srt")
    assert srt.startswith("1\n00:00:00,000 --> 00:00:00,820\n") and srt.count("-->") == 3, srt
    vtt = priced("0.0003", create, **asked, response_format="vtt")
    assert vtt.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:00.820\n") and vtt.count("-->") == 3, vtt
    timed = {"response_format": "verbose_json", "timestamp_granularities": ["word", "segment"]}
    verbose = priced("0.0003", create, **asked, **timed)
    assert (verbose.duration, verbose.text, verbose.usage.seconds) == (2.46, words, 3), verbose
    assert [segment.id for segment in verbose.segments] == [0, 1, 2] and len(verbose.words) == 12, verbose


def writing_down_by_other_vendors():
    create = client.audio.transcriptions.with_raw_response.create
    file = recorded(2460)
    asked = {"file": ("a.wav", file, "audio/wav")}
    for model, cost in (
        ("qwen3-asr-flash", "0.000105"),
        ("glm-asr-2512", "0.000430059"),
        ("voxtral-mini-latest", "0.00015"),
    ):
        made = priced(cost, create, model=model, **asked)
        assert made.text == expected(file) and made.usage.seconds == 3, made
        assert priced(cost, create, model=model, **asked, response_format="text").strip() == expected(file)
    _, aac, _ = spoken("0.000765", model="tts-1", voice="onyx", input=TEXT, response_format="aac")
    made = priced("0.000105", create, model="qwen3-asr-flash", file=("a.aac", aac))
    assert made.text == expected(aac) and made.usage.seconds == 3, made


def translations():
    create = client.audio.translations.with_raw_response.create
    file = recorded(1000)
    words = "In English it says: " + expected(file)
    asked = {"model": "whisper-1", "file": ("a.wav", file, "audio/wav")}
    assert priced("0.0001", create, **asked).text == words
    assert priced("0.0001", create, **asked, response_format="text") == words + "\n"
    verbose = priced("0.0001", create, **asked, response_format="verbose_json")
    assert (verbose.duration, verbose.text) == (1.0, words), verbose


def refusals_cost_nothing():
    before = paid()
    speech = {"model": "tts-1", "voice": "alloy", "input": TEXT}
    recording = {"model": "whisper-1", "file": ("a.wav", recorded(500), "audio/wav")}
    photo = {**PAINTER, "image": ("cat.png", picture(64, 64), "image/png")}
    for create, good, param, value in (
        (client.audio.speech.create, speech, "voice", "nobody"),
        (client.audio.speech.create, speech, "input", "x" * 4097),
        (client.audio.speech.create, speech, "input", ""),
        (client.audio.speech.create, speech, "response_format", "midi"),
        (client.audio.speech.create, speech, "speed", 4.1),
        (client.images.generate, PAINTER, "size", "100x100"),
        (client.images.generate, PAINTER, "quality", "hd"),
        (client.images.generate, PAINTER, "n", 129),
        (client.images.generate, PAINTER, "stream", True),
        (client.images.edit, photo, "image", ("cat.png", b"", "image/png")),
        (client.audio.transcriptions.create, recording, "file", ("a.wav", b"no audio at all", "audio/wav")),
        (client.audio.transcriptions.create, recording, "response_format", "doc"),
        (client.audio.transcriptions.create, recording, "temperature", 1.5),
        (client.audio.translations.create, recording, "response_format", "doc"),
    ):
        error = fails(openai.BadRequestError, lambda: create(**{**good, param: value}))
        assert error.param == param and error.body["charged"] is False, error
    for create, good in (
        (client.audio.speech.create, speech),
        (client.images.generate, PAINTER),
        (client.images.edit, photo),
        (client.audio.transcriptions.create, recording),
        (client.audio.translations.create, recording),
    ):
        error = fails(openai.NotFoundError, lambda: create(**{**good, "model": "no-such-model-9"}))
        assert error.code == "model_not_found", error
    stranger = OpenAI(base_url=BASE_URL, api_key="sk-nobody", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.audio.transcriptions.create(**recording))
    blocked = {**PAINTER, "prompt": "[[image:refused]]"}
    fails(openai.BadRequestError, lambda: client.images.generate(**blocked))
    timeless = {**recording, "model": "qwen3-asr-flash", "response_format": "srt"}
    error = fails(openai.BadRequestError, lambda: client.audio.transcriptions.create(**timeless))
    assert error.code == "timestamps_unsupported" and error.param == "response_format", error
    assert paid() == before


CHECKS = [
    pictures_from_text,
    some_of_several_pictures,
    pictures_from_pictures,
    speech_in_every_format,
    speech_of_other_vendors,
    speech_as_it_is_made,
    every_way_of_writing_down,
    writing_down_by_other_vendors,
    translations,
    refusals_cost_nothing,
]

start = paid()
for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
assert start - paid() == sum(costs), (start, paid(), costs)
print(f"{len(CHECKS)} checks passed, {len(costs)} answers for {sum(costs)} USD")
