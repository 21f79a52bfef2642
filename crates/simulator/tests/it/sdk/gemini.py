"""The vendor's own SDK against the simulator: a client we did not write reads every answer.

Usage: gemini.py BASE_URL KEY ACCOUNT, where ACCOUNT is the JSON of a service account's key.
Stops at the first surprise with a traceback.
"""

import asyncio
import base64
import json
import sys

from google import genai
from google.auth.exceptions import RefreshError
from google.genai import errors, types
from google.oauth2 import service_account
from pydantic import BaseModel

BASE_URL, KEY, ACCOUNT = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
OPTIONS = types.HttpOptions(base_url=BASE_URL, timeout=20_000)
CLOUD = service_account.Credentials.from_service_account_info(ACCOUNT, scopes=SCOPES)


def on_vertex(credentials):
    return genai.Client(
        vertexai=True,
        project="project-1",
        location="us-central1",
        credentials=credentials,
        http_options=OPTIONS,
    )


gemini = genai.Client(api_key=KEY, http_options=OPTIONS)
vertex = on_vertex(CLOUD)
BOTH = [gemini, vertex]


def declared(name, field):
    return types.FunctionDeclaration(
        name=name,
        description=name,
        parameters=types.Schema(
            type="OBJECT", properties={field: types.Schema(type="STRING")}, required=[field]
        ),
    )


TOOLS = [
    types.Tool(function_declarations=[declared("get_weather", "city"), declared("get_time", "zone")])
]


def ask(client, prompt, model="sim-small", **config):
    return client.models.generate_content(
        model=model, contents=prompt, config=types.GenerateContentConfig(**config)
    )


def stream(client, prompt, model="sim-small", **config):
    return list(
        client.models.generate_content_stream(
            model=model, contents=prompt, config=types.GenerateContentConfig(**config)
        )
    )


def a_whole_answer():
    for client in BOTH:
        answer = ask(client, "say eight words to me now if possible", system_instruction="brief")
        usage = answer.usage_metadata
        assert len(answer.text.split()) == usage.candidates_token_count == 8, answer
        assert usage.total_token_count == usage.prompt_token_count + 8
        assert usage.prompt_tokens_details[0].modality == types.MediaModality.TEXT
        assert usage.thoughts_token_count is None and usage.cached_content_token_count is None
        assert answer.candidates[0].finish_reason == types.FinishReason.STOP
        assert answer.model_version == "sim-small" and answer.response_id


def a_stream():
    for client in BOTH:
        chunks = stream(client, "[[tokens:20]]")
        assert len("".join(chunk.text or "" for chunk in chunks).split()) == 20
        told = [chunk.usage_metadata.candidates_token_count for chunk in chunks]
        assert told == sorted(told) and told[-1] == 20, told
        reasons = [chunk.candidates[0].finish_reason for chunk in chunks]
        assert reasons[-1] == types.FinishReason.STOP and not any(reasons[:-1])


def an_asynchronous_stream():
    async def read():
        words = []
        async for chunk in await gemini.aio.models.generate_content_stream(
            model="sim-small", contents="[[tokens:6]]"
        ):
            words += (chunk.text or "").split()
        await gemini.aio.aclose()
        return words

    assert len(asyncio.run(read())) == 6


def tools_over_several_steps():
    """What a program does by hand: the content goes back as the SDK has it, signature included."""
    for client in BOTH:
        for model in ["sim-small", "sim-reason"]:
            prompt = "[[tool:get_weather]] [[tool:get_time]] [[steps:2]]"
            contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
            for _ in range(2):
                answer = ask(client, contents, model=model, tools=TOOLS)
                calls = answer.function_calls
                assert [call.name for call in calls] == ["get_weather", "get_time"], answer
                assert calls[0].args == {"city": "sim"}
                parts = answer.candidates[0].content.parts
                assert bool(parts[0].thought_signature) == (model == "sim-reason")
                assert not parts[1].thought_signature
                contents.append(answer.candidates[0].content)
                results = [
                    types.FunctionResponse(id=call.id, name=call.name, response={"result": "fine"})
                    for call in calls
                ]
                parts = [types.Part(function_response=result) for result in results]
                contents.append(types.Content(role="user", parts=parts))
            answer = ask(client, contents, model=model, tools=TOOLS)
            assert not answer.function_calls and answer.text, answer


def a_chat_streams_tools_and_keeps_signatures():
    """The SDK's own chat puts the chunks of a stream together and sends them back."""
    chat = gemini.chats.create(
        model="sim-reason",
        config=types.GenerateContentConfig(
            tools=TOOLS, thinking_config=types.ThinkingConfig(include_thoughts=True)
        ),
    )
    first = list(chat.send_message_stream("[[tool:get_weather]] [[reasoning:3]]"))
    calls = [call for chunk in first for call in chunk.function_calls or []]
    thoughts = [
        part.text for chunk in first for part in chunk.candidates[0].content.parts if part.thought
    ]
    assert len(calls) == 1 and "".join(thoughts).split() == ["sim1", "sim2", "sim3"], first
    result = types.Part.from_function_response(name="get_weather", response={"result": "sunny"})
    text = "".join(chunk.text or "" for chunk in chat.send_message_stream(result))
    assert text.split()[0] == "sim1", text
    assert chat.send_message("and now something else").text


def functions_called_by_the_sdk():
    """The SDK calls a Python function by itself and goes on until the model stops calling."""
    seen = []

    def get_weather(city: str) -> str:
        """Weather of a city."""
        seen.append(city)
        return "sunny"

    answer = ask(gemini, "[[tool:get_weather]] [[steps:2]]", model="sim-reason", tools=[get_weather])
    assert seen == ["sim", "sim"] and answer.text, (seen, answer)


def a_signature_is_missed_and_known():
    contents = [types.Content(role="user", parts=[types.Part(text="[[tool:get_weather]]")])]
    answer = ask(gemini, contents, model="sim-reason", tools=TOOLS)
    content = answer.candidates[0].content
    result = types.Part.from_function_response(name="get_weather", response={"result": "sunny"})
    contents += [content, types.Content(role="user", parts=[result])]
    signature = content.parts[0].thought_signature
    for wrong, words in [(None, "missing a thought_signature"), (b"made up", "Corrupted thought")]:
        content.parts[0].thought_signature = wrong
        error = fails(errors.ClientError, lambda: ask(gemini, contents, model="sim-reason"))
        assert error.code == 400 and words in error.message, error
    content.parts[0].thought_signature = signature
    assert ask(gemini, contents, model="sim-reason", tools=TOOLS).text


def structured_output():
    class Step(BaseModel):
        title: str
        minutes: int

    class Recipe(BaseModel):
        name: str
        is_easy: bool
        steps: list[Step]

    for client in BOTH:
        for form in [
            {"response_schema": Recipe},
            {"response_json_schema": Recipe.model_json_schema()},
        ]:
            answer = ask(client, "a recipe", response_mime_type="application/json", **form)
            recipe = Recipe.model_validate_json(answer.text)
            assert len(recipe.steps) == 1, recipe
        answer = ask(client, "a recipe", response_mime_type="application/json", response_schema=Recipe)
        assert isinstance(answer.parsed, Recipe), answer.parsed


def thoughts_images_and_candidates():
    image = types.Part.from_bytes(data=base64.b64decode("iVBORw0KGgo="), mime_type="image/png")
    answer = ask(gemini, ["what is it", image])
    kinds = {one.modality: one.token_count for one in answer.usage_metadata.prompt_tokens_details}
    assert kinds[types.MediaModality.IMAGE] == 258, kinds
    for thinking in [
        types.ThinkingConfig(include_thoughts=True, thinking_budget=1000),
        types.ThinkingConfig(include_thoughts=True, thinking_level="HIGH"),
    ]:
        answer = ask(
            gemini, "[[reasoning:4]] [[tokens:5]]", model="sim-reason", thinking_config=thinking
        )
        usage = answer.usage_metadata
        assert (usage.thoughts_token_count, usage.candidates_token_count) == (4, 5), usage
        assert answer.candidates[0].content.parts[0].thought and len(answer.text.split()) == 5
    answer = ask(gemini, "[[tokens:9]]", candidate_count=2, max_output_tokens=4)
    assert [one.finish_reason for one in answer.candidates] == [types.FinishReason.MAX_TOKENS] * 2


def blocked_and_stopped():
    answer = ask(gemini, "[[block:SAFETY]]")
    assert answer.prompt_feedback.block_reason == types.BlockedReason.SAFETY
    assert not answer.candidates
    for reason in types.FinishReason:
        if reason.value in ("FINISH_REASON_UNSPECIFIED", "CONTINUATION"):
            continue
        answer = ask(gemini, f"[[finish:{reason.value}]]")
        assert answer.candidates[0].finish_reason == reason, answer


def the_cache():
    text = "the same long beginning " * 400
    assert not ask(gemini, text + "one").usage_metadata.cached_content_token_count
    again = ask(gemini, text + "two").usage_metadata
    assert again.cached_content_token_count == 2048, again
    assert again.cache_tokens_details[0].token_count == 2048


def counts():
    for client in BOTH:
        counted = client.models.count_tokens(model="sim-small", contents="say something")
        told = ask(client, "say something").usage_metadata.prompt_token_count
        assert counted.total_tokens == told == 7, counted


def fails(expected, call):
    try:
        call()
    except expected as error:
        assert type(error) is expected, type(error)
        return error
    raise AssertionError(f"{expected.__name__} did not come")


def refusals():
    stranger = genai.Client(api_key="AIza-stranger", http_options=OPTIONS)
    error = fails(errors.ClientError, lambda: ask(stranger, "a"))
    assert (error.code, error.status) == (400, "INVALID_ARGUMENT"), error
    assert error.details["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    for call in [ask, stream]:
        error = fails(errors.ClientError, lambda: call(gemini, "a", temperature=3))
        assert error.code == 400 and "temperature" in error.message, error
        error = fails(errors.ClientError, lambda: call(vertex, "a", model="gemini-nobody"))
        assert (error.code, error.status) == (404, "NOT_FOUND"), error
    extra = types.HttpOptions(base_url=BASE_URL, extra_body={"foo": 1})
    error = fails(errors.ClientError, lambda: ask(gemini, "a", http_options=extra))
    assert 'Unknown name "foo"' in error.message, error


def faults():
    for client in BOTH:
        for call in [ask, stream]:
            error = fails(errors.ClientError, lambda: call(client, "[[fault:rate_limited:3]]"))
            assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED"), error
            assert "3s" in str(error.details), error
            error = fails(errors.ServerError, lambda: call(client, "[[fault:status:503]]"))
            assert error.status == "UNAVAILABLE", error
        # The SDK takes a comment between two events for a piece of JSON.
        fails(errors.UnknownApiResponseError, lambda: stream(client, "[[fault:cr_lf]]"))
        for name in ["split_bytes:1", "slow_first_byte:50"]:
            chunks = stream(client, f"[[fault:{name}]] [[tokens:7]]")
            assert len("".join(chunk.text or "" for chunk in chunks).split()) == 7, name


def a_stranger_on_vertex():
    other = dict(ACCOUNT, client_email="nobody@project-1.iam.gserviceaccount.com")
    stranger = service_account.Credentials.from_service_account_info(other, scopes=SCOPES)
    error = fails(RefreshError, lambda: ask(on_vertex(stranger), "a"))
    assert "invalid_grant" in str(error), error
    assert CLOUD.token.startswith("ya29."), CLOUD.token


def the_models():
    names = [model.name for model in gemini.models.list()]
    assert "models/sim-small" in names and "models/sim-reason" in names, names
    model = gemini.models.get(model="sim-reason")
    assert model.thinking and "generateContent" in model.supported_actions, model
    fails(errors.ClientError, lambda: gemini.models.get(model="gemini-nobody"))


CHECKS = [
    a_whole_answer,
    a_stream,
    an_asynchronous_stream,
    tools_over_several_steps,
    a_chat_streams_tools_and_keeps_signatures,
    functions_called_by_the_sdk,
    a_signature_is_missed_and_known,
    structured_output,
    thoughts_images_and_candidates,
    blocked_and_stopped,
    the_cache,
    counts,
    refusals,
    faults,
    a_stranger_on_vertex,
    the_models,
]

for check in CHECKS:
    check()
    print(check.__name__, "ok", flush=True)
print(f"google-genai {genai.__version__}: {len(CHECKS)} checks passed")
