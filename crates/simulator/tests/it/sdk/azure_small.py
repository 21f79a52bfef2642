"""The vendor's SDK against Azure's paths and the small endpoints of the simulator.

Usage: azure_small.py BASE_URL KEY. Stops at the first surprise with a traceback.
"""

import json
import math
import sys
import urllib.error
import urllib.request

import openai
from openai import AzureOpenAI, OpenAI

BASE_URL, KEY = sys.argv[1], sys.argv[2]
ROOT = BASE_URL.removesuffix("/v1")
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)
VERSION = "2024-10-21"


def azure_with(version=VERSION, key=KEY, **more):
    return AzureOpenAI(
        azure_endpoint=ROOT, api_key=key, api_version=version, max_retries=0, timeout=20, **more
    )


azure = azure_with()
newer = OpenAI(base_url=f"{ROOT}/openai/v1/", api_key=KEY, max_retries=0, timeout=20)


def user(text):
    return [{"role": "user", "content": text}]


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def azure_chat_whole_and_streamed():
    raw = azure.chat.completions.with_raw_response.create(
        model="sim-small", messages=user("[[tokens:3]]")
    )
    answer = raw.parse()
    assert "apim-request-id" in raw.headers
    assert answer.choices[0].message.content == "sim1 sim2 sim3 "
    assert answer.model == "sim-small"
    assert answer.prompt_filter_results[0]["prompt_index"] == 0
    found = answer.choices[0].content_filter_results
    assert found["hate"] == {"filtered": False, "severity": "safe"}, found
    chunks = list(
        azure.chat.completions.create(
            model="sim-small",
            messages=user("[[tokens:3]]"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert chunks[0].choices == [] and chunks[0].prompt_filter_results, chunks[0]
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "sim1 sim2 sim3 " and chunks[-1].usage.completion_tokens == 3
    assert chunks[2].choices[0].content_filter_results["violence"]["severity"] == "safe"
    filtered = azure.chat.completions.create(
        model="sim-small", messages=user("[[filter:output]]")
    ).choices[0]
    assert filtered.finish_reason == "content_filter"
    assert filtered.content_filter_results["hate"]["filtered"] is True


def azure_refusals():
    def ask(where=azure, text="hello", model="sim-small"):
        return where.chat.completions.create(model=model, messages=user(text))

    error = fails(openai.BadRequestError, lambda: ask(text="[[filter:prompt]]"))
    assert error.code == "content_filter" and error.param == "prompt", error
    inner = error.body["innererror"]
    assert inner["code"] == "ResponsibleAIPolicyViolation"
    assert inner["content_filter_result"]["hate"]["filtered"] is True
    for call in [lambda: ask(model="gpt-4o"), lambda: ask(text="[[deployment:missing]]")]:
        error = fails(openai.NotFoundError, call)
        assert error.code == "DeploymentNotFound", error
    error = fails(openai.AuthenticationError, lambda: ask(azure_with(key="stranger")))
    assert error.code == "401" and "Access denied" in error.message
    error = fails(openai.RateLimitError, lambda: ask(text="[[fault:rate_limited:3]]"))
    assert error.response.headers["retry-after"] == "3" and error.code == "429"
    path = f"{ROOT}/openai/deployments/sim-small/chat/completions"
    body = json.dumps({"messages": user("hello")}).encode()
    head = {"api-key": KEY, "content-type": "application/json"}
    bare = urllib.request.Request(path, data=body, headers=head)
    error = fails(urllib.error.HTTPError, lambda: urllib.request.urlopen(bare))
    assert error.code == 404
    told = json.loads(error.read())
    assert told == {"error": {"code": "404", "message": "Resource not found"}}, told


def azure_newer_paths_and_responses():
    answer = newer.chat.completions.create(model="sim-small", messages=user("[[tokens:2]]"))
    assert answer.prompt_filter_results and answer.usage.completion_tokens == 2
    for where in [newer, azure_with("2025-03-01-preview"), azure_with("preview")]:
        first = where.responses.create(model="sim-small", input="[[tokens:2]]")
        assert first.output_text == "sim1 sim2 "
        second = where.responses.create(
            model="sim-small", input="on", previous_response_id=first.id, stream=True
        )
        assert list(second)[-1].type == "response.completed"
        assert where.responses.retrieve(first.id).id == first.id
    error = fails(
        openai.NotFoundError, lambda: newer.responses.create(model="gpt-nobody", input="hello")
    )
    assert error.code == "DeploymentNotFound"


def embeddings():
    both = [
        where.embeddings.create(model="sim-small", input=["one text", "another"], **more)
        for where, more in [
            (client, {}),
            (client, {"encoding_format": "float"}),
            (azure, {}),
        ]
    ]
    for answer in both:
        assert [entry.index for entry in answer.data] == [0, 1]
        assert answer.usage.prompt_tokens == answer.usage.total_tokens == 4
        vector = answer.data[0].embedding
        assert len(vector) == 1536
        assert math.isclose(sum(x * x for x in vector), 1, abs_tol=1e-3)
        near = zip(vector, both[0].data[0].embedding)
        assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in near)
    assert both[0].data[0].embedding != both[0].data[1].embedding
    short = client.embeddings.create(model="sim-small", input="x", dimensions=8)
    assert len(short.data[0].embedding) == 8
    tokens = client.embeddings.create(model="sim-small", input=[1, 2, 3])
    assert tokens.usage.prompt_tokens == 3
    fails(openai.BadRequestError, lambda: client.embeddings.create(model="sim-small", input=""))
    fails(openai.NotFoundError, lambda: client.embeddings.create(model="gpt", input="x"))
    limited = "[[fault:rate_limited:1]]"
    fails(
        openai.RateLimitError, lambda: client.embeddings.create(model="sim-small", input=limited)
    )


def moderations():
    answer = client.moderations.create(input=["fine", "[[flag:violence]] [[flag:self-harm/intent]]"])
    clean, found = answer.results
    assert not clean.flagged and found.flagged
    assert found.categories.violence and found.categories.self_harm_intent
    assert not found.categories.hate and found.category_scores.violence > 0.9
    assert answer.id.startswith("modr-") and answer.model == "omni-moderation-latest"
    parts = [
        {"type": "text", "text": "[[flag:hate]]"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    answer = client.moderations.create(model="sim-small", input=parts)
    assert len(answer.results) == 1 and answer.results[0].categories.hate
    fails(openai.BadRequestError, lambda: client.moderations.create(input=[]))


def completions():
    answer = client.completions.create(model="sim-small", prompt="[[tokens:3]] go", n=2)
    assert [choice.text for choice in answer.choices] == ["sim1 sim2 sim3 "] * 2
    assert answer.usage.completion_tokens == 6 and answer.object == "text_completion"
    long = client.completions.create(model="sim-small", prompt="[[tokens:30]]", echo=True)
    assert long.choices[0].finish_reason == "length" and long.usage.completion_tokens == 16
    assert long.choices[0].text.startswith("[[tokens:30]]sim1 ")
    chunks = list(
        client.completions.create(
            model="sim-small",
            prompt="[[tokens:3]]",
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    assert text == "sim1 sim2 sim3 " and chunks[-1].usage.completion_tokens == 3
    assert chunks[-2].choices[0].finish_reason == "stop"
    broken = "[[fault:error_frame_mid_stream]]"
    ask = lambda: list(client.completions.create(model="sim-small", prompt=broken, stream=True))
    fails(openai.APIError, ask)
    fails(openai.BadRequestError, lambda: client.completions.create(model="sim-small", prompt=[]))


CHECKS = [
    azure_chat_whole_and_streamed,
    azure_refusals,
    azure_newer_paths_and_responses,
    embeddings,
    moderations,
    completions,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
print(f"openai {openai.__version__}: {len(CHECKS)} checks passed")
