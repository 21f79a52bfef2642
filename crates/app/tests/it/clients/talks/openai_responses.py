"""The `openai` SDK for Python in conversations over responses: by items, and by the last one's id."""

import json

from openai import OpenAI
from pydantic import BaseModel

from talk import BASE_URL, CALLS, KEY, LONGEST, MODEL, PNG, PROMPT, RESULTS, SCHEMAS, SYSTEM
from talk import THINKING_MODEL, http, is_warned, runs, settled, talk, words

client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, http_client=http)
TOOLS = [
    {"type": "function", "name": name, "description": text, "parameters": schema, "strict": True}
    for name, (text, schema) in SCHEMAS.items()
]
ASK = {"model": MODEL, "instructions": SYSTEM, "tools": TOOLS, "store": False}


def user(text=PROMPT):
    return {"role": "user", "content": text}


def called(response):
    found = [item for item in response.output if item.type == "function_call"]
    calls = [(call.name, json.loads(call.arguments)) for call in found]
    assert calls == CALLS and response.status == "completed", response
    assert len({call.call_id for call in found}) == len(CALLS), response
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": RESULTS[call.name]}
        for call in found
    ]


def used(response):
    usage = response.usage
    assert usage.input_tokens > 0 and usage.output_tokens > 0, usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens, usage


def spoken(response):
    """The items but for thoughts, which some models have unasked."""
    return [item for item in response.output if item.type != "reasoning"]


def back(response):
    return [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]


def a_conversation_in_whole_answers():
    items = [user()]
    response = client.responses.create(input=items, **ASK)
    used(response)
    items += back(response) + called(response)
    response = client.responses.create(input=items, **ASK)
    used(response)
    assert [item.type for item in spoken(response)] == ["message"], response
    assert response.output_text.startswith("Hello! This"), response
    items += [*back(response), user("Shorter. [[tokens:7]]")]
    response = client.responses.create(input=items, **ASK)
    assert words(response.output_text) == 7 and response.status == "completed", response
    settled(3)


def streamed(items, **more):
    """The finished response, and the kinds of events in their order."""
    kinds, number = [], -1
    with client.responses.create(input=items, stream=True, **{**ASK, **more}) as stream:
        for event in stream:
            assert event.sequence_number > number, event
            number = event.sequence_number
            is_thought = "reasoning" in event.type or (
                event.type.startswith("response.output_item.") and event.item.type == "reasoning"
            )
            if not is_thought:
                kinds.append(event.type.removeprefix("response."))
            if event.type == "response.completed":
                response = event.response
    used(response)
    return response, runs([kind for kind in kinds if kind != "in_progress"])


CALL = [
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
]
MESSAGE = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
]


def a_conversation_in_streams():
    items = [user()]
    response, kinds = streamed(items)
    assert kinds == ["created", *CALL, *CALL, "completed"], kinds
    items += back(response) + called(response)
    response, kinds = streamed(items)
    assert kinds == ["created", *MESSAGE, "completed"], kinds
    items += [*back(response), user("Shorter. [[tokens:7]]")]
    response, kinds = streamed(items)
    assert kinds == ["created", *MESSAGE, "completed"], kinds
    assert words(spoken(response)[0].content[0].text) == 7, response
    settled(3)


def a_picture():
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
    text = {"type": "input_text", "text": "What is it?"}
    without = client.responses.create(input=[user([text])], **ASK)
    response = client.responses.create(input=[user([text, picture])], **ASK)
    assert response.usage.input_tokens > without.usage.input_tokens + 50, response.usage
    settled(2)


def structured_output():
    class Recipe(BaseModel):
        name: str
        minutes: int
        steps: list[str]

    ask = {key: value for key, value in ASK.items() if key != "tools"}
    response = client.responses.parse(input=[user("A recipe as JSON.")], text_format=Recipe, **ask)
    assert isinstance(response.output_parsed, Recipe), response
    settled()


def one_call_at_a_time():
    response = client.responses.create(input=[user()], parallel_tool_calls=False, **ASK)
    # Not every upstream can be told so; then the answer says that it was not.
    calls = [item for item in response.output if item.type == "function_call"]
    assert len(calls) == 1 or is_warned("translation_dropped"), response
    assert calls[0].name == "get_weather", response
    choice = {"type": "function", "name": "get_time"}
    response = client.responses.create(input=[user("Which?")], tool_choice=choice, **ASK)
    assert [item.name for item in spoken(response)] == ["get_time"], response
    response = client.responses.create(input=[user()], tool_choice="none", **ASK)
    assert [item.type for item in spoken(response)] == ["message"], response
    settled(3)


def thinking():
    ask = {
        **ASK,
        "model": THINKING_MODEL,
        "reasoning": {"effort": "high", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": LONGEST,
    }
    items = [user(PROMPT + " [[reasoning:6]]")]
    response = client.responses.create(input=items, **ask)
    assert response.output[0].type == "reasoning", response
    assert [item.type for item in spoken(response)] == ["function_call", "function_call"], response
    items += back(response) + called(response)
    response, _ = streamed(items, **ask)
    assert [item.type for item in spoken(response)] == ["message"], response
    settled(2)


talk(
    a_conversation_in_whole_answers,
    a_conversation_in_streams,
    a_picture,
    structured_output,
    one_call_at_a_time,
    thinking,
)
