"""Ark's own SDK against the simulator's video jobs.

Usage: ark_video.py ROOT KEY. Stops at the first surprise with a traceback.
"""

import sys
import time

from volcenginesdkarkruntime import Ark
from volcenginesdkarkruntime._exceptions import (
    ArkAuthenticationError,
    ArkBadRequestError,
    ArkNotFoundError,
    ArkPermissionDeniedError,
    ArkRateLimitError,
)

ROOT, KEY = sys.argv[1], sys.argv[2]
BASE_URL = ROOT + "/api/v3"
MODEL = "doubao-seedance-2-5-260628"
client = Ark(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)
other = Ark(base_url=BASE_URL, api_key=KEY[:-4] + "8888", max_retries=0, timeout=20)
tasks = client.content_generation.tasks


def text(said):
    return {"type": "text", "text": said}


def image(url, **more):
    return {"type": "image_url", "image_url": {"url": url}, **more}


def ended(task_id):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        task = tasks.get(task_id=task_id)
        if task.status not in ("queued", "running"):
            return task
        time.sleep(0.1)
    raise AssertionError("the task does not end")


def refused(kind, **asked):
    try:
        tasks.create(**asked)
    except kind as error:
        return error
    raise AssertionError(f"taken: {asked}")


# A job from its first word to its file.
made = tasks.create(
    model=MODEL,
    content=[text("a cat"), image("https://media.example/1.png", role="reference_image")],
    resolution="480p",
    ratio="9:16",
    duration=6,
    generate_audio=False,
    watermark=False,
)
assert made.id.startswith("cgt-"), made
first = tasks.get(task_id=made.id)
assert first.status in ("queued", "running") and first.content is None, first
done = ended(made.id)
assert done.status == "succeeded" and done.error is None, done
assert (done.resolution, done.ratio, done.duration) == ("480p", "9:16", 6), done
assert done.generate_audio is False and done.framespersecond == 24, done
assert done.usage.completion_tokens == 864 * 496 * 24 * 6 // 1024, done.usage
assert "/_media/" + made.id + ".mp4?Expires=" in done.content.video_url, done.content

# One that fails, and one that is stopped while it waits.
failed = tasks.create(
    model=MODEL, content=[text("[[job:fail:OutputVideoSensitiveContentDetected]]")]
)
failed = ended(failed.id)
assert failed.status == "failed", failed
assert failed.error.code == "OutputVideoSensitiveContentDetected", failed.error
waits = tasks.create(model=MODEL, content=[text("slow [[job:wait_ms:60000]]")])
tasks.delete(task_id=waits.id)
assert tasks.get(task_id=waits.id).status == "cancelled"
runs = tasks.create(model=MODEL, content=[text("[[job:wait_ms:0]][[job:stuck]]")])
try:
    tasks.delete(task_id=runs.id)
    raise AssertionError("a running task was stopped")
except ArkPermissionDeniedError as error:
    assert error.code.startswith("OperationDenied"), error

# Lists and deleted records.
listed = tasks.list(page_num=1, page_size=10)
assert listed.total == 4 and listed.items[0].id == runs.id, listed
listed = tasks.list(status="succeeded", task_ids=[made.id, waits.id])
assert [task.id for task in listed.items] == [made.id], listed
tasks.delete(task_id=made.id)
for who, task_id in ((client, made.id), (other, failed.id)):
    try:
        who.content_generation.tasks.get(task_id=task_id)
        raise AssertionError("found")
    except ArkNotFoundError as error:
        assert error.code == "ResourceNotFound", error

# Refusals are the kinds of errors that the SDK knows.
error = refused(
    ArkBadRequestError,
    model=MODEL,
    content=[text("a"), image("https://media.example/1.png")],
    ratio="16:9",
)
assert error.code == "InvalidParameter.TaskTypeConstraint" and error.param == "ratio", error
assert "Request id:" in error.message, error.message
error = refused(ArkNotFoundError, model="doubao-seedance-9", content=[text("a")])
assert error.code == "InvalidEndpointOrModel.NotFound", error
error = refused(ArkRateLimitError, model=MODEL, content=[text("[[id:f]][[job:full:1]]")])
assert error.code == "QuotaExceeded", error
wrong = Ark(base_url=BASE_URL, api_key="sk-wrong", max_retries=0)
try:
    wrong.content_generation.tasks.list()
    raise AssertionError("a wrong key was welcome")
except ArkAuthenticationError as error:
    assert error.code == "AuthenticationError", error
print("ok")
