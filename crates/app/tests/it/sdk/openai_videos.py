"""The vendor's own Python SDK makes videos, unmodified but for base URL and key, through the gateway.

Usage: openai_videos.py BASE_URL KEY. Every video's file is an MP4 of the length that was paid for, and
every price is compared with the ledger's row. Stops at the first surprise with a traceback.
"""

import json
import struct
import sys
import urllib.request
import warnings
import zlib
from decimal import Decimal

import openai
from openai import OpenAI

warnings.simplefilter("ignore", DeprecationWarning)
BASE_URL, KEY = sys.argv[1], sys.argv[2]
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=60)
SEEDANCE = "doubao-seedance-2-5-260628"


def get(path):
    request = urllib.request.Request(BASE_URL + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def paid():
    return Decimal(get("/balance")["paid_usd"])


def picture(side=320):
    """A grey PNG, large enough for every family."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x80" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def length(file):
    """Seconds of an MP4, by the head of its movie."""
    assert file[4:8] == b"ftyp", file[:16]
    at = file.index(b"mvhd") + 16
    scale, ticks = struct.unpack(">II", file[at : at + 8])
    assert ticks % scale == 0, (scale, ticks)
    return ticks // scale


def made(cost, lasts, **asked):
    """Creates, polls, downloads; the price is the ledger's and the file as long as it was paid for."""
    before = paid()
    raw = client.videos.with_raw_response.create(**asked)
    video = raw.parse()
    assert raw.headers["trunkline-cost-usd"] == video.metadata["cost_usd"] == cost, raw.headers
    assert video.object == "video" and video.model == asked["model"], video
    assert video.status == "queued" and video.id.startswith("task_"), video
    done = client.videos.poll(video.id, poll_interval_ms=200)
    assert done.status == "completed" and done.progress == 100, done
    assert done.seconds == str(lasts) and done.error is None, done
    content = client.videos.download_content(done.id)
    file = content.read()
    assert content.response.headers["content-type"] == "video/mp4"
    assert length(file) == lasts, length(file)
    with urllib.request.urlopen(done.metadata["url"]) as linked:
        assert linked.read() == file
    row = get(f"/usage/{raw.headers['x-request-id']}")
    assert row["charged"] is True and Decimal(row["cost_usd"]) == Decimal(cost), row
    assert before - paid() == Decimal(cost)
    return done


def each_family_without_a_file():
    made("0.04", 4, model="sim-video", prompt="a cat")
    made("0.24", 8, model="sim-video", prompt="a cat", seconds="8", size="1792x1024")
    made("0.5", 5, model="wan2.7-t2v", prompt="a cat")
    made("0.3", 2, model="wan2.7-t2v", prompt="a cat", size="1920*1080", extra_body={"duration": 2})
    made("0.42", 5, model="kling-v3", prompt="a cat", size="1280x720")
    made("0.3843", 4, model=SEEDANCE, prompt="a cat", seconds="4", extra_body={"metadata": {"resolution": "480p"}})
    # A ratio inside `metadata` reaches the family, and so does a switch.
    nested = {"metadata": {"ratio": "16:9", "watermark": False}, "duration": 4}
    made("0.32", 4, model="MiniMax-H3", prompt="a cat", extra_body=nested)


def each_family_with_a_file():
    file = ("cat.png", picture(), "image/png")
    made("0.04", 4, model="sim-video", prompt="a cat", input_reference=file)
    made("0.5", 5, model="wan2.7-i2v", prompt="a cat", input_reference=file)
    made("0.4", 5, model="MiniMax-H3", prompt="a cat", input_reference=file)
    made("0.3843", 4, model=SEEDANCE, prompt="a cat", seconds="4", input_reference=file,
         extra_body={"metadata": {"resolution": "480p"}})
    # Kling's families read no `input_reference`, and say so.
    raw = client.videos.with_raw_response.create(model="kling-v3", prompt="a cat", input_reference=file)
    assert "frame_field_unread" in raw.headers["trunkline-warnings"], raw.headers
    client.videos.poll(raw.parse().id, poll_interval_ms=200)


def created_and_polled():
    before = paid()
    video = client.videos.create_and_poll(model="sim-video", prompt="a cat", seconds="12", poll_interval_ms=200)
    assert video.status == "completed" and length(client.videos.download_content(video.id).read()) == 12
    assert before - paid() == Decimal("0.12")
    again = client.videos.retrieve(video.id)
    assert (again.id, again.status, again.seconds) == (video.id, "completed", "12"), again


def a_failure_is_told_and_refunded():
    before = paid()
    for model, prompt in [("sim-video", "[[job:fail:moderation_blocked]]"), ("wan2.7-t2v", "[[job:fail:DataInspectionFailed]]")]:
        video = client.videos.create_and_poll(model=model, prompt=prompt, poll_interval_ms=200)
        assert video.status == "failed" and video.error.message, video
        assert f"[[job:fail:{video.error.code}]]" == prompt, video.error
    assert paid() == before


def pages():
    whole = [video.id for video in client.videos.list(limit=100)]
    assert len(set(whole)) == len(whole) > 10, whole
    assert [video.id for video in client.videos.list(limit=3)] == whole, "page by page the same"
    oldest = client.videos.list(limit=2, order="asc").data
    assert [video.id for video in oldest] == whole[::-1][:2]
    after = client.videos.list(after=whole[0], limit=1).data
    assert [video.id for video in after] == whole[1:2]


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def deleted():
    before = paid()
    waiting = client.videos.create(model="wan2.7-t2v", prompt="[[job:wait_ms:60000]]")
    gone = client.videos.delete(waiting.id)
    assert gone.id == waiting.id, gone
    stopped = client.videos.retrieve(waiting.id)
    assert stopped.status == "failed" and stopped.error.code == "cancelled", stopped
    assert paid() == before
    # What is done stays done, and paid.
    done = client.videos.create_and_poll(model="sim-video", prompt="a cat", poll_interval_ms=200)
    error = fails(openai.ConflictError, lambda: client.videos.delete(done.id))
    assert error.code == "not_cancellable", error
    assert client.videos.retrieve(done.id).status == "completed"


def refusals_cost_nothing():
    before, count = paid(), len(list(client.videos.list(limit=100)))
    create = client.videos.create
    error = fails(openai.BadRequestError, lambda: create(model="wan2.7-t2v", prompt="a cat", size="1280x720"))
    assert error.code == "size_separator" and error.param == "size", error
    error = fails(openai.BadRequestError, lambda: create(model="MiniMax-H3", prompt="a cat"))
    assert error.code == "ratio_required", error
    error = fails(openai.BadRequestError, lambda: create(model="sim-video", prompt="a cat", seconds="5"))
    assert error.param == "seconds", error
    fails(openai.NotFoundError, lambda: create(model="sora-nobody", prompt="a cat"))
    fails(openai.NotFoundError, lambda: client.videos.retrieve("task_" + "0" * 32))
    assert paid() == before and len(list(client.videos.list(limit=100))) == count


CHECKS = [
    each_family_without_a_file,
    each_family_with_a_file,
    created_and_polled,
    a_failure_is_told_and_refunded,
    pages,
    deleted,
    refusals_cost_nothing,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
print(f"{len(CHECKS)} checks passed")
