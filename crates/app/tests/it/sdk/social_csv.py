"""Runs the example of docs/guide/social.md as its reader would, and looks into its file and its bill."""

import csv
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from decimal import Decimal

EXAMPLE, BASE_URL, KEY = sys.argv[1:]
BASE_URL = BASE_URL.removesuffix("/v1")


def get(path):
    request = urllib.request.Request(BASE_URL + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def run(cap):
    path = os.path.join(tempfile.mkdtemp(), "found.csv")
    environment = os.environ | {"BASE_URL": BASE_URL, "KEY": KEY}
    before = Decimal(get("/v1/balance")["paid_usd"])
    done = subprocess.run(
        [sys.executable, EXAMPLE, "coffee", path, cap], env=environment, capture_output=True, text=True, check=True
    )
    spent = before - Decimal(get("/v1/balance")["paid_usd"])
    with open(path, newline="", encoding="utf-8") as file:
        return done.stdout, spent, list(csv.DictReader(file))


said, spent, rows = run("0.50")
# Three pages of five on each of three platforms: 0.06, 0.012 and 0.006 USD.
assert spent == Decimal("0.078"), (spent, said)
assert len(rows) == 45, (len(rows), said)
assert {row["search"] for row in rows} == {"kuaishou/search", "instagram/search", "tiktok/search"}
paid = {row["request_id"]: Decimal(row["cost_usd"]) for row in rows}
assert len(paid) == 9 and sum(paid.values()) == spent
for request, cost in paid.items():
    assert Decimal(get(f"/v1/usage/{request}")["paid_usd"]) == cost
assert all(json.loads(row["item"]) for row in rows)

# A cap holds: two pages of the first and what the rest buys of the others.
said, spent, rows = run("0.045")
assert spent <= Decimal("0.045"), (spent, said)
assert "max_usd" in said, said
print(said)
