"""Attacks on what an upstream receives, and on channels that all customers share."""

import json

FIELDS = {
    "models": ["gpt-5"],
    "plugins": [{"id": "web"}],
    "search_parameters": {"mode": "on"},
    "enable_search": True,
    "temprature": 0.5,
}
TOOLS = ["web_search", "builtin_function", "x_search", "code_execution", "mcp", "shell"]


def unpriced_fields(dev):
    """G-05: fields and tools that a vendor bills and no price covers."""
    before = len(dev.served())
    dev.chat("Hello", **FIELDS)
    for kind in TOOLS:
        body = {"model": "sim-responses", "input": "Hello", "tools": [{"type": kind}]}
        dev.call("POST", "/v1/responses", body)
        dev.chat("Hello", tools=[{"type": kind, kind: {"name": "a"}}])
    arrived = set()
    for request in dev.served()[before:]:
        body = json.loads(request["body"])
        arrived |= set(body) & set(FIELDS)
        arrived |= {tool.get("type") for tool in body.get("tools", [])} & set(TOOLS)
    return not arrived, f"arrived: {', '.join(sorted(arrived)) or 'none'}"


def poison_statuses(dev):
    """G-04: one customer's requests make the upstream refuse; another customer calls."""
    attacker, victim = dev.customer("1"), dev.customer("1")
    failed = []
    for status in (401, 402, 403, 404, 429, 500, 503):
        for _ in range(6):
            dev.chat(f"[[fault:status:{status}]] Hello", "sim-reason", attacker)
        got = dev.chat("Hello", "sim-reason", victim)[0]
        if got != 200:
            failed.append(f"{status} then {got}")
    return not failed, f"the neighbour: {', '.join(failed) or 'all 200'}"


ATTACKS = [("G-05", unpriced_fields), ("G-04", poison_statuses)]
