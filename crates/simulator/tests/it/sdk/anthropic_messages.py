"""Anthropic's own SDK against the simulator, straight and through Bedrock, and AWS's beside it.

Usage: anthropic_messages.py ROOT KEY AWS_ID AWS_SECRET. Stops at the first surprise.
"""

import json
import sys

import anthropic
import boto3
import botocore
from anthropic import Anthropic, AnthropicBedrock
from botocore.config import Config
from botocore.exceptions import EventStreamError
from pydantic import BaseModel

ROOT, KEY, AWS_ID, AWS_SECRET = sys.argv[1:5]
client = Anthropic(base_url=ROOT, api_key=KEY, max_retries=0, timeout=20)
MODEL_ON_AWS = "us.anthropic.sim-small-v1:0"


def on_aws(**more):
    options = {"aws_access_key": AWS_ID, "aws_secret_key": AWS_SECRET, "aws_region": "us-east-1"}
    return AnthropicBedrock(base_url=ROOT, max_retries=0, timeout=20, **{**options, **more})


bedrock = on_aws()

TOOLS = [
    {
        "name": name,
        "description": "Weather of a city",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    }
    for name in ["get_weather", "get_tide"]
]
PNG = "iVBORw0KGgo="


def user(content):
    return [{"role": "user", "content": content}]


def model_of(whom):
    return MODEL_ON_AWS if isinstance(whom, AnthropicBedrock) else "sim-small"


def create(whom=client, **more):
    return whom.messages.create(
        **{"model": model_of(whom), "max_tokens": 1000, "messages": user("hello"), **more}
    )


def stream(whom=client, **more):
    return whom.messages.stream(
        **{"model": model_of(whom), "max_tokens": 1000, "messages": user("hello"), **more}
    )


def a_whole_answer():
    raw = client.messages.with_raw_response.create(
        model="sim-small", max_tokens=100, messages=user("say eight words to me now if possible")
    )
    message = raw.parse()
    assert raw.headers["request-id"].startswith("req_"), raw.headers
    assert raw.headers["anthropic-ratelimit-requests-limit"] == "4000"
    assert message.id.startswith("msg_") and message.type == "message"
    assert message.role == "assistant" and message.model == "sim-small"
    assert message.stop_reason == "end_turn" and message.stop_sequence is None
    assert [block.type for block in message.content] == ["text"]
    assert len(message.content[0].text.split()) == message.usage.output_tokens == 8
    assert message.usage.cache_creation.ephemeral_1h_input_tokens == 0
    by_header = Anthropic(
        base_url=ROOT, api_key=None, default_headers={"X-Api-Key": KEY}, max_retries=0
    )
    assert create(by_header).stop_reason == "end_turn"


def a_stream_read_by_hand():
    kinds, text, last = [], "", None
    for event in create(messages=user("[[tokens:20]]"), stream=True):
        kinds.append(event.type)
        if event.type == "message_start":
            start = event.message.usage
        if event.type == "content_block_delta":
            text += event.delta.text
        if event.type == "message_delta":
            last = event
    assert kinds[:2] == ["message_start", "content_block_start"], kinds
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds
    assert len(text.split()) == last.usage.output_tokens == 20
    assert last.delta.stop_reason == "end_turn"
    assert last.usage.input_tokens == start.input_tokens > 0


def a_stream_read_by_the_helper():
    with stream(messages=user("[[tokens:6]] [[citations:2]]")) as events:
        kinds = {event.type for event in events}
        message = events.get_final_message()
    assert {"text", "citation", "content_block_stop", "message_stop"} <= kinds, kinds
    assert len(message.content[0].text.split()) == message.usage.output_tokens == 6
    cited = [citation.cited_text for citation in message.content[0].citations]
    assert cited == ["sim", "sim"], cited


def tools_over_several_turns():
    messages = user("[[tools:get_weather,get_tide]] how is it at sea")
    for turn in range(3):
        if turn % 2 == 0:
            message = create(messages=messages, tools=TOOLS)
        else:
            with stream(messages=messages, tools=TOOLS) as events:
                message = events.get_final_message()
        calls = [block for block in message.content if block.type == "tool_use"]
        if turn == 1:
            # Its results came, so it speaks.
            assert message.stop_reason == "end_turn" and not calls, message
            messages += [{"role": "assistant", "content": message.content}]
            messages += user("[[tool:get_tide]] and the tide again")
            continue
        assert message.stop_reason == "tool_use", message
        assert [call.name for call in calls] == (
            ["get_weather", "get_tide"] if turn == 0 else ["get_tide"]
        )
        assert all(call.input == {"city": "sim", "days": 7} for call in calls), calls
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"} for call in calls
        ]
        messages += [{"role": "assistant", "content": message.content}] + user(results)
    assert create(messages=messages, tools=TOOLS).stop_reason == "end_turn"


def a_streamed_call():
    with stream(messages=user("[[tool:get_weather]] [[tokens:3]]"), tools=TOOLS) as events:
        pieces = [event.partial_json for event in events if event.type == "input_json"]
        message = events.get_final_message()
    assert len(pieces) > 3 and "".join(pieces).startswith("{"), pieces
    assert [block.type for block in message.content] == ["text", "tool_use"]
    assert message.content[1].input == {"city": "sim", "days": 7}
    forced = create(tools=TOOLS, tool_choice={"type": "tool", "name": "get_tide"})
    assert [block.name for block in forced.content] == ["get_tide"]


def thoughts_go_back_with_their_signature():
    thinking = {"type": "enabled", "budget_tokens": 1024}
    messages = user("[[tool:get_weather]] [[reasoning:6]] [[redacted:2]]")
    options = {"thinking": thinking, "tools": TOOLS, "max_tokens": 2000}
    with stream(messages=messages, **options) as events:
        kinds = [event.type for event in events]
        message = events.get_final_message()
    assert "thinking" in kinds and "signature" in kinds, kinds
    assert [block.type for block in message.content] == [
        "thinking",
        "redacted_thinking",
        "tool_use",
    ]
    whole = create(messages=messages, **options)
    assert whole.content[0] == message.content[0], (whole, message)
    result = {"type": "tool_result", "tool_use_id": message.content[2].id, "content": "sunny"}
    messages += [{"role": "assistant", "content": message.content}] + user([result])
    answer = create(messages=messages, **options)
    assert [block.type for block in answer.content][-1] == "text"
    assert answer.usage.output_tokens_details.thinking_tokens > 0
    forged = message.content[0].model_copy(update={"thinking": "something else"})
    messages[1] = {"role": "assistant", "content": [forged] + message.content[1:]}
    error = fails(anthropic.BadRequestError, lambda: create(messages=messages, **options))
    assert error.api_message == "messages.1.content.0: Invalid `signature` in `thinking` block"
    adaptive = create(
        thinking={"type": "adaptive", "display": "omitted"}, messages=user("[[reasoning:9]]")
    )
    assert adaptive.content[0].thinking == "" and adaptive.content[0].signature
    assert adaptive.usage.output_tokens == 9 + 5


def structured_output():
    class Step(BaseModel):
        title: str
        minutes: int

    class Recipe(BaseModel):
        name: str
        steps: list[Step]

    parsed = client.messages.parse(
        model="sim-small", max_tokens=1000, messages=user("a recipe"), output_format=Recipe
    )
    assert isinstance(parsed.parsed_output, Recipe), parsed
    assert len(parsed.parsed_output.steps) == 1


def the_cache_and_the_count():
    long = {"type": "text", "text": "word " * 2000, "cache_control": {"type": "ephemeral"}}
    hour = {**long, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    first = create(system=[hour], messages=user([long, {"type": "text", "text": "hello"}]))
    usage = first.usage
    assert usage.cache_read_input_tokens == 0, usage
    assert usage.cache_creation.ephemeral_1h_input_tokens == 2500, usage
    assert usage.cache_creation.ephemeral_5m_input_tokens == 2503, usage
    assert usage.cache_creation_input_tokens == 5003 and usage.input_tokens == 2, usage
    again = create(system=[hour], messages=user([long, {"type": "text", "text": "bye, then"}]))
    assert again.usage.cache_read_input_tokens == 5003, again.usage
    assert again.usage.cache_creation_input_tokens == 0, again.usage
    counted = client.messages.count_tokens(
        model="sim-small", messages=user("[[cached:4]] [[written_1h:2]]"), tools=TOOLS
    )
    message = create(messages=user("[[cached:4]] [[written_1h:2]]"), tools=TOOLS)
    assert message.usage.cache_read_input_tokens == 4
    assert message.usage.cache_creation.ephemeral_1h_input_tokens == 2
    assert counted.input_tokens == message.usage.input_tokens + 4 + 2


def ends_and_pictures():
    cut = create(messages=user("[[tokens:50]]"), max_tokens=10)
    assert cut.stop_reason == "max_tokens" and cut.usage.output_tokens == 10
    stopped = create(messages=user("[[tokens:50]]"), stop_sequences=["sim4"])
    assert stopped.stop_reason == "stop_sequence" and stopped.stop_sequence == "sim4"
    assert stopped.content[0].text == "sim1 sim2 sim3 "
    refused = create(messages=user("[[stop:refusal]]"))
    assert refused.stop_reason == "refusal" and refused.stop_details.type == "refusal"
    assert create(messages=user("[[stop:pause_turn]]")).stop_reason == "pause_turn"
    image = {"type": "base64", "media_type": "image/png", "data": PNG}
    seen = create(
        messages=user([{"type": "text", "text": "what is"}, {"type": "image", "source": image}])
    )
    assert seen.usage.input_tokens == 2 + 3 + 85, seen.usage


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def refusals():
    stranger = Anthropic(base_url=ROOT, api_key="sk-stranger", max_retries=0)
    error = fails(
        anthropic.AuthenticationError, lambda: create(stranger)
    )
    assert error.type == "authentication_error" and error.request_id.startswith("req_")
    error = fails(anthropic.BadRequestError, lambda: create(extra_body={"foo": 1}))
    assert error.api_message == "foo: Extra inputs are not permitted", error
    error = fails(anthropic.NotFoundError, lambda: create(model="claude-nobody"))
    assert error.type == "not_found_error" and error.api_message == "model: claude-nobody"
    fails(anthropic.BadRequestError, lambda: create(extra_body={"temperature": 1.5}))
    fails(anthropic.BadRequestError, lambda: create(extra_body={"context_management": {}}))
    create(
        extra_body={"context_management": {"edits": []}},
        extra_headers={"anthropic-beta": "x-1,context-management-2025-06-27"},
    )


def faults():
    for status, kind in [
        (403, anthropic.PermissionDeniedError),
        (413, anthropic.RequestTooLargeError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.OverloadedError),
    ]:
        error = fails(kind, lambda: create(messages=user(f"[[fault:status:{status}]]")))
        assert error.status_code == status and error.request_id, error
    error = fails(
        anthropic.RateLimitError, lambda: create(messages=user("[[fault:rate_limited:3]]"))
    )
    assert error.response.headers["retry-after"] == "3"
    closed = user("[[fault:close_before_headers]]")
    fails(anthropic.APIConnectionError, lambda: create(messages=closed))
    for name in ["cr_lf", "split_bytes:1", "split_usage", "slow_first_byte:10"]:
        with stream(messages=user(f"[[fault:{name}]] [[tokens:7]]")) as events:
            message = events.get_final_message()
        assert len(message.content[0].text.split()) == message.usage.output_tokens == 7, name
    broken = user("[[fault:error_frame_mid_stream:4]]")
    try:
        list(create(messages=broken, stream=True))
        raise AssertionError("no error came")
    except anthropic.APIStatusError as caught:
        assert caught.type == "overloaded_error", caught


def bedrock_whole_and_streamed():
    message = create(bedrock, messages=user("[[tokens:9]]"))
    assert message.model == "sim-small" and message.usage.output_tokens == 9
    assert len(message.content[0].text.split()) == 9
    with stream(bedrock, messages=user("[[tool:get_weather]]"), tools=TOOLS) as events:
        message = events.get_final_message()
    assert message.stop_reason == "tool_use"
    assert message.content[0].input == {"city": "sim", "days": 7}
    kinds = [event.type for event in create(bedrock, messages=user("[[tokens:3]]"), stream=True)]
    assert kinds.count("content_block_delta") == 3 and kinds[-1] == "message_stop", kinds
    older = create(bedrock, extra_body={"anthropic_version": "bedrock-2023-05-31"})
    assert older.stop_reason == "end_turn"
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.sim-small-v1:0"
    assert create(bedrock, model=arn).model == "sim-small"
    by_key = AnthropicBedrock(base_url=ROOT, api_key=KEY, aws_region="us-east-1", max_retries=0)
    assert create(by_key).stop_reason == "end_turn"


def bedrock_refusals():
    error = fails(
        anthropic.PermissionDeniedError, lambda: create(on_aws(aws_secret_key="wrong"))
    )
    assert "The request signature we calculated does not match" in str(error), error
    assert error.response.headers["x-amzn-errortype"].startswith("InvalidSignatureException")
    error = fails(
        anthropic.PermissionDeniedError, lambda: create(on_aws(aws_access_key="AKIANOBODY"))
    )
    assert error.response.headers["x-amzn-errortype"].startswith("UnrecognizedClientException")
    error = fails(anthropic.BadRequestError, lambda: create(bedrock, model="amazon.nova-v1:0"))
    assert "The provided model identifier is invalid." in str(error), error
    throttled = user("[[fault:rate_limited]]")
    error = fails(anthropic.RateLimitError, lambda: create(bedrock, messages=throttled))
    assert error.response.headers["x-amzn-errortype"].startswith("ThrottlingException")
    for fault, name in [
        ("error_frame_mid_stream:3", "modelStreamErrorException"),
        ("error_inside200", "throttlingException"),
    ]:
        events = create(bedrock, messages=user(f"[[fault:{fault}]]"), stream=True)
        try:
            list(events)
            raise AssertionError("no error came")
        except anthropic.APIStatusError as caught:
            assert caught.type == name, caught.body


def awss_own_client():
    runtime = boto3.client(
        "bedrock-runtime",
        endpoint_url=ROOT,
        region_name="eu-west-1",
        aws_access_key_id=AWS_ID,
        aws_secret_access_key=AWS_SECRET,
        config=Config(retries={"total_max_attempts": 1}),
    )

    def body(prompt):
        return json.dumps(
            {
                "anthropic_version": "bedrock-2023-05-31",
                "max_tokens": 100,
                "messages": user(prompt),
            }
        )

    answer = runtime.invoke_model(modelId=MODEL_ON_AWS, body=body("[[tokens:4]]"))
    message = json.loads(answer["body"].read())
    assert message["usage"]["output_tokens"] == 4, message
    answer = runtime.invoke_model_with_response_stream(
        modelId=MODEL_ON_AWS, body=body("[[tokens:4]]")
    )
    assert answer["contentType"] == "application/json", answer
    events = [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]
    assert events[-1]["amazon-bedrock-invocationMetrics"]["outputTokenCount"] == 4, events
    for fault, kind in [
        ("rate_limited", runtime.exceptions.ThrottlingException),
        ("status:403", runtime.exceptions.AccessDeniedException),
        ("status:404", runtime.exceptions.ResourceNotFoundException),
        ("status:408", runtime.exceptions.ModelTimeoutException),
        ("status:424", runtime.exceptions.ModelErrorException),
        ("status:500", runtime.exceptions.InternalServerException),
        ("status:503", runtime.exceptions.ServiceUnavailableException),
        ("nonsense", runtime.exceptions.ValidationException),
    ]:
        prompt = f"[[fault:{fault}]]"
        fails(kind, lambda: runtime.invoke_model(modelId=MODEL_ON_AWS, body=body(prompt)))
    answer = runtime.invoke_model_with_response_stream(
        modelId=MODEL_ON_AWS, body=body("[[fault:error_frame_mid_stream:2]]")
    )
    error = fails(EventStreamError, lambda: list(answer["body"]))
    assert "modelStreamErrorException" in str(error), error


CHECKS = [
    a_whole_answer,
    a_stream_read_by_hand,
    a_stream_read_by_the_helper,
    tools_over_several_turns,
    a_streamed_call,
    thoughts_go_back_with_their_signature,
    structured_output,
    the_cache_and_the_count,
    ends_and_pictures,
    refusals,
    faults,
    bedrock_whole_and_streamed,
    bedrock_refusals,
    awss_own_client,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
versions = f"anthropic {anthropic.__version__}, botocore {botocore.__version__}"
print(f"{versions}: {len(CHECKS)} checks passed")
