"""Other gateways that install from a package registry, each with its documented settings for production, one worker.

LiteLLM and TensorZero are installed and configured as in scripts/gateway-check; only the upstream's address and model
are this run's. What each one does for a call is told here, because a page of figures means nothing without it.
"""

import json
import os
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

from bench_load import resident
from bench_parts import GATEWAY_CORE, MODEL, free_port, run, say, wait_for_port

CHECK = Path(__file__).resolve().parent / "gateway-check"
PORTKEY = "1.15.2"
KEY = "sk-bench"
# LiteLLM imports for half a minute on a slow core.
START_SECONDS = 180
SIMULATOR, SIMULATED_MODEL = "127.0.0.1:9100", "sim-think-prose"

# What no run here can tell, and why.
NOT_MEASURED = [
    ("LiteLLM with its database", "its client for PostgreSQL (Prisma) downloads an engine from the vendor's host, which is no package registry; with the database LiteLLM also checks virtual keys and writes spend, in batches after the answer"),
    ("TensorZero with its database", "the tables in PostgreSQL are made by a command of the standalone gateway, a container image, which the Python package does not have; its other store is `clickhouse-server`, of which Debian has a version of 2018"),
    ("new-api", "published as a container image and as source in Go, not in a registry that was used here (PyPI, npm, crates.io, Debian)"),
    ("Bifrost", "its npm package downloads an executable from the vendor's host"),
    ("Portkey's hosted gateway, OpenRouter", "hosted services: another machine and a network between"),
]


def installed(scratch):
    """Installs what is missing. Returns the Python environment and the folder of npm's packages."""
    say("installing LiteLLM, TensorZero and Portkey, where they are missing")
    environment = Path(run([CHECK / "install"]).strip())
    modules = scratch / "portkey"
    facts = modules / "node_modules/@portkey-ai/gateway/package.json"
    if not facts.exists() or json.loads(facts.read_text())["version"] != PORTKEY:
        modules.mkdir(exist_ok=True)
        run(["npm", "install", "--silent", "--ignore-scripts", "--prefix", modules, f"@portkey-ai/gateway@{PORTKEY}"])
    return environment, modules


def version(environment, package):
    return run([environment / "bin/python", "-c", f"from importlib.metadata import version; print(version('{package}'))"]).strip()


def python_of(environment):
    """Which Python runs a peer: one that is not optimised would be the machine's fault, not the peer's."""
    said = run([environment / "bin/python", "-c", "import platform, sys; print(platform.python_version(), sys.base_prefix)"]).split()
    return f"Python {said[0]} {'of the distribution' if said[1] == '/usr' else 'built here'}"


def configured(parts, name):
    """A configuration of the gateway check, with the mock as its upstream."""
    text = (CHECK / name).read_text().replace(SIMULATOR, f"127.0.0.1:{parts.mock_port}").replace(SIMULATED_MODEL, MODEL)
    path = parts.folder / name
    path.write_text(text)
    return path


def profile(name):
    """How a client names the model, and the path that it calls."""
    facts = tomllib.loads((CHECK / name).read_text())
    return {"model": facts["models"]["chat"], "path": facts["formats"]["chat"] or "/v1/chat/completions"}


def wait_for_log(path, beginning, what):
    """The rest of the first line of a log that begins so."""
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        for line in path.read_text().splitlines():
            if line.startswith(beginning):
                return line.removeprefix(beginning).strip()
        time.sleep(0.2)
    raise SystemExit(f"bench: {what} has not started:\n{path.read_text()[-2000:]}")


def start_litellm(parts, environment):
    port = free_port()
    secrets = {"UPSTREAM_KEY": KEY, "LITELLM_MASTER_KEY": KEY}
    settings = {"LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}
    process = parts.start("litellm", GATEWAY_CORE, [
        environment / "bin/litellm", "--config", configured(parts, "litellm.yaml"), "--host", "127.0.0.1", "--port", port,
        "--num_workers", 1], env={**os.environ, **secrets, **settings})
    wait_for_port(port, "LiteLLM", START_SECONDS)
    return {
        "name": "litellm", "label": "LiteLLM", "pid": process.pid, "addr": f"127.0.0.1:{port}", "key": KEY, **profile("litellm.toml"),
        "version": version(environment, "litellm"), "source": "PyPI, `litellm[proxy]`",
        "settings": f"{python_of(environment)}, one Uvicorn worker with uvloop, `LITELLM_LOG=ERROR`, `LITELLM_MODE=PRODUCTION`, no callbacks, no retries, with the packages `opentelemetry-sdk` and `prisma`, whose absence costs a failed import in every call, its beta core in Rust off (it does not cover chat completions to an upstream of OpenAI's format); `scripts/gateway-check/litellm.yaml`",
        "does": "compares the key with its master key; parses request and answer; computes the cost, returns it in a header and in a stream's usage",
        "stores": "nothing. Without a database it counts spend in memory only and holds no balance; there are no virtual keys and no usage rows",
    }


def start_tensorzero(parts, environment):
    """The gateway runs inside a Python process, so what such a process takes without it is measured first."""
    python = environment / "bin/python"
    bare = parts.start("tensorzero-python", GATEWAY_CORE, [
        python, "-c", "import tensorzero, openai, time; openai.OpenAI(api_key='unused'); print('imported', flush=True); time.sleep(600)"])
    wait_for_log(parts.folder / "tensorzero-python.log", "imported", "Python with TensorZero's package")
    interpreter = resident(bare.pid)
    bare.terminate()
    bare.wait()
    process = parts.start("tensorzero", GATEWAY_CORE, [python, CHECK / "tensorzero_gateway.py", configured(parts, "tensorzero.config.toml")],
                          env={**os.environ, "UPSTREAM_KEY": KEY})
    address = wait_for_log(parts.folder / "tensorzero.log", "address http://", "TensorZero's gateway")
    return {
        "name": "tensorzero", "label": "TensorZero", "pid": process.pid, "addr": address, "key": KEY, **profile("tensorzero.toml"),
        "version": version(environment, "tensorzero"), "source": "PyPI, `tensorzero`", "interpreter_mb": interpreter,
        "settings": "the gateway inside the Python package (an HTTP server in Rust), observability off; `scripts/gateway-check/tensorzero.config.toml`",
        "does": "no key; parses request and answer, gives the answer an id of its own; computes the cost into the usage",
        "stores": "nothing. Observability, keys and rate limits need a database",
    }


def start_portkey(parts, modules):
    """An answer of Portkey's has the provider and its address named by the caller, in headers."""
    node = shutil.which("node")
    if not node:
        raise SystemExit("bench: Portkey's gateway needs node; `just setup` installs it")
    port = free_port()
    program = modules / "node_modules/@portkey-ai/gateway/build/start-server.js"
    process = parts.start("portkey", GATEWAY_CORE, [node, program, "--headless", f"--port={port}"],
                          env={**os.environ, "NODE_ENV": "production"})
    wait_for_port(port, "Portkey's gateway")
    node_version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "name": "portkey", "label": "Portkey (open source)", "pid": process.pid, "addr": f"127.0.0.1:{port}", "key": KEY, "model": MODEL,
        "headers": ["x-portkey-provider: openai", f"x-portkey-custom-host: http://127.0.0.1:{parts.mock_port}/v1"],
        "version": PORTKEY, "source": "npm, `@portkey-ai/gateway`",
        "settings": f"one process of Node {node_version.removeprefix('v')}, `--headless`, `NODE_ENV=production`; provider and address in the caller's headers, as its documentation has it",
        "does": "no key of its own: the caller's goes to the provider; parses request and answer; no cost",
        "stores": "nothing. Keys, budgets and logs are in its hosted service",
    }


def ours_and_plain(parts, hyper, nginx, trunkline, version_of_nginx):
    """What the page says of the two programs that only pass bytes on, and of ourselves."""
    passes = {"does": "passes bytes on; reads no body, knows no key", "stores": "nothing"}
    return [
        {**hyper, "label": "bare proxy on hyper", "version": "1", "source": "the harness", "settings": "one thread", **passes},
        {**nginx, "label": "nginx", "version": version_of_nginx, "source": "Debian", "settings": "one worker, no log", **passes},
        {**trunkline, "label": "Trunkline", "version": run([parts.trunkline, "--version"]).split()[1], "source": "this repository",
         "settings": "`trunkline serve` with every role, its defaults; limits of the key raised; PostgreSQL with its defaults (`fsync` and `synchronous_commit` on)",
         "does": "looks the key up; quotes and holds the maximum; parses request and answer; settles before the last byte; one access log line",
         "stores": "two durable commits a call in PostgreSQL, the hold and the charge, and a usage row with its price; batches of calls share a commit"},
    ]
