"""What every conversation needs: who is asked, what tools there are, and what each call cost.

The environment says where and as whom: BASE_URL (with /v1), API_KEY, CLIENT_MODEL, CLIENT_THINKING_MODEL.
"""

import json
import os
import re
import urllib.request
from decimal import Decimal

import httpx2

BASE_URL, KEY = os.environ["BASE_URL"], os.environ["API_KEY"]
ROOT = BASE_URL.removesuffix("/v1")
MODEL, THINKING_MODEL = os.environ["CLIENT_MODEL"], os.environ["CLIENT_THINKING_MODEL"]
# Longer answers than any of these conversations asks for, below every model's limit.
LONGEST = 4000

SYSTEM = "You are a helpful assistant."
PROMPT = (
    "How are weather and time? "
    '[[call:get_weather {"city":"Oslo","days":3}]] [[call:get_time {"zone":"Europe/Oslo"}]]'
)
CALLS = [("get_weather", {"city": "Oslo", "days": 3}), ("get_time", {"zone": "Europe/Oslo"})]
RESULTS = {"get_weather": "sunny", "get_time": "noon"}
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TIME = {
    "type": "object",
    "properties": {"zone": {"type": "string"}},
    "required": ["zone"],
    "additionalProperties": False,
}
SCHEMAS = {"get_weather": ("The weather of some days", WEATHER), "get_time": ("What time it is", TIME)}
# A picture of one dot.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Seen(httpx2.SyncByteStream):
    """An answer on its way: its head, and its bytes once they are read."""

    def __init__(self, response):
        self.status, self.headers, self.stream = response.status_code, response.headers, response.stream
        self.body = b""

    def __iter__(self):
        for piece in self.stream:
            self.body += piece
            yield piece

    def close(self):
        self.stream.close()


class Tap(httpx2.HTTPTransport):
    """The SDK's own way to the network, observed: what comes back is recorded."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_request(self, request):
        response = super().handle_request(request)
        seen = Seen(response)
        self.seen.append(seen)
        response.stream = seen
        return response


tap = Tap()
http = httpx2.Client(transport=tap, timeout=60)


def get(path):
    request = urllib.request.Request(BASE_URL + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def told(seen):
    """What an answer says that it cost: in a header, in a comment of its stream, or in the last frame
    of one for Google's clients, which take no comments."""
    if not seen.headers["content-type"].startswith("text/event-stream"):
        return [Decimal(seen.headers["trunkline-cost-usd"])]
    told = re.findall(r"^: ?trunkline-cost-usd=([0-9.]+)$", seen.body.decode(), re.M)
    if not told:
        last = [line for line in seen.body.decode().splitlines() if line.startswith("data: ")][-1]
        usage = json.loads(last.removeprefix("data: "), parse_float=Decimal).get("usageMetadata", {})
        return [usage.get("cost")]
    return [Decimal(cost) for cost in told]


def settled(count=1):
    """The last answers were charged, and the client was told what the books say."""
    assert len(tap.seen) == count, [seen.status for seen in tap.seen]
    for seen in tap.seen:
        assert seen.status == 200, seen.body
        row = get(f"/usage/{seen.headers['x-request-id']}")
        assert row["outcome"] == "complete" and Decimal(row["cost_usd"]) > 0, row
        assert row["units"]["output"] > 0, row
        assert told(seen) == [Decimal(row["cost_usd"])], (told(seen), row)
    tap.seen.clear()


def is_warned(code):
    """Whether the last answer says that something was left out on the way to the upstream."""
    return code in tap.seen[-1].headers.get("trunkline-warnings", "")


def words(text):
    return len(text.split())


def runs(names):
    """The same, with equal neighbours told once."""
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def talk(*checks):
    for check in checks:
        tap.seen.clear()
        check()
        print(MODEL, check.__name__, "ok", flush=True)
