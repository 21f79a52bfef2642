"""Searches three platforms for one word and writes what they found into one CSV file.

    BASE_URL=http://127.0.0.1:8080 KEY=sk-tl-… python3 social_csv.py coffee found.csv 0.10

The last argument is the most that may be spent, in USD. Every page is paid for when it arrives, so the file
and the bill always agree. Nothing but Python's own library is needed.
"""

import csv
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal

# What each platform calls the word, and where its list lies in `data`.
SEARCHES = {
    "kuaishou/search": ("keyword", ["mixFeeds"]),
    "instagram/search": ("keyword", ["data", "items"]),
    "tiktok/search": ("keyword", ["data"]),
}
MAX_PAGES = 3


def pages(base_url, key, search, params):
    """Yields the lines of a paged search as they come; the last one says why it ended."""
    query = urllib.parse.urlencode(params)
    request = urllib.request.Request(
        f"{base_url}/v1/social/{search}/pages?{query}", headers={"authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            yield json.loads(line)


def items(data, way):
    for step in way:
        data = data.get(step, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, list) else []


def main(word, path, cap):
    base_url, key = os.environ["BASE_URL"], os.environ["KEY"]
    left = Decimal(cap)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["search", "page", "request_id", "cost_usd", "item"])
        for search, (name, way) in SEARCHES.items():
            params = {name: word, "max_pages": MAX_PAGES, "max_usd": left}
            try:
                for line in pages(base_url, key, search, params):
                    if line["object"] == "social.end":
                        print(f"{search}: {line['pages']} pages, {line['cost_usd']} USD, {line['reason']}")
                        break
                    left -= Decimal(line["cost_usd"])
                    for item in items(line["data"], way):
                        about = [search, line["page"], line["request_id"], line["cost_usd"]]
                        rows.writerow([*about, json.dumps(item, ensure_ascii=False)])
            except urllib.error.HTTPError as error:
                told = json.load(error)["error"]
                print(f"{search}: {told['code']}: {told['message']}")
    print(f"{Decimal(cap) - left} USD spent, {left} left")


if __name__ == "__main__":
    main(*sys.argv[1:])
