"""Attacks on money: paying less than the price, more than was agreed, or being refused what is affordable."""

import concurrent.futures
import json

from dev import nanos

REASONING = "[[reasoning:15000]] [[tokens:60]] [[pace:20]]"


def stream(dev, key, body, path="/v1/chat/completions", until=None):
    """Reads a stream to its end, or up to the first line that contains `until`; its request id."""
    connection = dev.connect()
    sent = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    connection.request("POST", path, json.dumps({"stream": True, **body}), sent)
    response = connection.getresponse()
    assert response.status == 200, response.read()
    for line in response:
        if until and until in line:
            break
    connection.close()
    return response.getheader("x-request-id")


def messages(text):
    return [{"role": "user", "content": text}]


def charged(dev, key, request_id):
    dev.free(key)
    return nanos(dev.usage(request_id, key)["cost_usd"])


def hello_is_refused(dev):
    """A-01: eight short calls at once on 1 USD, on the model with the dearest longest answer."""
    models = [model["id"] for model in dev.call("GET", "/v1/models")[2]["data"]]
    refused = []
    for model in ("gpt-5.5", "kimi-k3", "claude-opus-5-5", "sim-large"):
        if model not in models:
            continue
        key = dev.customer("1")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda _: dev.chat("Hello", model, key)[0], range(8)))
        refused += [f"{model} {status}" for status in got if status != 200]
    return not refused, f"refused: {', '.join(refused) or 'none'}"


def affordable_is_refused(dev):
    """A-02: the number of tokens that a 402 calls affordable, with n = 4."""
    key = dev.customer("0.5")
    fields = {"model": "sim-large", "messages": messages("Hello"), "n": 4}
    status, _, refusal = dev.call("POST", "/v1/chat/completions", {**fields, "max_tokens": 30_000}, key)
    if status != 402:
        return False, f"status {status} instead of 402"
    told = refusal["error"].get("max_tokens_affordable")
    again = dev.call("POST", "/v1/chat/completions", {**fields, "max_tokens": told}, key)[0]
    return again == 200, f"{told} tokens called affordable: {again}"


def chat_on_embeddings(dev):
    """A-03: chat on a record that has no price for output."""
    status, _, body = dev.chat("Hello", "text-embedding-3-small")
    return status == 400 and body["error"]["code"] == "endpoint_not_supported", f"status {status}"


def leaving_hides_reasoning(dev):
    """G-01: a stream left at its first words, after much hidden reasoning."""
    key = dev.customer("5")
    body = {"model": "sim-large", "messages": messages(REASONING)}
    whole = charged(dev, key, stream(dev, key, body))
    left = charged(dev, key, stream(dev, key, body, until=b'"content"'))
    return whole * 9 // 10 <= left <= whole, f"left {left}, stayed {whole} nano-dollars"


def leaving_costs_more(dev):
    """G-08: a cached Claude stream, left early."""
    key = dev.customer("5")
    words = "[[cached:20000]] [[tokens:60]] [[pace:20]] " + "word " * 20_000
    body = {"model": "sim-claude", "max_tokens": 100, "messages": messages(words)}
    path = "/v1/messages"
    whole = charged(dev, key, stream(dev, key, body, path))
    left = charged(dev, key, stream(dev, key, body, path, until=b"content_block_delta"))
    return left <= whole, f"left {left}, stayed {whole} nano-dollars"


def caps_below_the_price(dev):
    """G-02: five sub-keys whose caps are between the hold and the price."""
    total = 0
    for _ in range(5):
        key = dev.sub_key(cap_usd="0.0415")
        body = {"model": "sim-large", "messages": messages("[[fault:lying_usage:4000]] [[tokens:60]]"), "max_tokens": 60}
        status, headers, _ = dev.call("POST", "/v1/chat/completions", body, key)
        if status == 200:
            total += nanos(headers["trunkline-cost-usd"])
    return total == 5 * nanos("0.0415"), f"charged {total} of {5 * nanos('0.0415')} nano-dollars"


def usage_above_the_wallet(dev):
    """G-02: usage of four billion times the truth, with 5 USD in the wallet."""
    key = dev.customer("5")
    status, headers, _ = dev.chat("[[fault:lying_usage:4000000000]] Hello", "sim-large", key, max_tokens=100)
    left = dev.free(key)
    return status == 200 and left == 0, f"{left} nano-dollars left"


def more_than_the_maximum(dev):
    """G-09: usage of 200 times the truth, with a maximum cost."""
    headers = {"Trunkline-Max-Cost-Usd": "0.002"}
    got = dev.chat("[[fault:lying_usage:200]] Hello", "sim-large", headers=headers, max_tokens=60)
    cost = nanos(got[1].get("trunkline-cost-usd", "0"))
    return got[0] == 200 and cost <= nanos("0.002"), f"status {got[0]}, charged {cost} nano-dollars"


ATTACKS = [
    ("A-01", hello_is_refused),
    ("A-02", affordable_is_refused),
    ("A-03", chat_on_embeddings),
    ("G-01", leaving_hides_reasoning),
    ("G-02", caps_below_the_price),
    ("G-02", usage_above_the_wallet),
    ("G-08", leaving_costs_more),
    ("G-09", more_than_the_maximum),
]
