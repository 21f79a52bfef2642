"""The configuration of the page about one server, in the real nginx.

nginx.py check FILE        looks at it, as `nginx -t` does
nginx.py walk FACTS        runs the one that an installation serves in its page, and goes through it as customers do

What is changed, and nothing else: ports, since the page's are the machine's own, and where certificates lie.
"""

import http.client
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import operator_pages

NGINX = "/usr/sbin/nginx"


def certificate(folder):
    """A self-made one for both names."""
    key, chain = folder / "privkey.pem", folder / "fullchain.pem"
    names = "subjectAltName=DNS:api.example.com,DNS:console.example.com"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=api.example.com", "-addext", names, "-keyout", str(key), "-out", str(chain)],
        check=True, capture_output=True, timeout=60,
    )
    return key, chain


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def whole(page, folder, ports):
    """The page's configuration inside what Debian puts around it."""
    key, chain = certificate(folder)
    tls, plain, edge, console = ports
    text = page
    changes = [
        (r"/etc/letsencrypt/live/[\w.]+/fullchain\.pem", str(chain)),
        (r"/etc/letsencrypt/live/[\w.]+/privkey\.pem", str(key)),
        (r"listen 443 ", f"listen 127.0.0.1:{tls} "),
        (r"listen 80;", f"listen 127.0.0.1:{plain};"),
        (r"server 127\.0\.0\.1:8080;", f"server {edge};"),
        (r"server 127\.0\.0\.1:8081;", f"server {console};"),
    ]
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text)
        if not count:
            raise SystemExit(f"the page's configuration has no {pattern}")
    temporary = "".join(
        f"    {name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.getuid() == 0 else ""
    return (
        f"{user}daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log info;\nworker_processes 1;\n"
        f"events {{ worker_connections 256; }}\nhttp {{\n    access_log {folder}/access.log;\n{temporary}{text}\n}}\n"
    )


class Front:
    """An nginx before an installation, spoken to by its names over TLS."""

    def __init__(self, page, folder, facts):
        self.facts = facts
        self.port, self.plain_port = free_port(), free_port()
        host = lambda url: url.split("//")[1].split("/")[0]
        ports = (self.port, self.plain_port, host(facts["base_url"]), host(facts["dash_url"]))
        path = folder / "nginx.conf"
        path.write_text(whole(page, folder, ports))
        self.process = subprocess.Popen([NGINX, "-c", str(path), "-e", str(folder / "first.log")])
        self.context = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
        self.key = facts["key"]
        wait(lambda: self.ask("api", "GET", "/readyz").status == 200, "nginx answers")

    def connect(self, name):
        """A connection by a name, as if the name led here."""
        connection = http.client.HTTPSConnection(f"{name}.example.com", self.port, context=self.context, timeout=120)
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        connection.sock = self.context.wrap_socket(plain, server_hostname=f"{name}.example.com")
        return connection

    def ask(self, name, method, path, body=None, headers=None, key=None):
        sent = {"authorization": f"Bearer {key or self.key}"} | (headers or {})
        if isinstance(body, dict):
            body, sent["content-type"] = json.dumps(body), "application/json"
        connection = self.connect(name)
        connection.request(method, path, body, sent)
        return connection.getresponse()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def wait(holds, what):
    ends = time.monotonic() + 60
    while True:
        try:
            if holds():
                return
        except OSError:
            pass
        if time.monotonic() > ends:
            raise SystemExit(f"in vain: {what}")
        time.sleep(0.1)


def check(holds, *facts):
    if not holds:
        raise AssertionError(facts)


def streams(front):
    """The first piece is here long before the last one is made."""
    prompt = "[[tokens:12]] [[pace:250]]"
    body = {"model": "gpt-5-mini", "stream": True, "messages": [{"role": "user", "content": prompt}]}
    began = time.monotonic()
    answer = front.ask("api", "POST", "/v1/chat/completions", body)
    check(answer.status == 200, answer.status)
    first = None
    text = b""
    while piece := answer.read1(65536):
        text += piece
        if first is None and b"Hello!" in text:
            first = time.monotonic() - began
    last = time.monotonic() - began
    check(b"data: [DONE]" in text and b": trunkline-cost-usd=" in text, text[-300:])
    # Twelve pieces of 250 ms: held back by a proxy, both moments would be one.
    check(first is not None and last - first > 1.5, first, last)


def follows(front):
    """Events come as they happen, on a connection that stays open."""
    connection = front.connect("api")
    connection.request("GET", "/v1/events", headers={"authorization": f"Bearer {front.key}"})
    events = connection.getresponse()
    check(events.status == 200, events.status)
    text = events.read1(65536)
    check(text.startswith(b": trunkline events"), text)
    video = {"model": "wan2.7-t2v", "prompt": "a cat", "size": "1280*720", "duration": 5}
    made = front.ask("api", "POST", "/v1/videos", video)
    task = json.load(made)["id"].encode()
    while b"task.completed" not in text:
        piece = events.read1(65536)
        check(piece, "the stream ended", text)
        text += piece
    check(task in text, text)


def uploads(front):
    """A recording goes through as it comes; the size that is documented fits, and a larger one is refused by nginx."""
    seconds, rate, channels, width = 50, 192_000, 2, 4
    data = seconds * rate * channels * width
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + data, b"WAVE", b"fmt ", 16, 1, channels, rate, rate * channels * width,
        channels * width, width * 8, b"data", data,
    )
    mark = "cut"
    fields = (
        f'--{mark}\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n'
        f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="long.wav"\r\n'
        "content-type: audio/wav\r\n\r\n"
    ).encode()
    end = f"\r\n--{mark}--\r\n".encode()

    def send(length, pieces):
        connection = front.connect("api")
        connection.putrequest("POST", "/v1/audio/transcriptions")
        connection.putheader("authorization", f"Bearer {front.key}")
        connection.putheader("content-type", f"multipart/form-data; boundary={mark}")
        connection.putheader("content-length", str(length))
        connection.endheaders()
        for piece in pieces:
            connection.send(piece)
        return connection

    silence = bytes(1_000_000)
    rest = data
    pieces = [fields, head]
    while rest:
        pieces.append(silence[:rest])
        rest -= len(pieces[-1])
    whole_form = len(fields) + len(head) + data + len(end)
    check(whole_form > 75_000_000)
    answer = send(whole_form, [*pieces, end]).getresponse()
    said = answer.read()
    check(answer.status == 200, answer.status, said[:500])
    check(json.loads(said)["usage"]["seconds"] == seconds, said)
    # Two gigabytes are let in: no refusal came after the first millions of it.
    started = send(2_000_001_000, [fields, head, *[silence] * 5])
    started.sock.settimeout(2)
    try:
        early = started.sock.recv(4096)
        raise AssertionError(early)
    except TimeoutError:
        started.close()
    refused = send(2_300_000_000, [fields]).getresponse()
    check(refused.status == 413, refused.status)


def addresses(front):
    """Who calls is who nginx says, and not who the caller says."""
    def key_of(network):
        rule = {"name": f"from {network}", "addresses": [network]}
        made = front.ask("api", "POST", "/v1/keys", rule)
        said = json.load(made)
        check(made.status == 201, said)
        return said["key"]

    elsewhere = key_of("203.0.113.9/32")
    forged = {"x-forwarded-for": "203.0.113.9", "forwarded": "for=203.0.113.9", "x-real-ip": "203.0.113.9"}
    answer = front.ask("api", "GET", "/v1/models", headers=forged, key=elsewhere)
    said = json.load(answer)
    check(answer.status == 403 and said["error"]["code"] == "ip_not_allowed", said)
    # The same header from nginx itself is believed: without one in between, the trusted peer decides.
    direct = urllib.request.Request(f"{front.facts['base_url']}/v1/models", headers={**forged, "authorization": f"Bearer {elsewhere}"})
    check(urllib.request.urlopen(direct, timeout=60).status == 200)
    here = key_of("127.0.0.1/32")
    check(front.ask("api", "GET", "/v1/models", headers=forged, key=here).status == 200)


def people(front):
    """The console and its pages are behind their own name; plain HTTP leads to TLS."""
    page = front.ask("console", "GET", "/docs/rate-limits", headers={"accept-encoding": "identity"})
    text = page.read()
    check(page.status == 200 and b"x-ratelimit-limit-requests" in text, page.status)
    check("max-age" in page.getheader("strict-transport-security"))
    check("script-src 'self'" in page.getheader("content-security-policy"), page.getheaders())
    small = front.ask("console", "GET", "/docs/assets/docs.css", headers={"accept-encoding": "gzip"})
    check(small.status == 200 and small.getheader("content-encoding") == "gzip", small.getheaders())
    session = front.ask("console", "GET", "/api/session")
    check(session.status == 200, session.status)
    plain = http.client.HTTPConnection("127.0.0.1", front.plain_port, timeout=60)
    plain.request("GET", "/v1/models", headers={"host": "api.example.com"})
    led = plain.getresponse()
    check(led.status == 301 and led.getheader("location") == "https://api.example.com/v1/models", led.getheaders())


def walk(facts):
    page = operator_pages.opener(facts).open(f"{facts['dash_url']}/docs/single-server.md", timeout=60).read().decode()
    configuration = re.search(r"^```nginx\n(.*?)^```$", page, re.M | re.S)[1]
    with tempfile.TemporaryDirectory(prefix="trunkline-nginx-") as folder:
        front = Front(configuration, Path(folder), facts)
        try:
            for step in (streams, follows, uploads, addresses, people):
                began = time.monotonic()
                step(front)
                print(f"{step.__name__}: {time.monotonic() - began:.1f} s", flush=True)
        finally:
            front.stop()


def main():
    if sys.argv[1] == "walk":
        return walk(json.loads(sys.argv[2]))
    page = Path(sys.argv[2]).read_text()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nginx.conf"
        path.write_text(whole(page, Path(folder), (8443, 8008, "127.0.0.1:8080", "127.0.0.1:8081")))
        subprocess.run([NGINX, "-t", "-q", "-c", str(path), "-e", f"{folder}/first.log"], check=True, timeout=60)
    return None


main()
