"""The vendor's own SDK against the simulator's speech and recognition.

Usage: openai_audio.py BASE_URL KEY. Stops at the first surprise with a traceback.
"""

import base64
import hashlib
import io
import json
import math
import struct
import sys
import wave

import openai
from openai import OpenAI

BASE_URL, KEY = sys.argv[1], sys.argv[2]
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)
TEXT = "The quick brown fox."
MILLIS = 60 * len(TEXT)
WORDS = {
    "en": "river stone light bread garden window silver morning winter paper market bridge forest candle harbour summer",
    "de": "Fluss Stein Licht Brot Garten Fenster Silber Morgen Winter Papier Markt Brücke Wald Kerze Hafen Sommer",
}


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def frames_of_mp3(data):
    (at, count) = (0, 0)
    kilobits = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
    while at < len(data):
        assert data[at] == 0xFF and data[at + 1] & 0xFE == 0xF2, (at, data[at : at + 4])
        at += 72 * kilobits[data[at + 2] >> 4] * 1000 // 24000 + (data[at + 2] >> 1 & 1)
        count += 1
    return count


def millis_of(format, data):
    """The length by the format's own rules, without a decoder."""
    if format == "pcm":
        return len(data) / 48
    if format == "wav":
        with wave.open(io.BytesIO(data)) as file:
            assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
            return 1000 * file.getnframes() / file.getframerate()
    if format == "flac":
        info = int.from_bytes(data[18:26], "big")
        return 1000 * (info & (1 << 36) - 1) / (info >> 44)
    if format == "opus":
        last = data.rindex(b"OggS")
        return (struct.unpack("<Q", data[last + 6 : last + 14])[0] - 312) / 48
    if format == "aac":
        (at, count) = (0, 0)
        while at < len(data):
            assert data[at : at + 2] == b"\xff\xf1"
            at += (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
            count += 1
        return 1000 * 1024 * count / 24000
    return 24 * frames_of_mp3(data)


def speech_in_every_format():
    kinds = {"mp3": "mpeg", "opus": "ogg"}
    longest = {"mp3": 24, "aac": 1024 / 24}
    for format in ("mp3", "opus", "aac", "flac", "wav", "pcm"):
        for speed in (1.0, 0.25, 1.5):
            made = client.audio.speech.create(
                model="gpt-4o-mini-tts", voice="coral", input=TEXT, response_format=format, speed=speed
            )
            kind = made.response.headers["content-type"]
            assert kind == f"audio/{kinds.get(format, format)}", kind
            (millis, wanted) = (millis_of(format, made.content), MILLIS / speed)
            # What has frames is rounded up to one.
            assert wanted - 0.1 <= millis <= wanted + longest.get(format, 0.1), (format, millis, wanted)
    default = client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)
    assert frames_of_mp3(default.content) == math.ceil(MILLIS / 24)


def speech_as_it_is_made():
    asked = {"model": "gpt-4o-mini-tts", "voice": "sage", "input": "[[pace:30]]" + TEXT * 4, "response_format": "pcm"}
    with client.audio.speech.with_streaming_response.create(**asked) as response:
        assert "content-length" not in response.headers
        pieces = list(response.iter_bytes(9600))
    assert len(pieces) > 3
    whole = b"".join(pieces)
    assert len(whole) / 48 == 60 * len(asked["input"])
    asked["stream_format"] = "sse"
    made = client.audio.speech.create(**asked)
    events = [json.loads(line.removeprefix("data: ")) for line in made.text.strip().split("\n\n")]
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}
    assert b"".join(base64.b64decode(event["audio"]) for event in events[:-1]) == whole
    usage = events[-1]["usage"]
    assert events[-1]["type"] == "speech.audio.done"
    assert usage["input_tokens"] == math.ceil(len(asked["input"]) / 4), usage
    assert usage["output_tokens"] == math.ceil(60 * len(asked["input"]) / 50), usage


def spoken(text):
    made = client.audio.speech.create(model="tts-1", voice="onyx", input=text, response_format="wav")
    return made.content


def expected(file, language):
    words = WORDS[language].split()
    chosen = [words[int(digit, 16)] for digit in hashlib.sha256(file).hexdigest()[:12]]
    return " ".join(" ".join(chosen[at : at + 4]) + "." for at in (0, 4, 8))


def every_way_of_writing_down():
    file = spoken("x" * 41)
    asked = {"model": "whisper-1", "file": ("a.wav", file, "audio/wav")}
    made = client.audio.transcriptions.create(**asked, temperature=0.2, prompt="a remark")
    assert made.text == expected(file, "en")
    assert made.usage.type == "duration" and made.usage.seconds == 3
    made = client.audio.transcriptions.create(**asked, language="de")
    assert made.text == expected(file, "de")
    text = client.audio.transcriptions.create(**asked, response_format="text")
    assert text == expected(file, "en") + "\n"
    srt = client.audio.transcriptions.create(**asked, response_format="srt")
    assert srt.startswith("1\n00:00:00,000 --> 00:00:00,820\n") and srt.count("-->") == 3
    vtt = client.audio.transcriptions.create(**asked, response_format="vtt")
    assert vtt.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:00.820\n")
    verbose = client.audio.transcriptions.create(
        **asked, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert (verbose.duration, verbose.language, verbose.text) == (2.46, "english", expected(file, "en"))
    assert [segment.id for segment in verbose.segments] == [0, 1, 2] and verbose.segments[2].end == 2.46
    assert len(verbose.words) == 12 and verbose.words[0].word == expected(file, "en").split()[0]
    assert verbose.usage.seconds == 3


def tokens_and_streams():
    file = spoken("x" * 41)
    asked = {"model": "gpt-4o-transcribe", "file": ("a.wav", file)}
    made = client.audio.transcriptions.create(**asked, prompt="eight by")
    assert made.usage.type == "tokens" and made.usage.output_tokens == 12
    details = made.usage.input_token_details
    assert (details.audio_tokens, details.text_tokens) == (30, 2), made.usage
    assert made.usage.total_tokens == 44
    events = list(client.audio.transcriptions.create(**asked, stream=True))
    assert [event.type for event in events] == ["transcript.text.delta"] * 3 + ["transcript.text.done"]
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == made.text
    assert events[-1].usage.total_tokens == 42


def translations():
    file = spoken("x" * 41)
    asked = {"model": "whisper-1", "file": ("a.wav", file)}
    made = client.audio.translations.create(**asked)
    assert made.text == "In English it says: " + expected(file, "en")
    verbose = client.audio.translations.create(**asked, response_format="verbose_json")
    assert (verbose.language, verbose.duration, verbose.text) == ("english", 2.46, made.text)
    fails(openai.NotFoundError, lambda: client.audio.translations.create(**{**asked, "model": "gpt-4o-transcribe"}))


def refusals():
    good = {"model": "tts-1", "voice": "alloy", "input": TEXT}
    speech = client.audio.speech
    for param, value in (
        ("voice", "nobody"),
        ("voice", "verse"),
        ("input", ""),
        ("input", "x" * 4097),
        ("response_format", "midi"),
        ("speed", 4.1),
        ("speed", 0.2),
        ("stream_format", "sse"),
    ):
        error = fails(openai.BadRequestError, lambda: speech.create(**{**good, param: value}))
        assert error.param == param, error
    assert speech.create(**{**good, "input": "x" * 4096, "speed": 4.0}).content
    fails(openai.NotFoundError, lambda: speech.create(**{**good, "model": "tts-9"}))
    stranger = OpenAI(base_url=BASE_URL, api_key="sk-wrong", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.audio.speech.create(**good))
    file = ("a.wav", spoken(TEXT))
    asked = {"model": "whisper-1", "file": file}
    hear = client.audio.transcriptions
    fails(openai.AuthenticationError, lambda: stranger.audio.transcriptions.create(**asked))
    fails(openai.NotFoundError, lambda: hear.create(**{**asked, "model": "whisper-9"}))
    for param, value in (
        ("file", ("a.txt", file[1])),
        ("file", ("a.wav", b"no audio at all")),
        ("language", "English"),
        ("temperature", 1.5),
        ("response_format", "doc"),
    ):
        error = fails(openai.BadRequestError, lambda: hear.create(**{**asked, param: value}))
        assert error.param == param, error
    more = {**asked, "model": "gpt-4o-transcribe", "response_format": "srt"}
    assert fails(openai.BadRequestError, lambda: hear.create(**more)).code == "unsupported_value"
    more = {**asked, "timestamp_granularities": ["word"]}
    assert fails(openai.BadRequestError, lambda: hear.create(**more)).param == "timestamp_granularities"


def faults():
    say = lambda fault: client.audio.speech.create(model="tts-1", voice="alloy", input=f"[[fault:{fault}]]{TEXT}")
    error = fails(openai.RateLimitError, lambda: say("rate_limited:7"))
    assert error.response.headers["retry-after"] == "7" and error.code == "rate_limit_exceeded"
    fails(openai.InternalServerError, lambda: say("status:500"))
    fails(openai.InternalServerError, lambda: say("status:503"))
    fails(openai.APIConnectionError, lambda: say("close_before_headers"))
    # The body breaks off while it is read, which is the transport's own error.
    broken = None
    try:
        say("close_mid_stream:1")
    except Exception as error:
        broken = error
    assert "incomplete chunked read" in str(broken) or isinstance(broken, openai.APIConnectionError), broken
    file = ("a.wav", spoken(TEXT))
    asked = {"model": "whisper-1", "file": file, "prompt": "[[fault:status:413]]"}
    error = fails(openai.APIStatusError, lambda: client.audio.transcriptions.create(**asked))
    assert error.status_code == 413, error


for check in [
    speech_in_every_format,
    speech_as_it_is_made,
    every_way_of_writing_down,
    tokens_and_streams,
    translations,
    refusals,
    faults,
]:
    check()
    print("ok", check.__name__)
