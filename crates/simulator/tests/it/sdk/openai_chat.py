"""The vendor's own SDK against the simulator: a client we did not write reads every answer.

Usage: openai_chat.py BASE_URL KEY. Stops at the first surprise with a traceback.
"""

import sys

import openai
from openai import OpenAI
from pydantic import BaseModel

BASE_URL, KEY = sys.argv[1], sys.argv[2]
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
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


def a_whole_answer():
    raw = client.chat.completions.with_raw_response.create(
        model="sim-small", messages=user("say eight words to me now if possible")
    )
    answer = raw.parse()
    assert raw.headers["x-request-id"].startswith("req_"), raw.headers
    assert answer._request_id == raw.headers["x-request-id"]
    assert answer.id.startswith("chatcmpl-"), answer.id
    assert answer.object == "chat.completion" and answer.model == "sim-small"
    choice = answer.choices[0]
    assert choice.finish_reason == "stop" and choice.message.role == "assistant"
    assert len(choice.message.content.split()) == answer.usage.completion_tokens == 8
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.prompt_tokens_details.cached_tokens == 0
    assert usage.completion_tokens_details.reasoning_tokens == 0


def a_stream_with_usage():
    content, usage, reasons = "", None, []
    stream = client.chat.completions.create(
        model="sim-small",
        messages=user("[[tokens:20]]"),
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        assert chunk.object == "chat.completion.chunk"
        if chunk.usage:
            assert chunk.choices == []
            usage = chunk.usage
            continue
        content += chunk.choices[0].delta.content or ""
        reasons.append(chunk.choices[0].finish_reason)
    assert len(content.split()) == usage.completion_tokens == 20
    assert reasons[-1] == "stop" and not any(reasons[:-1])


def a_stream_read_by_the_helper():
    with client.chat.completions.stream(
        model="sim-small", messages=user("[[tokens:6]]"), stream_options={"include_usage": True}
    ) as stream:
        events = [event.type for event in stream]
        final = stream.get_final_completion()
    assert "content.delta" in events and "content.done" in events, events
    assert len(final.choices[0].message.content.split()) == final.usage.completion_tokens == 6


def a_tool_call_and_its_result():
    messages = user("[[tool:get_weather]] how is the weather")
    answer = client.chat.completions.create(model="sim-small", messages=messages, tools=[TOOL])
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "tool_calls" and message.content is None
    call = message.tool_calls[0]
    assert call.type == "function" and call.function.name == "get_weather"
    # The message goes back as the SDK prints it, which is what most programs do.
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    answer = client.chat.completions.create(model="sim-small", messages=messages, tools=[TOOL])
    assert answer.choices[0].finish_reason == "stop"


def a_streamed_tool_call():
    with client.chat.completions.stream(
        model="sim-small", messages=user("[[tool:get_weather]]"), tools=[TOOL]
    ) as stream:
        final = stream.get_final_completion()
    function = final.choices[0].message.tool_calls[0].function
    assert function.name == "get_weather"
    assert function.parsed_arguments == {"city": "sim", "days": 7}, function


def structured_output():
    class Step(BaseModel):
        title: str
        minutes: int

    class Recipe(BaseModel):
        name: str
        is_easy: bool
        steps: list[Step]

    answer = client.chat.completions.parse(
        model="sim-small", messages=user("a recipe"), response_format=Recipe
    )
    parsed = answer.choices[0].message.parsed
    assert isinstance(parsed, Recipe) and len(parsed.steps) == 1, parsed
    answer = client.chat.completions.create(
        model="sim-small", messages=user("json"), response_format={"type": "json_object"}
    )
    assert answer.choices[0].message.content.startswith("{")


def an_image_and_a_reasoning_model():
    parts = [
        {"type": "text", "text": "what is it"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    answer = client.chat.completions.create(
        model="sim-vision", messages=[{"role": "user", "content": parts}]
    )
    assert answer.usage.prompt_tokens == 3 + 3 + 85, answer.usage
    answer = client.chat.completions.create(
        model="sim-reason",
        messages=user("[[reasoning:4]] [[tokens:5]]"),
        reasoning_effort="high",
        max_completion_tokens=100,
    )
    assert answer.usage.completion_tokens == 9
    assert answer.usage.completion_tokens_details.reasoning_tokens == 4
    assert answer.choices[0].message.reasoning_content.split() == ["sim1", "sim2", "sim3", "sim4"]


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def create(**more):
    return client.chat.completions.create(**{"model": "sim-small", "messages": user("a"), **more})


def refusals():
    stranger = OpenAI(base_url=BASE_URL, api_key="sk-stranger-0000", max_retries=0)
    error = fails(openai.AuthenticationError, lambda: stranger.models.list())
    assert error.status_code == 401 and error.code == "invalid_api_key", error
    error = fails(openai.BadRequestError, lambda: create(temperature=3))
    assert error.param == "temperature" and error.code == "decimal_above_max_value", error
    assert error.request_id.startswith("req_")
    error = fails(openai.BadRequestError, lambda: create(extra_body={"foo": 1}))
    assert "Unrecognized request argument supplied: foo" in error.message, error
    error = fails(openai.NotFoundError, lambda: create(model="gpt-nobody"))
    assert error.code == "model_not_found", error


def faults():
    limited = user("[[fault:rate_limited:3]]")
    error = fails(openai.RateLimitError, lambda: create(messages=limited))
    assert error.response.headers["retry-after"] == "3" and error.code == "rate_limit_exceeded"
    fails(openai.InternalServerError, lambda: create(messages=user("[[fault:status:503]]")))
    fails(openai.PermissionDeniedError, lambda: create(messages=user("[[fault:status:403]]")))
    closed = user("[[fault:close_before_headers]]")
    fails(openai.APIConnectionError, lambda: create(messages=closed))
    for name in ["cr_lf", "split_bytes:1"]:
        stream = create(messages=user(f"[[fault:{name}]] [[tokens:7]]"), stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        assert len(text.split()) == 7, (name, text)
    broken = user("[[fault:error_frame_mid_stream]]")
    fails(openai.APIError, lambda: list(create(messages=broken, stream=True)))


def the_models():
    names = [model.id for model in client.models.list()]
    assert "sim-small" in names and "sim-reason" in names, names
    assert client.models.retrieve("sim-large").id == "sim-large"
    fails(openai.NotFoundError, lambda: client.models.retrieve("gpt-nobody"))


CHECKS = [
    a_whole_answer,
    a_stream_with_usage,
    a_stream_read_by_the_helper,
    a_tool_call_and_its_result,
    a_streamed_tool_call,
    structured_output,
    an_image_and_a_reasoning_model,
    refusals,
    faults,
    the_models,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
print(f"openai {openai.__version__}: {len(CHECKS)} checks passed")
