"""Reads the documentation of a running `trunkline dev` as an operator who is signed in: customers get no such page."""

import http.cookiejar
import json
import urllib.request


def opener(facts):
    """Opens addresses with the session of the link that `trunkline dev` printed."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    signed_in = urllib.request.build_opener(jar)
    _, token = facts["console_link"].split("#", 1)
    asked = urllib.request.Request(
        f"{facts['dash_url']}/api/session/dev",
        data=json.dumps({"token": token}).encode(),
        headers={"content-type": "application/json", "origin": facts["dash_url"], "x-trunkline-console": "1"},
    )
    signed_in.open(asked, timeout=60).close()
    return signed_in
