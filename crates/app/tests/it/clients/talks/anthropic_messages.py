"""The `anthropic` SDK for Python in conversations over messages."""

from anthropic import Anthropic
from pydantic import BaseModel

from talk import CALLS, KEY, LONGEST, MODEL, PNG, PROMPT, RESULTS, ROOT, SCHEMAS, SYSTEM
from talk import THINKING_MODEL, http, is_warned, runs, settled, talk, words

client = Anthropic(base_url=ROOT, api_key=KEY, max_retries=0, http_client=http)
TOOLS = [
    {"name": name, "description": text, "input_schema": schema}
    for name, (text, schema) in SCHEMAS.items()
]
ASK = {"model": MODEL, "max_tokens": LONGEST, "system": SYSTEM, "tools": TOOLS}


def user(content=PROMPT):
    return {"role": "user", "content": content}


def called(message):
    found = [block for block in message.content if block.type == "tool_use"]
    assert [(block.name, block.input) for block in found] == CALLS, message
    assert len({block.id for block in found}) == len(CALLS), message
    assert message.stop_reason == "tool_use", message
    return user(
        [
            {"type": "tool_result", "tool_use_id": block.id, "content": RESULTS[block.name]}
            for block in found
        ]
    )


def used(usage):
    assert usage.input_tokens > 0 and usage.output_tokens > 0, usage


def spoken(message):
    """The blocks but for thoughts, which some models have unasked."""
    return [block for block in message.content if block.type not in ("thinking", "redacted_thinking")]


def assistant(message):
    return {"role": "assistant", "content": message.content}


def a_conversation_in_whole_answers():
    messages = [user()]
    message = client.messages.create(messages=messages, **ASK)
    used(message.usage)
    messages += [assistant(message), called(message)]
    message = client.messages.create(messages=messages, **ASK)
    used(message.usage)
    assert [block.type for block in spoken(message)] == ["text"], message
    assert spoken(message)[0].text.startswith("Hello! This"), message
    assert message.stop_reason == "end_turn" and message.model == MODEL, message
    messages += [assistant(message), user("Shorter. [[tokens:7]]")]
    message = client.messages.create(messages=messages, **ASK)
    assert words(spoken(message)[0].text) == 7, message
    settled(3)


def streamed(messages, **more):
    """The finished message, and the kinds of events in their order."""
    kinds = []
    with client.messages.create(messages=messages, stream=True, **{**ASK, **more}) as stream:
        for event in stream:
            if event.type == "content_block_start":
                kinds.append(f"start {event.index} {event.content_block.type}")
            elif event.type == "content_block_delta":
                kinds.append(f"{event.delta.type} {event.index}")
            elif event.type == "content_block_stop":
                kinds.append(f"stop {event.index}")
            elif event.type == "message_delta":
                used(event.usage)
                kinds.append(f"message_delta {event.delta.stop_reason}")
            else:
                kinds.append(event.type)
    kinds = runs([kind for kind in kinds if kind != "ping"])
    return kinds if more else without_thoughts(kinds)


def without_thoughts(kinds):
    """The same, as if the blocks of thoughts were not there."""
    thoughts = {kind.split()[1] for kind in kinds if kind.endswith("thinking")}
    numbers = {}
    kept = []
    for kind in kinds:
        name, _, rest = kind.partition(" ")
        number, _, rest = rest.partition(" ")
        if not number.isdigit():
            kept.append(kind)
        elif number not in thoughts:
            number = str(numbers.setdefault(number, len(numbers)))
            kept.append(" ".join([name, number, *([rest] if rest else [])]))
    return kept


def block(index, kind, delta):
    return [f"start {index} {kind}", f"{delta} {index}", f"stop {index}"]


def a_conversation_in_streams():
    messages = [user()]
    tool = ("tool_use", "input_json_delta")
    kinds = streamed(messages)
    ending = ["message_delta tool_use", "message_stop"]
    assert kinds == ["message_start", *block(0, *tool), *block(1, *tool), *ending], kinds
    with client.messages.stream(messages=messages, **ASK) as stream:
        message = stream.get_final_message()
    messages += [assistant(message), called(message)]
    kinds = streamed(messages)
    said = ["message_start", *block(0, "text", "text_delta"), "message_delta end_turn", "message_stop"]
    assert kinds == said, kinds
    with client.messages.stream(messages=messages, **ASK) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert "".join(pieces) == spoken(message)[0].text and len(pieces) > 3, message
    messages += [assistant(message), user("Shorter. [[tokens:7]]")]
    with client.messages.stream(messages=messages, **ASK) as stream:
        message = stream.get_final_message()
    assert words(spoken(message)[0].text) == 7, message
    settled(5)


def a_picture():
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    text = {"type": "text", "text": "What is it?"}
    without = client.messages.create(messages=[user([text])], **ASK)
    message = client.messages.create(messages=[user([{"type": "image", "source": source}, text])], **ASK)
    assert message.usage.input_tokens > without.usage.input_tokens + 50, message.usage
    settled(2)


def structured_output():
    class Recipe(BaseModel):
        name: str
        minutes: int
        steps: list[str]

    message = client.messages.parse(
        model=MODEL, max_tokens=LONGEST, messages=[user("A recipe as JSON.")], output_format=Recipe
    )
    assert isinstance(message.parsed_output, Recipe), message
    settled()


def one_call_at_a_time():
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    message = client.messages.create(messages=[user()], tool_choice=choice, **ASK)
    # Not every upstream can be told so; then the answer says that it was not.
    assert len(spoken(message)) == 1 or is_warned("translation_dropped"), message
    assert spoken(message)[0].name == "get_weather", message
    choice = {"type": "tool", "name": "get_time"}
    message = client.messages.create(messages=[user("Which?")], tool_choice=choice, **ASK)
    assert [block.name for block in spoken(message)] == ["get_time"], message
    message = client.messages.create(messages=[user()], tool_choice={"type": "none"}, **ASK)
    assert [block.type for block in spoken(message)] == ["text"], message
    settled(3)


def thinking():
    ask = {**ASK, "model": THINKING_MODEL, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    messages = [user(PROMPT + " [[reasoning:6]]")]
    message = client.messages.create(messages=messages, **ask)
    # Some upstreams show no words of a thought, only its seal, and that on the call it belongs to.
    thoughts = [block for block in message.content if block not in spoken(message)]
    assert all(getattr(thought, "data", None) or thought.thinking for thought in thoughts), message
    assert thoughts and [block.type for block in spoken(message)] == ["tool_use", "tool_use"], message
    messages += [assistant(message), called(message)]
    message = client.messages.create(messages=messages, **ask)
    assert spoken(message)[-1].type == "text" and message.stop_reason == "end_turn", message
    kinds = streamed([user("Think. [[reasoning:6]] [[tokens:5]]")], **ask)
    assert any(kind.endswith("thinking") for kind in kinds), kinds
    assert any(kind.endswith(" text") for kind in kinds) and kinds[-1] == "message_stop", kinds
    settled(3)


def counting_is_free():
    before = client.messages.count_tokens(model=MODEL, messages=[user("short")])
    after = client.messages.count_tokens(model=MODEL, messages=[user("short " * 100)])
    assert 0 < before.input_tokens < after.input_tokens, (before, after)


talk(
    a_conversation_in_whole_answers,
    a_conversation_in_streams,
    a_picture,
    structured_output,
    one_call_at_a_time,
    thinking,
    counting_is_free,
)
