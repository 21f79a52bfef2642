"""LangChain in conversations: over chat completions, Responses and messages, whole, streamed, and as an agent."""

from decimal import Decimal

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from talk import BASE_URL, CALLS, KEY, LONGEST, MODEL, PROMPT, RESULTS, ROOT, SYSTEM
from talk import get, http, settled, talk, words


@tool
def get_weather(city: str, days: int) -> str:
    """The weather of some days."""
    return RESULTS["get_weather"]


@tool
def get_time(zone: str) -> str:
    """What time it is."""
    return RESULTS["get_time"]


TOOLS = [get_weather, get_time]


class Recipe(BaseModel):
    """A recipe."""

    name: str
    minutes: int
    steps: list[str]


def openai(**more):
    return ChatOpenAI(
        model=MODEL, base_url=BASE_URL, api_key=KEY, max_retries=0, max_tokens=LONGEST, http_client=http, **more
    )


def a_conversation(model):
    """Two tools at once, their results, and a shorter answer: three calls."""
    bound = model.bind_tools(TOOLS)
    messages = [SystemMessage(SYSTEM), HumanMessage(PROMPT)]
    answer = bound.invoke(messages)
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == CALLS, answer
    assert answer.usage_metadata["input_tokens"] > 0, answer
    messages += [answer] + [
        ToolMessage(RESULTS[call["name"]], tool_call_id=call["id"]) for call in answer.tool_calls
    ]
    answer = bound.invoke(messages)
    assert not answer.tool_calls and answer.text.startswith("Hello! This"), answer
    messages += [answer, HumanMessage("Shorter. [[tokens:7]]")]
    whole = None
    for chunk in bound.stream(messages):
        whole = chunk if whole is None else whole + chunk
    assert words(whole.text) == 7, whole
    assert whole.usage_metadata["output_tokens"] > 0, whole


def chat_completions():
    a_conversation(openai(stream_usage=True))
    settled(3)


def responses():
    a_conversation(openai(use_responses_api=True, store=False))
    settled(3)


def left():
    return Decimal(get("/balance")["available_paid_usd"]) + Decimal(get("/balance")["available_trial_usd"])


def messages():
    # It has no place for another HTTP client, so what came back is not recorded; the balance tells that it was paid.
    before = left()
    a_conversation(
        ChatAnthropic(model=MODEL, base_url=ROOT, api_key=KEY, max_retries=0, max_tokens=LONGEST, stream_usage=True)
    )
    assert left() < before, (left(), before)


def structured_output():
    model = openai().with_structured_output(Recipe, method="json_schema")
    assert isinstance(model.invoke([HumanMessage("A recipe as JSON.")]), Recipe)
    settled()


def an_agent():
    """The agent calls both tools by itself and goes on with what they say."""
    agent = create_agent(openai(), TOOLS, system_prompt=SYSTEM)
    said = agent.invoke({"messages": [HumanMessage(PROMPT)]})["messages"]
    results = [message.content for message in said if isinstance(message, ToolMessage)]
    assert results == ["sunny", "noon"], said
    assert said[-1].text.startswith("Hello! This"), said
    settled(2)


talk(chat_completions, responses, messages, structured_output, an_agent)
