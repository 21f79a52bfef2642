"""Does what the page about quotes tells its readers to do, and looks whether it says the truth."""

import json
import re
import sys
import urllib.error
import urllib.request

PAGE, BASE_URL, KEY = sys.argv[1:]
page = open(PAGE, encoding="utf-8").read().replace("{{model}}", "sim-fast")


def post(path, body, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named |= {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(BASE_URL + path, json.dumps(body).encode(), named)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, dict(answer.headers), json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), json.load(error)


asked = json.loads(re.search(r"-d '\n(.*?)'\n```", page, re.S).group(1))
status, _, quote = post("/quotes", asked)
assert status == 200, quote
table = page[page.index("| Field |"):].split("\n\n")[0]
rows = [row.split("|")[1] for row in table.splitlines()[2:] if row.startswith("|")]
names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
assert len(names) > 12 and all(name in quote for name in names), names
assert {note["field"] for note in quote["fields"]} >= set(asked["body"])
least, likely, most = (float(quote[f"{word}_usd"]) for word in ("minimum", "expected", "maximum"))
assert least <= likely <= most, quote

body = asked["body"]
shuffled = dict(reversed(body.items()))
status, headers, _ = post("/chat/completions", shuffled, trunkline_quote=quote["id"])
assert status == 200 and least <= float(headers["trunkline-cost-usd"]) <= most, headers
other = body | {"max_completion_tokens": 51}
status, _, said = post("/chat/completions", other, trunkline_quote=quote["id"])
assert (status, said["error"]["code"]) == (409, "quote_mismatch"), said

status, _, said = post("/chat/completions", body, trunkline_max_cost_usd="0.000001")
assert (status, said["error"]["code"]) == (402, "max_cost_exceeded"), said
assert "max_tokens_affordable" in said["error"], said

mistyped = body | {"temprature": 1}
status, _, said = post("/chat/completions", mistyped, trunkline_strict="true")
assert (status, said["error"]["code"], said["error"]["param"]) == (400, "unknown_field", "temprature"), said
assert "`temperature`" in said["error"]["message"] and said["error"]["charged"] is False, said
print(f"{len(names)} fields of a quote are as the page says")
