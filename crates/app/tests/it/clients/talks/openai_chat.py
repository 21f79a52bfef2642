"""The `openai` SDK for Python in conversations over chat completions."""

import json

from openai import OpenAI
from pydantic import BaseModel

from talk import BASE_URL, CALLS, KEY, LONGEST, MODEL, PNG, PROMPT, RESULTS, SCHEMAS, SYSTEM
from talk import THINKING_MODEL, http, is_warned, runs, settled, talk, words

client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0, http_client=http)
TOOLS = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}
    for name, (text, schema) in SCHEMAS.items()
]


def opening(prompt=PROMPT):
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]


def create(messages, **more):
    return client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, **more)


def called(message):
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
    assert calls == CALLS, message
    assert len({call.id for call in message.tool_calls}) == len(CALLS), message
    return [
        {"role": "tool", "tool_call_id": call.id, "content": RESULTS[call.function.name]}
        for call in message.tool_calls
    ]


def used(usage):
    assert usage.prompt_tokens > 0 and usage.completion_tokens > 0, usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage


def a_conversation_in_whole_answers():
    messages = opening()
    answer = create(messages)
    assert answer.choices[0].finish_reason == "tool_calls", answer
    used(answer.usage)
    message = answer.choices[0].message
    messages += [message, *called(message)]
    answer = create(messages)
    assert answer.choices[0].finish_reason == "stop", answer
    assert answer.choices[0].message.content.startswith("Hello! This"), answer
    used(answer.usage)
    messages += [answer.choices[0].message, {"role": "user", "content": "Shorter. [[tokens:7]]"}]
    answer = create(messages)
    assert words(answer.choices[0].message.content) == 7, answer
    used(answer.usage)
    settled(3)


def streamed(messages, **more):
    """The finished message, the kinds of chunks in their order, and the usage."""
    kinds = []
    with client.chat.completions.stream(
        model=MODEL, messages=messages, tools=TOOLS, stream_options={"include_usage": True}, **more
    ) as stream:
        for event in stream:
            if event.type != "chunk":
                continue
            for choice in event.chunk.choices:
                for call in choice.delta.tool_calls or []:
                    kinds.append(f"call {call.index}")
                if choice.delta.content:
                    kinds.append("content")
                if choice.finish_reason:
                    kinds.append(choice.finish_reason)
            if event.chunk.usage:
                kinds.append("usage")
                used(event.chunk.usage)
        answer = stream.get_final_completion()
    return answer.choices[0].message, runs(kinds)


def a_conversation_in_streams():
    messages = opening()
    message, kinds = streamed(messages)
    assert kinds == ["call 0", "call 1", "tool_calls", "usage"], kinds
    back = message.model_dump(exclude_none=True, exclude={"parsed"})
    for call in back["tool_calls"]:
        call["function"].pop("parsed_arguments", None)
        call.pop("index", None)
    messages += [back, *called(message)]
    message, kinds = streamed(messages)
    assert kinds == ["content", "stop", "usage"], kinds
    messages += [
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": "Shorter. [[tokens:7]]"},
    ]
    message, kinds = streamed(messages)
    assert kinds == ["content", "stop", "usage"] and words(message.content) == 7, (kinds, message)
    settled(3)


def a_picture():
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    text = {"type": "text", "text": "What is it?"}
    without = create([{"role": "user", "content": [text]}])
    answer = create([{"role": "user", "content": [text, picture]}])
    assert answer.usage.prompt_tokens > without.usage.prompt_tokens + 50, answer.usage
    assert answer.choices[0].finish_reason == "stop", answer
    settled(2)


def structured_output():
    class Recipe(BaseModel):
        name: str
        minutes: int
        steps: list[str]

    answer = client.chat.completions.parse(
        model=MODEL, messages=opening("A recipe as JSON."), response_format=Recipe
    )
    assert isinstance(answer.choices[0].message.parsed, Recipe), answer
    settled()


def one_call_at_a_time():
    answer = create(opening(), parallel_tool_calls=False)
    calls = answer.choices[0].message.tool_calls
    # Not every upstream can be told so; then the answer says that it was not.
    assert len(calls) == 1 or is_warned("translation_dropped"), answer
    assert calls[0].function.name == "get_weather", answer
    answer = create(opening("Which?"), tool_choice={"type": "function", "function": {"name": "get_time"}})
    calls = answer.choices[0].message.tool_calls
    assert [call.function.name for call in calls] == ["get_time"], answer
    answer = create(opening(), tool_choice="none")
    assert answer.choices[0].message.tool_calls is None, answer
    settled(3)


def thinking():
    messages = opening(PROMPT + " [[reasoning:6]]")
    more = {
        "model": THINKING_MODEL,
        "tools": TOOLS,
        "reasoning_effort": "high",
        "max_completion_tokens": LONGEST,
    }
    answer = client.chat.completions.create(messages=messages, **more)
    message = answer.choices[0].message
    details = answer.usage.completion_tokens_details
    thought = getattr(message, "reasoning_content", None)
    assert thought or (details and details.reasoning_tokens), answer
    messages += [message, *called(message)]
    answer = client.chat.completions.create(messages=messages, **more)
    assert answer.choices[0].finish_reason == "stop", answer
    settled(2)


talk(
    a_conversation_in_whole_answers,
    a_conversation_in_streams,
    a_picture,
    structured_output,
    one_call_at_a_time,
    thinking,
)
