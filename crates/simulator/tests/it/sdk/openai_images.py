"""The vendor's own SDK against the simulator's pictures.

Usage: openai_images.py BASE_URL KEY. Stops at the first surprise with a traceback.
"""

import base64
import sys
import urllib.error
import urllib.request

import openai
from openai import OpenAI

from pictures import painted, seen

BASE_URL, KEY = sys.argv[1], sys.argv[2]
ROOT = BASE_URL.removesuffix("/v1")
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def file(name):
    with urllib.request.urlopen(f"{ROOT}/_images/{name}") as answer:
        return answer.read()


def files(response):
    assert all(entry.url is None for entry in response.data), response
    return [base64.b64decode(entry.b64_json) for entry in response.data]


def pictures_from_text():
    made = client.images.generate(
        model="gpt-image-2", prompt="a fox", n=2, size="1536x1024", quality="low", user="ada"
    )
    first, second = files(made)
    assert first != second
    # Every pixel is there, and they are not all alike.
    for one in (first, second):
        width, height, indices = painted(one)
        assert (width, height) == (1536, 1024) and len(set(indices)) > 50
    assert made.usage.output_tokens == 2 * 408, made.usage
    assert made.usage.output_tokens_details.image_tokens == 2 * 408, made.usage
    assert made.usage.input_tokens_details.text_tokens == 2, made.usage
    assert made.usage.total_tokens == 2 * 408 + 2, made.usage
    assert (made.size, made.quality, made.background) == ("1536x1024", "low", "opaque"), made
    made = client.images.generate(model="gpt-image-1", prompt="a fox", output_format="jpeg")
    assert seen(files(made)[0]) == ("jpeg", 1024, 1024) and made.output_format == "jpeg"


def pictures_by_link():
    made = client.images.generate(model="dall-e-3", prompt="a fox", size="1024x1792", style="vivid")
    entry = made.data[0]
    assert entry.b64_json is None and entry.revised_prompt and made.usage is None, made
    with urllib.request.urlopen(entry.url) as answer:
        assert answer.headers["content-type"] == "image/png"
        assert seen(answer.read()) == ("png", 1024, 1792)
    made = client.images.generate(
        model="dall-e-2", prompt="a fox", n=2, size="512x512", response_format="b64_json"
    )
    assert [seen(one) for one in files(made)] == [("png", 512, 512)] * 2


def edits():
    photo, drawing, mask = file("a-640x480.jpg"), file("b-64x64.png"), file("m-64x64.png")
    one = client.images.edit(model="gpt-image-1.5", image=("b.png", drawing), prompt="a hat")
    assert seen(files(one)[0]) == ("png", 1024, 1024)
    assert one.usage.input_tokens_details.image_tokens == 85, one.usage
    several = client.images.edit(
        model="gpt-image-2",
        image=[("b.png", drawing), ("a.jpg", photo)],
        mask=("m.png", mask),
        prompt="a hat",
        n=2,
        size="1280x720",
        output_format="jpeg",
        quality="high",
    )
    assert [seen(one) for one in files(several)] == [("jpeg", 1280, 720)] * 2
    assert several.usage.input_tokens_details.image_tokens == 3 * 85, several.usage
    older = client.images.edit(model="dall-e-2", image=("b.png", drawing), prompt="a hat")
    assert older.data[0].url and older.usage is None


def refusals():
    asked = {"model": "gpt-image-2", "prompt": "a fox"}
    for more, param, code in (
        ({"response_format": "b64_json"}, "response_format", "unknown_parameter"),
        ({"extra_body": {"invented": 1}}, "invented", "unknown_parameter"),
        ({"n": 11}, "n", "integer_above_max_value"),
        ({"size": "100x100"}, "size", "invalid_value"),
        ({"quality": "hd"}, "quality", "invalid_value"),
        ({"prompt": ""}, "prompt", "empty_string"),
    ):
        error = fails(openai.BadRequestError, lambda: client.images.generate(**{**asked, **more}))
        assert (error.param, error.code) == (param, code), error
    blocked = {**asked, "prompt": "[[image:refused]]"}
    error = fails(openai.BadRequestError, lambda: client.images.generate(**blocked))
    assert error.code == "moderation_blocked" and error.type == "image_generation_user_error"
    limited = {**asked, "prompt": "[[fault:rate_limited:3]]"}
    error = fails(openai.RateLimitError, lambda: client.images.generate(**limited))
    assert error.response.headers["retry-after"] == "3"
    broken = {**asked, "prompt": "[[fault:status:500]]"}
    fails(openai.InternalServerError, lambda: client.images.generate(**broken))
    cut = {**asked, "prompt": "[[fault:close_mid_stream]]"}
    fails(openai.APIConnectionError, lambda: client.images.generate(**cut))
    text = {"model": "gpt-image-2", "prompt": "a hat"}
    error = fails(
        openai.BadRequestError, lambda: client.images.edit(image=("a.txt", b"hello"), **text)
    )
    assert error.code == "unsupported_file_mimetype", error
    stranger = OpenAI(base_url=BASE_URL, api_key="sk-wrong", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.images.generate(**asked))


def a_dead_link():
    made = client.images.generate(model="dall-e-2", prompt="a fox [[image:dead_link]]")
    try:
        urllib.request.urlopen(made.data[0].url)
        raise AssertionError("a dead link works")
    except urllib.error.HTTPError as error:
        assert error.code == 404, error


pictures_from_text()
pictures_by_link()
edits()
refusals()
a_dead_link()
print("content")
