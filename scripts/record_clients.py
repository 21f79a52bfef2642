#!/usr/bin/env python3
"""Records what opencode and the vendors' SDKs send, for the tests of the field lists.

A `trunkline dev` answers; this stands before it, and writes down every body of the four chat formats. Bodies of the
same shape are kept once. Needs the programs of `just setup` and target/debug/trunkline:

    just record-clients
"""

import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
INSTALLED = pathlib.Path.home() / ".cache/trunkline"
TALKS = REPOSITORY / "crates/app/tests/it/clients/talks"
RECORDED = REPOSITORY / "crates/wire/tests/fixtures/clients"
FORMATS = [
    (re.compile(r"/chat/completions$"), "openai_chat"),
    (re.compile(r"/responses$"), "openai_responses"),
    (re.compile(r"/messages$"), "claude_messages"),
    (re.compile(r":(stream)?[gG]enerateContent$"), "gemini"),
]
PYTHON, NODE = "python", "node"
# Script, who runs it, its client.
SCRIPTS = [
    ("openai_chat.py", PYTHON, "openai_python_chat"),
    ("openai_responses.py", PYTHON, "openai_python_responses"),
    ("anthropic_messages.py", PYTHON, "anthropic_python"),
    ("gemini_content.py", PYTHON, "google_genai_python"),
    ("openai_chat.mjs", NODE, "openai_node_chat"),
    ("openai_responses.mjs", NODE, "openai_node_responses"),
    ("anthropic_messages.mjs", NODE, "anthropic_node"),
    ("gemini_content.mjs", NODE, "google_genai_node"),
]
# Above it a text is cut: what is tested is the shape.
LONGEST_TEXT = 400


class Recorder(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target, self.bodies, self.lock = target, [], threading.Lock()

    def take(self):
        with self.lock:
            taken, self.bodies = self.bodies, []
        return taken


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        path = self.path.split("?")[0]
        for pattern, name in FORMATS:
            if self.command == "POST" and pattern.search(path):
                with self.server.lock:
                    self.server.bodies.append((name, json.loads(body)))
        upstream = http.client.HTTPConnection(self.server.target, timeout=120)
        headers = {key: value for key, value in self.headers.items() if key.lower() != "host"}
        upstream.request(self.command, self.path, body, headers)
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(key, value)
        self.send_header("connection", "close")
        self.end_headers()
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    do_GET = do_POST = do_DELETE = relay


def shape(value):
    """What a body is made of, whatever its texts say."""
    if isinstance(value, dict):
        word = value.get("type"), value.get("role")
        return "{%s %s}" % (word, sorted((key, shape(one)) for key, one in value.items()))
    if isinstance(value, list):
        return "[%s]" % sorted({shape(one) for one in value})
    return type(value).__name__


def cut(value, folder):
    """The same without the machine, and without what is long."""
    if isinstance(value, dict):
        return {key: cut(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [cut(one, folder) for one in value]
    if isinstance(value, str):
        value = value.replace(folder, "/sandbox")
        if len(value) > LONGEST_TEXT and not value.startswith(("resp_", "data:", "{")):
            return value[:LONGEST_TEXT]
    return value


def write(client, version, bodies, folder):
    kept, known = [], set()
    for name, body in bodies:
        if (name, shape(body)) not in known:
            known.add((name, shape(body)))
            kept.append({"format": name, "body": cut(body, folder)})
    assert kept, client
    RECORDED.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"client": client, "version": version, "requests": kept}, indent=1, ensure_ascii=False)
    (RECORDED / f"{client}.json").write_text(text + "\n")
    print(f"{client}: {len(kept)} of {len(bodies)} bodies")


def versions():
    pinned = (REPOSITORY / "scripts/sdk-requirements.txt").read_text()
    python = dict(line.split("==") for line in pinned.splitlines() if "==" in line)
    node = json.loads((REPOSITORY / "scripts/clients-package.json").read_text())["dependencies"]
    return {
        "openai_python_chat": python["openai"],
        "openai_python_responses": python["openai"],
        "anthropic_python": python["anthropic"],
        "google_genai_python": python["google-genai"],
        "openai_node_chat": node["openai"],
        "openai_node_responses": node["openai"],
        "anthropic_node": node["@anthropic-ai/sdk"],
        "google_genai_node": node["@google/genai"],
        "opencode": next(version for name, version in node.items() if name.startswith("opencode")),
    }


def talk(recorder, ready, script, program):
    base = f"http://127.0.0.1:{recorder.server_port}/v1"
    is_gemini = script.startswith("gemini")
    environment = {
        "PATH": f"{INSTALLED}/clients/bin:/usr/bin:/bin",
        "BASE_URL": base,
        "API_KEY": ready["key"],
        "CLIENT_MODEL": "gemini-sim" if is_gemini else "sim-claude",
        "CLIENT_THINKING_MODEL": "gemini-sim" if is_gemini else "sim-claude",
        "CLIENTS": f"{INSTALLED}/clients/npm",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_PROXY": "*",
    }
    run = INSTALLED / ("sdk/venv/bin/python" if program == PYTHON else "clients/bin/node")
    done = subprocess.run([run, TALKS / script], env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        print(f"{script} ended with {done.returncode}: {done.stderr[-400:]}")


def opencode(recorder, ready, folder):
    base = f"http://127.0.0.1:{recorder.server_port}/v1"
    home, project = folder / "home", folder / "project"
    for one in (home / ".config/opencode", project):
        one.mkdir(parents=True)
    (project / "note.txt").write_text("the word is marmalade\n")
    model = "sim-large"
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Trunkline",
        "options": {"baseURL": base, "apiKey": "{env:TRUNKLINE_KEY}"},
        "models": {model: {"name": model, "limit": {"context": 128000, "output": 16384}}},
    }
    settings = {"autoupdate": False, "share": "disabled", "model": f"trunkline/{model}"}
    settings["provider"] = {"trunkline": provider}
    (home / ".config/opencode/opencode.json").write_text(json.dumps(settings))
    environment = {
        "PATH": f"{INSTALLED}/clients/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TERM": "dumb",
        "NO_PROXY": "*",
        "TRUNKLINE_KEY": ready["key"],
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    note = json.dumps({"filePath": str(project / "note.txt")}, separators=(",", ":"))
    count = json.dumps({"command": "wc -l < note.txt", "description": "count"})
    command = [INSTALLED / "clients/bin/opencode", "run", "--format", "json"]
    for extra, prompt in [
        ([], f"Read the note. [[call:read {note}]] [[call:bash {count}]]"),
        (["--continue"], "Now say it again."),
    ]:
        call = [*command, *extra, "--", *prompt.split(" ")]
        quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 300}
        done = subprocess.run(call, env=environment, cwd=project, **quiet)
        if done.returncode != 0:
            print(f"opencode ended with {done.returncode}: {done.stderr[-400:]}")


def main():
    dev = ["dev", "--ephemeral", "--json", "--simulated", "--exit-on-eof", "--config", "/dev/null"]
    command = [REPOSITORY / "target/debug/trunkline", *dev]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        ready = json.loads(process.stdout.readline())
        recorder = Recorder(ready["base_url"].removeprefix("http://"))
        threading.Thread(target=recorder.serve_forever, daemon=True).start()
        pinned = versions()
        only = os.environ.get("ONLY", "")
        for script, program, client in SCRIPTS:
            if only in client:
                talk(recorder, ready, script, program)
                write(client, pinned[client], recorder.take(), "/nowhere")
        with tempfile.TemporaryDirectory() as folder:
            if only in "opencode":
                opencode(recorder, ready, pathlib.Path(folder))
                write("opencode", pinned["opencode"], recorder.take(), folder)
        process.stdin.close()


if __name__ == "__main__":
    main()
