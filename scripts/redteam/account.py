"""Attacks on what belongs to an account, by one of its keys."""

import time


def webhook_of_the_account(dev):
    """G-11: a capped sub-key changes the account's webhook."""
    address = {"url": "https://93.184.216.34/hook"}
    status, _, made = dev.call("POST", "/v1/webhooks", address)
    if status != 201:
        return False, f"the webhook: {status}"
    key = dev.sub_key(cap_usd="0.01")
    path = f"/v1/webhooks/{made['id']}"
    tried = {
        "create": dev.call("POST", "/v1/webhooks", address, key)[0],
        "change": dev.call("PATCH", path, {"url": "https://93.184.216.34/other"}, key)[0],
        "rotate": dev.call("POST", f"{path}/rotate", {}, key)[0],
        "alias": dev.call("PUT", "/v1/aliases/mine", {"model": "sim-fast"}, key)[0],
        "delete": dev.call("DELETE", path, None, key)[0],
    }
    passed = [f"{name} {status}" for name, status in tried.items() if status != 403]
    return not passed, f"passed: {', '.join(passed) or 'none'}"


def replay_of_a_forbidden_model(dev):
    """I-08: a key reads the stored response of a model that it may not call."""
    words = {"idempotency-key": "redteam-forbidden"}
    dev.chat("Hello", "sim-large", headers=words)
    key = dev.sub_key(models=["sim-fast"])
    status = dev.chat("Hello", "sim-large", key, words)[0]
    return status == 403, f"status {status}"


def two_windows(dev):
    """I-10: more calls than the limit of a minute, on both sides of a boundary."""
    key = dev.sub_key(requests_per_minute=10)
    time.sleep((58 - time.time()) % 60)
    passed = 0
    for _ in range(30):
        passed += dev.chat("Hello", key=key)[0] == 200
        time.sleep(0.15)
    return 10 <= passed <= 11, f"{passed} of 30 calls passed at a limit of 10"


ATTACKS = [
    ("G-11", webhook_of_the_account),
    ("I-08", replay_of_a_forbidden_model),
]
# These wait for a clock.
WAITING = [("I-10", two_windows)]
