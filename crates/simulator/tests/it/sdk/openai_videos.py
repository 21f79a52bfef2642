"""The vendor's own SDK against the simulator's videos.

Usage: openai_videos.py BASE_URL KEY. Stops at the first surprise with a traceback.
"""

import sys
import time
import warnings

import openai
from openai import OpenAI

# The vendor announced the end of its own models; relays speak the interface on.
warnings.simplefilter("ignore", DeprecationWarning)

BASE_URL, KEY = sys.argv[1], sys.argv[2]
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def until_done(video):
    for _ in range(200):
        video = client.videos.retrieve(video.id)
        if video.status in ("completed", "failed"):
            return video
        assert video.status in ("queued", "in_progress"), video.status
        assert 0 <= video.progress < 100
        time.sleep(0.05)
    raise AssertionError("it never ends")


def a_video_from_text():
    # It runs long enough to be seen unfinished on a busy machine.
    video = client.videos.create(
        model="sora-2", prompt="a fox [[job:ms:2000]]", seconds="8", size="1280x720"
    )
    assert video.id.startswith("video_") and video.object == "video"
    assert video.status == "queued" and video.progress == 0
    assert (video.model, video.seconds, video.size) == ("sora-2", "8", "1280x720")
    fails(openai.NotFoundError, lambda: client.videos.download_content(video.id))
    video = until_done(video)
    assert video.status == "completed" and video.progress == 100 and video.error is None
    assert video.completed_at >= video.created_at and video.expires_at > video.completed_at
    content = client.videos.download_content(video.id)
    assert content.response.headers["content-type"] == "video/mp4"
    assert content.read()[4:8] == b"ftyp"
    thumbnail = client.videos.download_content(video.id, variant="thumbnail")
    assert thumbnail.response.headers["content-type"] == "image/webp"


def defaults_and_pictures():
    video = client.videos.create(prompt="a fox", input_reference=("a.png", b"picture", "image/png"))
    assert (video.model, video.seconds, video.size) == ("sora-2", "4", "720x1280")
    # The SDK's own check knows files only, although its types have addresses too.
    address = {"input_reference": {"image_url": "https://media.example/a.png"}}
    video = client.videos.create(prompt="a fox", extra_body=address)
    assert video.seconds == "4"


def a_video_that_fails():
    video = client.videos.create(prompt="a fox [[job:fail:moderation_blocked]]")
    video = until_done(video)
    assert video.status == "failed" and video.error.code == "moderation_blocked"
    assert video.error.message


def lists_and_deletes():
    known = [video.id for video in client.videos.list(limit=2)]
    assert len(known) >= 4 and len(set(known)) == len(known)
    oldest = client.videos.list(order="asc", limit=1)
    assert oldest.has_more and oldest.data[0].id == known[-1]
    gone = client.videos.delete(known[-1])
    assert gone.deleted and gone.id == known[-1] and gone.object == "video.deleted"
    fails(openai.NotFoundError, lambda: client.videos.retrieve(known[-1]))
    assert known[-1] not in [video.id for video in client.videos.list()]
    running = client.videos.create(prompt="a fox [[job:stuck]]")
    fails(openai.BadRequestError, lambda: client.videos.delete(running.id))


def refusals():
    for more in ({"seconds": "5"}, {"size": "1x1"}, {"model": "gpt-x"}, {"prompt": ""}):
        asked = {"prompt": "a fox", **more}
        error = fails(openai.BadRequestError, lambda: client.videos.create(**asked))
        assert error.param == next(iter(more)), error
    code = "[[job:refuse:moderation_blocked]]"
    error = fails(openai.BadRequestError, lambda: client.videos.create(prompt=code))
    assert error.code == "moderation_blocked"
    full = "[[id:sdk]][[job:full:1]]"
    error = fails(openai.RateLimitError, lambda: client.videos.create(prompt=full))
    assert error.code == "rate_limit_exceeded" and error.response.headers["retry-after"] == "1"
    assert client.videos.create(prompt=full).status == "queued"
    stranger = OpenAI(base_url=BASE_URL, api_key="sk-wrong", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.videos.create(prompt="a fox"))
    other = OpenAI(base_url=BASE_URL, api_key=KEY[:-4] + "8888", max_retries=0)
    assert list(other.videos.list()) == []


a_video_from_text()
defaults_and_pictures()
a_video_that_fails()
lists_and_deletes()
refusals()
print("content")
