"""The vendor's own SDK against the simulator's Responses API.

Usage: responses.py BASE_URL KEY. Stops at the first surprise with a traceback.
"""

import json
import sys
import time

import openai
from openai import OpenAI
from pydantic import BaseModel

BASE_URL, KEY = sys.argv[1], sys.argv[2]
# The second key is the first with its last four digits changed.
OTHER = KEY[:-4] + "8888"
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, timeout=20)
other = OpenAI(base_url=BASE_URL, api_key=OTHER, max_retries=0, timeout=20)

TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
    "strict": True,
}
TIME = {"type": "function", "name": "get_time", "parameters": None, "strict": False}
CODE = {
    "type": "custom",
    "name": "run_code",
    "format": {"type": "grammar", "syntax": "regex", "definition": "^.*$"},
}


def create(said="hello", where=client, **more):
    return where.responses.create(**{"model": "sim-small", "input": said, **more})


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def a_whole_answer():
    raw = client.responses.with_raw_response.create(
        model="sim-small",
        input="say eight words to me now if possible",
        instructions="be short",
        metadata={"a": "b"},
        temperature=0.5,
        user="u",
    )
    answer = raw.parse()
    assert raw.headers["x-request-id"].startswith("req_")
    assert answer.id.startswith("resp_") and answer.object == "response"
    assert answer.status == "completed" and answer.model == "sim-small"
    assert answer.instructions == "be short" and answer.metadata == {"a": "b"}
    assert answer.temperature == 0.5 and answer.user == "u" and answer.error is None
    assert [item.type for item in answer.output] == ["message"]
    assert len(answer.output_text.split()) == answer.usage.output_tokens == 8
    usage = answer.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert usage.input_tokens_details.cached_tokens == 0
    assert usage.output_tokens_details.reasoning_tokens == 0


def a_stream():
    events = list(create("[[tokens:3]]", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    final = events[-1].response
    assert text == final.output_text == events[7].text == "sim1 sim2 sim3 "
    assert final.usage.output_tokens == 3 and events[0].response.usage is None


def a_stream_read_by_the_helper():
    with client.responses.stream(model="sim-small", input="[[tokens:6]]") as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_response()
    assert "response.output_text.delta" in kinds
    assert len(final.output_text.split()) == final.usage.output_tokens == 6


def tools_over_turns_by_items():
    items = [{"role": "user", "content": "[[tool:get_weather]] [[tool:run_code]] how is it"}]
    answer = create(items, tools=[TOOL, TIME, CODE])
    call, code = answer.output
    assert (call.type, call.name) == ("function_call", "get_weather"), call
    assert json.loads(call.arguments) == {"city": "sim", "days": 7}
    assert (code.type, code.name) == ("custom_tool_call", "run_code") and code.input
    items += [item.to_dict() for item in answer.output]
    error = fails(openai.BadRequestError, lambda: create(items, tools=[TOOL, TIME, CODE]))
    assert f"No tool output found for function call {call.call_id}" in error.message
    items += [
        {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
        {"type": "custom_tool_call_output", "call_id": code.call_id, "output": "done"},
    ]
    by_items = create(items, tools=[TOOL, TIME, CODE])
    assert [item.type for item in by_items.output] == ["message"]
    by_id = create(items[-2:], tools=[TOOL, TIME, CODE], previous_response_id=answer.id)
    assert by_id.previous_response_id == answer.id
    # Naming the response and sending its items again are the same prompt.
    assert by_id.usage.input_tokens == by_items.usage.input_tokens
    assert by_id.output_text == by_items.output_text
    one = create(items[:1], tools=[TOOL, TIME, CODE], parallel_tool_calls=False)
    assert len(one.output) == 1
    strange = [{"type": "function_call_output", "call_id": "call_x", "output": ""}]
    error = fails(openai.BadRequestError, lambda: create(strange))
    assert "No tool call found for function call output" in error.message and error.param == "input"


def streamed_tool_calls():
    with client.responses.stream(
        model="sim-small", input="[[tool:get_weather]] [[tool:run_code]]", tools=[TOOL, CODE]
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert "response.function_call_arguments.delta" in kinds
    assert "response.custom_tool_call_input.done" in kinds, kinds
    assert final.output[0].parsed_arguments == {"city": "sim", "days": 7}


def choices_of_tools():
    tools = [TOOL, TIME]
    assert create(tools=tools, tool_choice="required").output[0].name == "get_weather"
    named = {"type": "function", "name": "get_time"}
    assert create(tools=tools, tool_choice=named).output[0].name == "get_time"
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [named]}
    assert create(tools=tools, tool_choice=allowed).output[0].name == "get_time"
    none = create("[[tool:get_time]]", tools=tools, tool_choice="none")
    assert none.output[0].type == "message"
    space = {"type": "namespace", "name": "home", "description": "d", "tools": [TIME]}
    call = create("[[tool:get_time]]", tools=[space]).output[0]
    assert (call.name, call.namespace) == ("get_time", "home")
    items = create("[[tool:web_search]]", tools=[{"type": "web_search"}]).output
    assert [item.type for item in items] == ["web_search_call", "message"]
    shell = create("[[tool:local_shell]]", tools=[{"type": "local_shell"}]).output[0]
    assert shell.type == "local_shell_call" and shell.action.command == ["echo", "sim"]


def reasoning_sealed_and_sent_back():
    asked = dict(
        model="sim-reason",
        store=False,
        include=["reasoning.encrypted_content"],
        reasoning={"effort": "high", "summary": "auto"},
    )
    answer = client.responses.create(input="[[reasoning:4]] [[tokens:2]]", **asked)
    thought, message = answer.output
    assert thought.type == "reasoning" and thought.encrypted_content
    assert thought.summary[0].text.split() == ["sim1", "sim2", "sim3", "sim4"]
    assert answer.usage.output_tokens == 6
    assert answer.usage.output_tokens_details.reasoning_tokens == 4
    items = [item.to_dict() for item in answer.output] + [{"role": "user", "content": "on"}]
    again = client.responses.create(input=items, **asked)
    assert again.status == "completed"
    error = fails(openai.BadRequestError, lambda: other.responses.create(input=items, **asked))
    assert error.code == "invalid_encrypted_content", error
    del items[0]["encrypted_content"]
    error = fails(openai.NotFoundError, lambda: client.responses.create(input=items, **asked))
    assert "store" in error.message
    kinds = [
        event.type
        for event in client.responses.create(input="[[reasoning:1]]", stream=True, **asked)
    ]
    assert kinds[3:7] == [
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
    ], kinds


def structured_output():
    class Step(BaseModel):
        title: str
        minutes: int

    class Recipe(BaseModel):
        name: str
        steps: list[Step]

    answer = client.responses.parse(model="sim-small", input="a recipe", text_format=Recipe)
    assert isinstance(answer.output_parsed, Recipe) and len(answer.output_parsed.steps) == 1
    with client.responses.stream(model="sim-small", input="a recipe", text_format=Recipe) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_response().output_parsed, Recipe)
    plain = create("json", text={"format": {"type": "json_object"}, "verbosity": "low"})
    assert plain.output_text.startswith("{")


def parts_in_and_out():
    content = [
        {"type": "input_text", "text": "[[cite:2]] [[tokens:5]] what is it"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="},
    ]
    answer = create([{"role": "user", "content": content}], model="sim-vision")
    assert answer.usage.input_tokens == 9 + 3 + 2 * 85, answer.usage
    citations = answer.output[0].content[0].annotations
    assert [citation.type for citation in citations] == ["url_citation"] * 2
    refusal = create("[[refusal:3]]").output[0].content[0]
    assert refusal.type == "refusal" and len(refusal.refusal.split()) == 3
    kinds = {event.type for event in create("[[refusal:3]]", stream=True)}
    assert {"response.refusal.delta", "response.refusal.done"} <= kinds
    kinds = [event.type for event in create("[[cite:1]]", stream=True)]
    assert "response.output_text.annotation.added" in kinds


def what_is_incomplete_or_failed():
    answer = create("[[tokens:40]]", max_output_tokens=16)
    assert answer.status == "incomplete" and answer.usage.output_tokens == 16
    assert answer.incomplete_details.reason == "max_output_tokens"
    assert answer.output[0].status == "incomplete"
    last = list(create("[[tokens:40]]", max_output_tokens=16, stream=True))[-1]
    assert last.type == "response.incomplete"
    filtered = create("[[filter:output]]")
    assert filtered.incomplete_details.reason == "content_filter"
    failed = create("[[fail:server_error]]")
    assert failed.status == "failed" and failed.error.code == "server_error"
    last = list(create("[[fail:rate_limit_exceeded]]", stream=True))[-1]
    assert last.type == "response.failed"
    assert last.response.error.code == "rate_limit_exceeded"
    usage = create("[[cached:2]] [[cache_write:3]] and so on and on and on").usage
    assert usage.input_tokens_details.cached_tokens == 2
    assert usage.input_tokens_details.cache_write_tokens == 3


def what_is_kept():
    first = create("remember this")
    assert client.responses.retrieve(first.id) == first
    items = client.responses.input_items.list(first.id).data
    assert items[0].content[0].text == "remember this", items
    second = create("and this", previous_response_id=first.id)
    assert second.usage.input_tokens > first.usage.input_tokens
    listed = list(client.responses.input_items.list(second.id, limit=1, order="asc"))
    assert [item.role for item in listed] == ["user", "assistant", "user"], listed
    reference = {"type": "item_reference", "id": first.output[0].id}
    assert create([reference, {"role": "user", "content": "go on"}]).status == "completed"
    error = fails(openai.BadRequestError, lambda: client.responses.cancel(first.id))
    assert "synchronous" in error.message
    fails(openai.NotFoundError, lambda: other.responses.retrieve(first.id))
    continuing = dict(previous_response_id=first.id)
    error = fails(openai.BadRequestError, lambda: create(where=other, **continuing))
    assert error.code == "previous_response_not_found" and error.param == "previous_response_id"
    assert client.responses.delete(first.id) is None
    fails(openai.NotFoundError, lambda: client.responses.retrieve(first.id))
    fails(openai.BadRequestError, lambda: create(**continuing))
    unkept = create(store=False)
    fails(openai.NotFoundError, lambda: client.responses.retrieve(unkept.id))


def in_the_background():
    slow = create("[[pace:60000]]", background=True)
    assert slow.status == "queued" and slow.output == []
    assert client.responses.retrieve(slow.id).status == "in_progress"
    assert client.responses.cancel(slow.id).status == "cancelled"
    assert client.responses.cancel(slow.id).status == "cancelled"
    quick = create(background=True)
    assert client.responses.retrieve(quick.id).status == "completed"
    assert client.responses.cancel(quick.id).status == "completed"
    kinds = [event.type for event in create(background=True, stream=True)]
    assert kinds[:3] == ["response.created", "response.queued", "response.in_progress"]


def a_response_that_is_not_ready():
    fresh = create("[[fault:not_ready:1]]")
    continuing = dict(previous_response_id=fresh.id)
    error = fails(openai.BadRequestError, lambda: create(**continuing))
    assert error.code == "previous_response_not_found"
    fails(openai.NotFoundError, lambda: create("[[not_found:status404]]", **continuing))
    # The SDK raises what is nested and hands on what is flat.
    text = "[[not_found:nested_error_event]]"
    error = fails(openai.APIError, lambda: list(create(text, stream=True, **continuing)))
    assert error.code == "previous_response_not_found", error
    (event,) = create("[[not_found:error_event]]", stream=True, **continuing)
    assert (event.type, event.code) == ("error", "previous_response_not_found")
    for name, length in [("failed_event", 1), ("late_failed_event", 3)]:
        events = list(create(f"[[not_found:{name}]]", stream=True, **continuing))
        assert len(events) == length and events[-1].type == "response.failed"
        assert events[-1].response.error.code == "previous_response_not_found"
    time.sleep(1.1)
    assert create(**continuing).status == "completed"


def refusals():
    error = fails(openai.BadRequestError, lambda: create(extra_body={"foo": 1}))
    assert (error.code, error.param) == ("unknown_parameter", "foo")
    assert error.message.endswith("Unknown parameter: 'foo'."), error.message
    error = fails(openai.BadRequestError, lambda: create(model="gpt-nobody"))
    assert error.code == "model_not_found"
    error = fails(openai.BadRequestError, lambda: create(model="sim-reason", temperature=0.2))
    assert error.param == "temperature"
    error = fails(openai.BadRequestError, lambda: create(max_output_tokens=15))
    assert error.code == "integer_below_min_value"
    wrong = [{"type": "function", "function": {"name": "f"}}]
    error = fails(openai.BadRequestError, lambda: create(tools=wrong))
    assert error.param == "tools[0].name" and error.code == "missing_required_parameter"


def faults():
    error = fails(openai.RateLimitError, lambda: create("[[fault:rate_limited:3]]"))
    assert error.response.headers["retry-after"] == "3"
    fails(openai.InternalServerError, lambda: create("[[fault:status:503]]"))
    fails(openai.APIConnectionError, lambda: create("[[fault:close_before_headers]]"))
    for name in ["cr_lf", "split_bytes:1", "slow_drip:1", "no_done", "no_usage"]:
        events = list(create(f"[[fault:{name}]] [[tokens:7]]", stream=True))
        text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
        assert len(text.split()) == 7, (name, text)
    events = list(create("[[fault:error_frame_mid_stream]]", stream=True))
    assert len(events) == 3 and events[-1].type == "error" and events[-1].sequence_number == 2


CHECKS = [
    a_whole_answer,
    a_stream,
    a_stream_read_by_the_helper,
    tools_over_turns_by_items,
    streamed_tool_calls,
    choices_of_tools,
    reasoning_sealed_and_sent_back,
    structured_output,
    parts_in_and_out,
    what_is_incomplete_or_failed,
    what_is_kept,
    in_the_background,
    a_response_that_is_not_ready,
    refusals,
    faults,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
print(f"openai {openai.__version__}: {len(CHECKS)} checks passed")
