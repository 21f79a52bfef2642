"""Ark's own SDK against the simulator's pictures.

Usage: ark_images.py ROOT KEY. Stops at the first surprise with a traceback.
"""

import base64
import sys
import urllib.request

from volcenginesdkarkruntime import Ark
from volcenginesdkarkruntime._exceptions import (
    ArkAuthenticationError,
    ArkBadRequestError,
    ArkInternalServerError,
    ArkNotFoundError,
    ArkRateLimitError,
)
from volcenginesdkarkruntime.types.images import SequentialImageGenerationOptions

from pictures import painted, seen

ROOT, KEY = sys.argv[1], sys.argv[2]
MODEL = "doubao-seedream-5-0-260128"
client = Ark(base_url=ROOT + "/api/v3", api_key=KEY, max_retries=0, timeout=20)


def made(**asked):
    return client.images.generate(**{"model": MODEL, "prompt": "a fox", **asked})


def refused(kind, **asked):
    try:
        made(**asked)
    except kind as error:
        return error
    raise AssertionError(f"taken: {asked}")


# One picture, by link and marked unless it is said otherwise.
one = made()
with urllib.request.urlopen(one.data[0].url) as file:
    assert file.headers["content-type"] == "image/jpeg"
    marked = file.read()
assert seen(marked) == ("jpeg", 2048, 2048) and b"AI generated" in marked
assert one.data[0].size == "2048x2048" and one.model == MODEL, one
assert (one.usage.generated_images, one.usage.output_tokens) == (1, 16384), one.usage
plain = made(watermark=False, response_format="b64_json", output_format="png", size="2560x1440")
width, height, indices = painted(base64.b64decode(plain.data[0].b64_json))
assert (width, height) == (2560, 1440) and len(set(indices)) > 50

# From one picture and from several.
link = "https://media.example/a.png"
assert made(image=link).usage.input_images == 1
assert made(image=[link, link], size="3K").data[0].size == "3072x3072"

# A series, of which one fails.
series = {
    "prompt": "foxes [[image:fail_some:1]]",
    "sequential_image_generation": "auto",
    "sequential_image_generation_options": SequentialImageGenerationOptions(max_images=3),
}
several = made(**series)
assert len(several.data) == 3 and several.usage.generated_images == 2, several
assert several.data[0].error["code"] == "OutputImageSensitiveContentDetected", several.data[0]
assert several.data[1].url != several.data[2].url

# Refusals are the kinds of errors that the SDK knows.
error = refused(ArkBadRequestError, size="1K")
assert error.code == "InvalidParameter" and error.param == "size", error
assert "Request id:" in error.message, error.message
error = refused(ArkBadRequestError, prompt="[[image:refused]]")
assert error.code == "InputTextSensitiveContentDetected", error
error = refused(ArkNotFoundError, model="doubao-seedream-9")
assert error.code == "InvalidEndpointOrModel.NotFound", error
error = refused(ArkRateLimitError, prompt="[[fault:rate_limited:2]]")
assert error.code == "ModelAccountRpmRateLimitExceeded", error
assert error.response.headers["retry-after"] == "2"
error = refused(ArkInternalServerError, prompt="[[fault:status:500]]")
assert error.code == "InternalServiceError", error
wrong = Ark(base_url=ROOT + "/api/v3", api_key="sk-wrong", max_retries=0)
try:
    wrong.images.generate(model=MODEL, prompt="a fox")
    raise AssertionError("a wrong key was welcome")
except ArkAuthenticationError as error:
    assert error.code == "AuthenticationError", error
print("ok")
