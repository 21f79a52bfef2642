"""The vendor's own SDK against the simulator's video jobs: a client we did not write reads every answer.

Usage: dashscope_video.py BASE_URL KEY, where BASE_URL ends in /api/v1.
Stops at the first surprise with a traceback.
"""

import sys
import time
import urllib.error
import urllib.request

import dashscope
from dashscope import VideoSynthesis

BASE_URL, KEY = sys.argv[1], sys.argv[2]
dashscope.base_http_api_url = BASE_URL
dashscope.api_key = KEY
PICTURE = "https://example.com/first.png"
CLIP = "https://example.com/clip-7s.mp4"


def waited(response):
    assert response.status_code == 200, response
    assert response.output.task_status == "PENDING", response
    return VideoSynthesis.wait(response)


def text_to_a_file():
    made = waited(
        VideoSynthesis.async_call(
            model="wan2.7-t2v",
            prompt="a cat",
            resolution="720P",
            ratio="9:16",
            duration=6,
            watermark=False,
            seed=7,
        )
    )
    assert made.output.task_status == "SUCCEEDED", made
    assert made.usage["output_video_duration"] == 6 and made.usage["SR"] == 720, made
    assert "Expires=" in made.output.video_url, made
    with urllib.request.urlopen(made.output.video_url) as file:
        assert file.headers["content-type"] == "video/mp4"
        assert file.read()[4:8] == b"ftyp"


def every_kind():
    kinds = [
        ("wan2.7-i2v", [("first_frame", PICTURE)], 5),
        ("wan2.7-r2v", [("reference_image", PICTURE), ("reference_video", CLIP)], 5),
        ("wan2.7-videoedit", [("video", CLIP)], 7),
        ("happyhorse-1.1-i2v", [("first_frame", PICTURE)], 5),
        ("happyhorse-1.1-r2v", [("reference_image", PICTURE)] * 9, 5),
    ]
    for model, media, seconds in kinds:
        media = [{"type": role, "url": url} for role, url in media]
        made = waited(VideoSynthesis.async_call(model=model, prompt="go", media=media))
        assert made.output.task_status == "SUCCEEDED", made
        assert made.usage["output_video_duration"] == seconds, made
        # Left out, the vendor's own default holds.
        assert made.usage["SR"] == 1080, made


def failures():
    failed = waited(
        VideoSynthesis.async_call(model="wan2.7-t2v", prompt="[[job:fail:DataInspectionFailed]]")
    )
    assert failed.output.task_status == "FAILED", failed
    assert failed.output["code"] == "DataInspectionFailed", failed
    refused = VideoSynthesis.async_call(model="wan2.7-t2v", prompt="a cat", duration=99)
    assert (refused.status_code, refused.code) == (400, "InvalidParameter"), refused
    refused = VideoSynthesis.async_call(model="wan9", prompt="a cat")
    assert (refused.status_code, refused.code) == (404, "ModelNotFound"), refused
    refused = VideoSynthesis.async_call(model="wan2.7-t2v", prompt="a cat", api_key="nobody")
    assert (refused.status_code, refused.code) == (401, "InvalidApiKey"), refused
    full = VideoSynthesis.async_call(model="wan2.7-t2v", prompt="[[job:refuse:Throttling.RateQuota]]")
    assert (full.status_code, full.code) == (429, "Throttling.RateQuota"), full
    unknown = VideoSynthesis.fetch("no-such-task")
    assert unknown.output.task_status == "UNKNOWN", unknown


def cancelling():
    waiting = VideoSynthesis.async_call(model="wan2.7-t2v", prompt="[[job:wait_ms:60000]]")
    assert VideoSynthesis.cancel(waiting).status_code == 200
    assert VideoSynthesis.fetch(waiting).output.task_status == "CANCELED"
    running = VideoSynthesis.async_call(model="wan2.7-t2v", prompt="[[job:wait_ms:0]][[job:stuck]]")
    time.sleep(0.05)
    late = VideoSynthesis.cancel(running)
    assert (late.status_code, late.code) == (400, "UnsupportedOperation"), late
    assert VideoSynthesis.fetch(running).output.task_status == "RUNNING"


def ended_link():
    root = BASE_URL.removesuffix("/api/v1")
    try:
        urllib.request.urlopen(f"{root}/_media/clip-5s.mp4?Expires=1")
        raise AssertionError("an old link still works")
    except urllib.error.HTTPError as error:
        assert error.code == 403, error


for check in [text_to_a_file, every_kind, failures, cancelling, ended_link]:
    check()
    print("ok", check.__name__)
