"""The vendor's own SDK against the simulator's pictures: a client we did not write reads every answer.

Usage: dashscope_images.py BASE_URL KEY, where BASE_URL ends in /api/v1.
Stops at the first surprise with a traceback.
"""

import base64
import sys
import urllib.error
import urllib.request

import dashscope
from dashscope import MultiModalConversation
from dashscope.aigc.image_generation import ImageGeneration
from dashscope.api_entities.dashscope_response import Message

from pictures import painted, seen

BASE_URL, KEY = sys.argv[1], sys.argv[2]
ROOT = BASE_URL.removesuffix("/api/v1")
dashscope.base_http_api_url = BASE_URL
dashscope.api_key = KEY


def fetched(url):
    with urllib.request.urlopen(url) as file:
        assert file.headers["content-type"] == "image/png"
        return file.read()


def called(model, text, images=(), **more):
    content = [{"image": image} for image in images] + [{"text": text}]
    return MultiModalConversation.call(
        model=model, messages=[{"role": "user", "content": content}], **more
    )


def from_text():
    made = called(
        "qwen-image-plus",
        "a fox",
        size="1104*1472",
        n=1,
        negative_prompt="rain",
        prompt_extend=True,
        watermark=False,
        seed=7,
    )
    assert made.status_code == 200, made
    (part,) = made.output.choices[0].message.content
    width, height, indices = painted(fetched(part["image"]))
    assert (width, height) == (1104, 1472) and len(set(indices)) > 50
    assert made.usage["image_count"] == 1, made.usage
    assert (made.usage["width"], made.usage["height"]) == (1104, 1472), made.usage


def from_pictures():
    with urllib.request.urlopen(f"{ROOT}/_images/a-64x64.png") as file:
        uri = "data:image/png;base64," + base64.b64encode(file.read()).decode()
    made = called(
        "qwen-image-edit-plus", "a hat", [uri, "https://media.example/b.png"], n=3, size="1024*512"
    )
    assert made.status_code == 200, made
    links = [part["image"] for part in made.output.choices[0].message.content]
    files = [fetched(link) for link in links]
    assert len(set(files)) == 3 and seen(files[2]) == ("png", 1024, 512)
    assert made.usage["image_count"] == 3, made.usage


def the_newer_call():
    message = Message(role="user", content=[{"text": "a fox [[image:fail_some:1]]"}])
    made = ImageGeneration.call(model="wan2.6-t2i", messages=[message], n=3, size="1280*1280")
    assert made.status_code == 200, made
    links = [choice.message.content[0]["image"] for choice in made.output.choices]
    assert len(links) == 2 and seen(fetched(links[1])) == ("png", 1280, 1280)
    assert made.usage["image_count"] == 2, made.usage


def failures():
    for status, code, asked in (
        (400, "InvalidParameter", {"model": "qwen-image", "text": "a fox", "n": 2}),
        (400, "InvalidParameter", {"model": "qwen-image-edit", "text": "a hat"}),
        (400, "InvalidParameter", {"model": "qwen-image", "text": "a fox", "size": "1*1"}),
        (404, "ModelNotFound", {"model": "qwen-painter", "text": "a fox"}),
        (401, "InvalidApiKey", {"model": "qwen-image", "text": "a fox", "api_key": "nobody"}),
        (400, "DataInspectionFailed", {"model": "qwen-image", "text": "[[image:refused]]"}),
        (429, "Throttling.RateQuota", {"model": "qwen-image", "text": "[[fault:rate_limited]]"}),
        (500, "InternalError", {"model": "qwen-image", "text": "[[fault:status:500]]"}),
    ):
        refused = called(**asked)
        assert (refused.status_code, refused.code) == (status, code), refused


def a_dead_link():
    made = called("qwen-image", "a fox [[image:dead_link]]")
    try:
        fetched(made.output.choices[0].message.content[0]["image"])
        raise AssertionError("a dead link works")
    except urllib.error.HTTPError as error:
        assert error.code == 404, error


for check in [from_text, from_pictures, the_newer_call, failures, a_dead_link]:
    check()
    print("ok", check.__name__)
