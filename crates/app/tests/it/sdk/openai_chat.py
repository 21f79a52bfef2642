"""The vendor's own Python SDK, unmodified but for base URL and key, through the gateway.

Usage: openai_chat.py BASE_URL KEY. Every check asserts on content, on usage, and on the charge that
the gateway's ledger holds for the call. Stops at the first surprise with a traceback.
"""

import json
import sys
import urllib.request
from decimal import Decimal

import openai
from openai import OpenAI
from pydantic import BaseModel

BASE_URL, KEY = sys.argv[1], sys.argv[2]
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=30)

# USD for one token of sim-fast, as the price book of `trunkline dev` says.
INPUT, OUTPUT = Decimal("0.00000025"), Decimal("0.000002")

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


def user(text):
    return [{"role": "user", "content": text}]


def get(path):
    request = urllib.request.Request(BASE_URL + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def charged(request_id, usage, outcome="complete"):
    """The ledger's row of a call, which must say what the usage costs."""
    row = get(f"/usage/{request_id}")
    assert row["outcome"] == outcome, row
    price = usage.prompt_tokens * INPUT + usage.completion_tokens * OUTPUT
    assert Decimal(row["cost_usd"]) == price, (row, price)
    return row


def a_whole_answer():
    raw = client.chat.completions.with_raw_response.create(
        model="sim-fast", messages=user("say some words [[tokens:8]]")
    )
    answer = raw.parse()
    assert answer.model == "sim-fast" and answer.choices[0].finish_reason == "stop"
    assert len(answer.choices[0].message.content.split()) == answer.usage.completion_tokens == 8
    row = charged(raw.headers["x-request-id"], answer.usage)
    assert row["cost_usd"] == raw.headers["trunkline-cost-usd"]
    assert answer._request_id == raw.headers["x-request-id"]


def a_stream_with_usage_and_cost():
    raw = client.chat.completions.with_raw_response.create(
        model="sim-fast",
        messages=user("[[tokens:40]]"),
        stream=True,
        stream_options={"include_usage": True},
    )
    content, usage, reasons = "", None, []
    for chunk in raw.parse():
        if chunk.usage:
            usage = chunk.usage
            continue
        content += chunk.choices[0].delta.content or ""
        reasons.append(chunk.choices[0].finish_reason)
    assert len(content.split()) == usage.completion_tokens == 40
    assert reasons[-1] == "stop"
    row = charged(raw.headers["x-request-id"], usage)
    assert Decimal(str(usage.cost)) == Decimal(row["cost_usd"]), usage


def a_stream_without_usage_is_charged_too():
    raw = client.chat.completions.with_raw_response.create(
        model="sim-fast", messages=user("[[tokens:11]]"), stream=True
    )
    chunks = list(raw.parse())
    assert all(chunk.usage is None for chunk in chunks)
    row = get(f"/usage/{raw.headers['x-request-id']}")
    assert row["units"]["output"] == 11 and row["charged"] is True, row


def tools():
    messages = user("[[tool:get_weather]] how is the weather")
    raw = client.chat.completions.with_raw_response.create(
        model="sim-fast", messages=messages, tools=[TOOL]
    )
    answer = raw.parse()
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "tool_calls"
    assert message.tool_calls[0].function.name == "get_weather"
    charged(raw.headers["x-request-id"], answer.usage)
    messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}]
    answer = client.chat.completions.create(model="sim-fast", messages=messages, tools=[TOOL])
    assert answer.choices[0].finish_reason == "stop"
    with client.chat.completions.stream(
        model="sim-fast", messages=user("[[tool:get_weather]]"), tools=[TOOL]
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.name == "get_weather"


def structured_output():
    class Recipe(BaseModel):
        name: str
        minutes: int

    answer = client.chat.completions.parse(
        model="sim-fast", messages=user("a recipe"), response_format=Recipe
    )
    assert isinstance(answer.choices[0].message.parsed, Recipe)


def an_image_and_a_reasoning_model():
    parts = [
        {"type": "text", "text": "what is it"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    raw = client.chat.completions.with_raw_response.create(
        model="sim-fast", messages=[{"role": "user", "content": parts}]
    )
    answer = raw.parse()
    assert answer.usage.prompt_tokens == 3 + 3 + 85, answer.usage
    charged(raw.headers["x-request-id"], answer.usage)
    answer = client.chat.completions.create(
        model="sim-reason",
        messages=user("[[reasoning:4]] [[tokens:5]]"),
        reasoning_effort="high",
        max_completion_tokens=100,
    )
    assert answer.usage.completion_tokens_details.reasoning_tokens == 4


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def create(**more):
    return client.chat.completions.create(**{"model": "sim-fast", "messages": user("a"), **more})


def errors_cost_nothing():
    before = get("/balance")["paid_usd"]
    stranger = OpenAI(base_url=BASE_URL, api_key="sk-stranger-0000", max_retries=0)
    error = fails(openai.AuthenticationError, lambda: stranger.models.list())
    assert error.code == "invalid_api_key" and error.request_id.startswith("req_"), error
    error = fails(openai.BadRequestError, lambda: create(temperature=3))
    assert error.param == "temperature", error
    error = fails(openai.NotFoundError, lambda: create(model="gpt-nobody"))
    assert error.code == "model_not_found", error
    error = fails(openai.BadRequestError, lambda: create(service_tier="priority"))
    assert error.param == "service_tier", error
    error = fails(openai.InternalServerError, lambda: create(messages=user("[[fault:status:500]]")))
    assert error.body["charged"] is False, error.body
    broken = user("[[fault:error_frame_mid_stream]] [[tokens:30]]")
    fails(openai.APIError, lambda: list(create(messages=broken, stream=True)))
    assert get("/balance")["paid_usd"] == before


def the_models():
    names = [model.id for model in client.models.list()]
    assert {"sim-fast", "sim-large", "sim-reason", "gpt-5-mini"} <= set(names), names
    assert names == sorted(names) and len(names) > 60, names
    assert client.models.retrieve("sim-large").owned_by == "simulator"
    fails(openai.NotFoundError, lambda: client.models.retrieve("gpt-nobody"))


CHECKS = [
    a_whole_answer,
    a_stream_with_usage_and_cost,
    a_stream_without_usage_is_charged_too,
    tools,
    structured_output,
    an_image_and_a_reasoning_model,
    errors_cost_nothing,
    the_models,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
print(f"openai {openai.__version__}: {len(CHECKS)} checks passed")
