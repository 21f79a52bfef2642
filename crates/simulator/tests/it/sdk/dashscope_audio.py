"""The vendor's own SDK against the simulator's speech and recognition.

Usage: dashscope_audio.py BASE_URL KEY, where BASE_URL ends in /api/v1.
Stops at the first surprise with a traceback.
"""

import base64
import hashlib
import io
import json
import sys
import urllib.error
import urllib.request
import wave

import dashscope
from dashscope import MultiModalConversation
from dashscope.audio.asr import Transcription
from dashscope.audio.qwen_asr import QwenTranscription
from openai import OpenAI

BASE_URL, KEY = sys.argv[1], sys.argv[2]
dashscope.base_http_api_url = BASE_URL
dashscope.api_key = KEY
ROOT = BASE_URL.removesuffix("/api/v1")
TEXT = "The quick brown fox."
WORDS = {
    "en": "river stone light bread garden window silver morning winter paper market bridge forest candle harbour summer".split(),
    "zh": "河流 石头 光明 面包 花园 窗户 白银 早晨 冬天 纸张 市场 桥梁 森林 蜡烛 港口 夏天".split(),
}


def speak(text=TEXT, **more):
    asked = {"model": "qwen3-tts-flash", "text": text, "voice": "Cherry", "language_type": "English"}
    return MultiModalConversation.call(**{**asked, **more})


def got(url):
    with urllib.request.urlopen(url) as file:
        return file.read()


def expected(file, language="en"):
    (space, stop) = (" ", ".") if language == "en" else ("", "。")
    chosen = [WORDS[language][int(digit, 16)] for digit in hashlib.sha256(file).hexdigest()[:12]]
    return space.join(space.join(chosen[at : at + 4]) + stop for at in (0, 4, 8))


def speech_as_a_file():
    made = speak()
    assert made.status_code == 200 and made.output.finish_reason == "stop", made
    assert made.usage.characters == len(TEXT), made
    with wave.open(io.BytesIO(got(made.output.audio.url))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24000, 1, 2)
        assert file.getnframes() == 24 * 60 * len(TEXT)
    assert speak("你好ab", language_type="Chinese").usage.characters == 6


def speech_in_events():
    events = list(speak(stream=True))
    assert len(events) > 3 and all(event.status_code == 200 for event in events)
    samples = b"".join(base64.b64decode(event.output.audio.data) for event in events)
    assert len(samples) == 48 * 60 * len(TEXT)
    assert all(event.output.audio.url == "" for event in events[:-1])
    assert got(events[-1].output.audio.url)[44:] == samples
    assert events[-1].usage.characters == len(TEXT)
    broken = list(speak("[[fault:error_frame_mid_stream:2]]" + TEXT, stream=True))
    assert [event.status_code == 200 for event in broken] == [True, True, False], broken
    assert broken[-1].code == "InternalError.Algo"


def hear(audio, **more):
    messages = [
        {"role": "system", "content": [{"text": "a context"}]},
        {"role": "user", "content": [{"audio": audio}]},
    ]
    return MultiModalConversation.call(model="qwen3-asr-flash", messages=messages, **more)


def recognition_of_short_files():
    url = speak().output.audio.url
    file = got(url)
    made = hear(url, asr_options={"enable_itn": False}, result_format="message")
    assert made.status_code == 200, made
    message = made.output.choices[0].message
    assert message.content[0]["text"] == expected(file), made
    assert made.usage["seconds"] == 2, made
    made = hear(url, asr_options={"language": "zh"})
    assert made.output.choices[0].message.content[0]["text"] == expected(file, "zh")
    inside = "data:audio/wav;base64," + base64.b64encode(file).decode()
    client = OpenAI(base_url=f"{ROOT}/compatible-mode/v1", api_key=KEY, max_retries=0)
    for audio in (url, inside):
        asked = {
            "model": "qwen3-asr-flash",
            "messages": [
                {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": audio}}]}
            ],
            "extra_body": {"asr_options": {"language": "en", "enable_itn": True}},
        }
        made = client.chat.completions.create(**asked)
        assert made.choices[0].message.content == expected(file)
        assert made.usage.completion_tokens == 12 and made.usage.seconds == 2, made
        chunks = list(client.chat.completions.create(**asked, stream=True))
        assert "".join(chunk.choices[0].delta.content for chunk in chunks) == expected(file)


def tasks():
    url = speak().output.audio.url
    file = got(url)
    task = Transcription.async_call(model="paraformer-v2", file_urls=[url], language_hints=["zh"])
    assert task.status_code == 200 and task.output.task_status == "PENDING", task
    done = Transcription.wait(task)
    assert done.output.task_status == "SUCCEEDED", done
    assert done.usage["duration"] == 2, done
    (result,) = done.output.results
    assert result["file_url"] == url and result["subtask_status"] == "SUCCEEDED"
    transcript = json.loads(got(result["transcription_url"]))["transcripts"][0]
    assert transcript["text"] == expected(file, "zh")
    sentences = transcript["sentences"]
    assert "".join(sentence["text"] for sentence in sentences) == transcript["text"]
    assert (sentences[0]["begin_time"], sentences[-1]["end_time"]) == (0, 60 * len(TEXT))
    # The newest model takes one address, by a method of its own.
    done = QwenTranscription.wait(QwenTranscription.async_call(model="qwen3-asr-flash-filetrans", file_url=url))
    assert done.output.task_status == "SUCCEEDED", done
    transcript = json.loads(got(done.output.result["transcription_url"]))["transcripts"][0]
    assert transcript["text"] == expected(file)
    failed = Transcription.wait(
        Transcription.async_call(model="paraformer-v2", file_urls=[f"{ROOT}/_audio/nothing.wav?Expires=9999999999"])
    )
    assert failed.output.task_status == "FAILED", failed
    assert failed.output["code"] == "InvalidFile.DownloadFailed", failed
    assert failed.output["task_metrics"] == {"TOTAL": 1, "SUCCEEDED": 0, "FAILED": 1}, failed


def refusals():
    for code, answer in (
        ("InvalidParameter", speak("x" * 601)),
        ("InvalidParameter", speak(voice="Nobody")),
        ("InvalidParameter", speak(language_type="Latin")),
        ("ModelNotFound", speak(model="other-tts")),
        ("InvalidApiKey", speak(api_key="nobody")),
        ("Throttling.RateQuota", speak("[[fault:rate_limited:3]]")),
        ("InternalError", speak("[[fault:status:500]]")),
        ("ServiceUnavailable", speak("[[fault:status:503]]")),
        ("InvalidParameter.DataInspection", hear(f"{ROOT}/_audio/nothing.wav")),
        ("ModelNotFound", Transcription.async_call(model="whisper", file_urls=["http://a/b"])),
        ("InvalidURL", Transcription.async_call(model="fun-asr", file_urls=["file:///a"])),
    ):
        assert answer.code == code and answer.status_code >= 400, (code, answer)
    assert speak("x" * 600).status_code == 200
    dead = speak("[[fault:dead_file]]").output.audio.url
    try:
        urllib.request.urlopen(dead)
        raise AssertionError("a dead link works")
    except urllib.error.HTTPError as error:
        assert error.code == 404, error


for check in [
    speech_as_a_file,
    speech_in_events,
    recognition_of_short_files,
    tasks,
    refusals,
]:
    check()
    print("ok", check.__name__)
