"""The `google-genai` SDK for Python in conversations over generateContent."""

import base64
import warnings

from google import genai
from google.genai import types
from pydantic import BaseModel

from talk import CALLS, KEY, LONGEST, MODEL, PNG, PROMPT, RESULTS, ROOT, SCHEMAS, SYSTEM
from talk import THINKING_MODEL, http, runs, settled, talk, words

warnings.simplefilter("ignore")
options = types.HttpOptions(base_url=ROOT, httpx_client=http)
client = genai.Client(api_key=KEY, http_options=options)
DECLARATIONS = [
    types.FunctionDeclaration(name=name, description=text, parameters_json_schema=schema)
    for name, (text, schema) in SCHEMAS.items()
]


def ask(**more):
    return types.GenerateContentConfig(
        **{
            "system_instruction": SYSTEM,
            "tools": [types.Tool(function_declarations=DECLARATIONS)],
            "automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True),
            "max_output_tokens": LONGEST,
            **more,
        }
    )


def user(text=PROMPT):
    return types.Content(role="user", parts=[types.Part.from_text(text=text)])


def called(content):
    found = [part.function_call for part in content.parts if part.function_call]
    assert [(call.name, call.args) for call in found] == CALLS, content
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": RESULTS[call.name]}
            )
        )
        for call in found
    ]
    return types.Content(role="user", parts=parts)


def used(answer):
    usage = answer.usage_metadata
    assert usage.prompt_token_count > 0 and usage.candidates_token_count > 0, usage
    rest = (usage.thoughts_token_count or 0) + usage.prompt_token_count
    assert usage.total_token_count == rest + usage.candidates_token_count, usage


def whole(contents, model=MODEL, **more):
    answer = client.models.generate_content(model=model, contents=contents, config=ask(**more))
    used(answer)
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP, answer
    return answer.candidates[0].content


def a_conversation_in_whole_answers():
    contents = [user()]
    said = whole(contents)
    contents += [said, called(said)]
    said = whole(contents)
    assert len(said.parts) == 1 and said.parts[0].text.startswith("Hello! This"), said
    contents += [said, user("Shorter. [[tokens:7]]")]
    said = whole(contents)
    assert words(said.parts[0].text) == 7, said
    settled(3)


def streamed(contents, model=MODEL, **more):
    """All parts in one content, the kinds of parts in their order, and the reason at the end."""
    parts, kinds, reason = [], [], None
    stream = client.models.generate_content_stream(model=model, contents=contents, config=ask(**more))
    for chunk in stream:
        last = chunk
        for candidate in chunk.candidates or []:
            reason = candidate.finish_reason or reason
            for part in (candidate.content and candidate.content.parts) or []:
                kind = "call" if part.function_call else "thought" if part.thought else "text"
                kinds.append(kind)
                parts.append(part)
    used(last)
    assert reason == types.FinishReason.STOP, last
    return types.Content(role="model", parts=parts), kinds


def a_conversation_in_streams():
    contents = [user()]
    said, kinds = streamed(contents)
    assert [kind for kind in kinds if kind != "text"] == ["call", "call"], kinds
    contents += [said, called(said)]
    said, kinds = streamed(contents)
    assert runs(kinds) == ["text"] and len(kinds) > 1, kinds
    contents += [said, user("Shorter. [[tokens:7]]")]
    said, kinds = streamed(contents)
    assert words("".join(part.text or "" for part in said.parts)) == 7, said
    settled(3)


def a_picture():
    picture = types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")
    text = types.Part.from_text(text="What is it?")
    counts = []
    for parts in ([text], [picture, text]):
        contents = [types.Content(role="user", parts=parts)]
        answer = client.models.generate_content(model=MODEL, contents=contents, config=ask())
        counts.append(answer.usage_metadata.prompt_token_count)
    assert counts[1] > counts[0] + 50, counts
    settled(2)


def structured_output():
    class Recipe(BaseModel):
        name: str
        minutes: int
        steps: list[str]

    answer = client.models.generate_content(
        model=MODEL,
        contents="A recipe as JSON.",
        config={"response_mime_type": "application/json", "response_schema": Recipe},
    )
    assert isinstance(answer.parsed, Recipe), answer
    settled()


def which_tools():
    def config(mode, names=None):
        calling = types.FunctionCallingConfig(mode=mode, allowed_function_names=names)
        return {"tool_config": types.ToolConfig(function_calling_config=calling)}

    said = whole([user("Which?")], **config("ANY", ["get_time"]))
    assert [part.function_call.name for part in said.parts] == ["get_time"], said
    said = whole([user()], **config("NONE"))
    assert all(part.function_call is None for part in said.parts), said
    settled(2)


def thinking():
    more = {"thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_budget=1024)}
    contents = [user(PROMPT + " [[reasoning:6]]")]
    said = whole(contents, THINKING_MODEL, **more)
    assert said.parts[0].thought and said.parts[0].text, said
    contents += [said, called(said)]
    said, kinds = streamed(contents, THINKING_MODEL, **more)
    assert kinds[-1] == "text", kinds
    settled(2)


def counting_is_free():
    before = client.models.count_tokens(model=MODEL, contents="short")
    after = client.models.count_tokens(model=MODEL, contents="short " * 100)
    assert 0 < before.total_tokens < after.total_tokens, (before, after)


talk(
    a_conversation_in_whole_answers,
    a_conversation_in_streams,
    a_picture,
    structured_output,
    which_tools,
    thinking,
    counting_is_free,
)
