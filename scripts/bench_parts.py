"""The parts of a speed run: what they are built from, how each is started, and that all of them end.

Nothing here measures. Every process is started by us, in its own group, and ended by its number.
"""

import json
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from bench_bodies import teach, write_answers, write_bodies

MODEL = "gpt-4o-mini"
# Served by the mock that speaks Anthropic's format.
CLAUDE = "claude-bench"
GATEWAY_CORE, OTHER_CORE = "0", "1"
READY_SECONDS = 60
# Two sockets for each of a thousand streams, and some more.
OPEN_FILES = 16_384

PRICES = """
auto_groups = ["default"]
[groups.default]
rate = "1"
""" + "".join(f"""
[models.{model}]
groups = ["default"]
created = 1700000000
specs = {{ type = "llm", max_output_tokens = 16384 }}
[models.{model}.prices]
billing_unit = "tokens"
standard = {{ input = 150000, output = 600000, cache_read = 75000 }}
""" for model in (MODEL, CLAUDE))


def say(text):
    print(f"bench: {text}", flush=True)


def run(command, **more):
    """Runs a command to its end; its words are shown if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port, what, seconds=READY_SECONDS):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"bench: {what} does not listen on {port}")


def build_harness(source, scratch):
    """The harness, copied out of its place and built in release."""
    if not (source / "measure.py").is_file():
        raise SystemExit(f"bench: no harness in {source}; set BENCH_HARNESS to its folder")
    home = scratch / "harness"
    # Times are kept, so that a second run builds nothing.
    shutil.copytree(source, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", "run", "Cargo.lock"))
    (home / "run").mkdir(exist_ok=True)
    teach(home)
    say("building the harness")
    bins = [word for name in ("mock_any", "load_any", "hyper_proxy") for word in ("--bin", name)]
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--manifest-path", home / "Cargo.toml", *bins],
        env={**os.environ, "CARGO_TARGET_DIR": str(scratch / "target")}, check=True,
    )
    return home, scratch / "target/release"


def build_trunkline(repository):
    """The gateway as it is shipped."""
    say("building trunkline with the profile dist")
    subprocess.run(["cargo", "build", "--profile", "dist", "--quiet", "--locked", "-p", "trunkline-app"], cwd=repository, check=True)
    facts = run(["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"], cwd=repository)
    return Path(json.loads(facts)["target_directory"]) / "dist/trunkline"


def find_nginx(scratch):
    """The system's nginx, or the one of Debian's package, unpacked beside the harness and not installed."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found:
        return found
    unpacked = scratch / "nginx/usr/sbin/nginx"
    if not unpacked.exists():
        say("unpacking Debian's nginx")
        with tempfile.TemporaryDirectory() as folder:
            run(["apt-get", "download", "nginx"], cwd=folder)
            package = next(Path(folder).glob("nginx_*.deb"))
            run(["dpkg-deb", "-x", package, scratch / "nginx"])
    return str(unpacked)


class Parts:
    """Everything that runs, started in order and ended in reverse."""

    def __init__(self, harness, programs, nginx, trunkline, counted=False):
        self.harness, self.programs = harness, programs
        self.nginx_program, self.trunkline = nginx, Path(trunkline).resolve()
        # On disk, not in memory: a flush that costs nothing would flatter us.
        self.folder = Path(tempfile.mkdtemp(prefix="trunkline-bench-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.started, self.postgres = [], None
        # Instructions are counted in the proxies; everything else runs as it is.
        self.counter = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/callgrind.%p"] if counted else []
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            if process.poll() is None:
                # To PostgreSQL this word means: now, and without waiting for clients.
                process.send_signal(signal.SIGINT if process is self.postgres else signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, core, command, **more):
        log = open(self.folder / f"{name}.log", "ab")
        more.setdefault("stdout", log)
        process = subprocess.Popen(
            ["taskset", "-c", core, *map(str, command)], stdin=subprocess.DEVNULL, stderr=log,
            start_new_session=True, **more,
        )
        self.started.append(process)
        return process

    def start_mock(self):
        """The upstream of all, and beside it one that speaks Anthropic's format."""
        self.mock_port, self.claude_port = free_port(), free_port()
        self.bodies = write_bodies(self.folder / "bodies")
        answers, self.claude_events = write_answers(self.folder / "answers")
        self.start("mock", OTHER_CORE, [self.programs / "mock_any", f"127.0.0.1:{self.mock_port}"])
        self.start("claude", OTHER_CORE, [self.programs / "mock_any", f"127.0.0.1:{self.claude_port}", answers])
        wait_for_port(self.mock_port, "the mock")
        wait_for_port(self.claude_port, "the mock of Anthropic")
        return f"127.0.0.1:{self.mock_port}"

    def use_mock_of(self, other):
        """The upstreams that another run has started."""
        self.mock_port, self.claude_port, self.claude_events = other.mock_port, other.claude_port, other.claude_events

    def start_hyper(self):
        port = free_port()
        command = [*self.counter, self.programs / "hyper_proxy", f"127.0.0.1:{port}", f"127.0.0.1:{self.mock_port}"]
        process = self.start("hyper", GATEWAY_CORE, command)
        wait_for_port(port, "the bare proxy")
        return {"name": "hyper-bare", "pid": process.pid, "addr": f"127.0.0.1:{port}"}

    def start_nginx(self):
        """The harness's own configuration, on ports that are free."""
        whole, events = free_port(), free_port()
        text = (self.harness / "conf/nginx.conf").read_text()
        for theirs, ours in ((8101, whole), (8102, events), (9001, self.mock_port)):
            text = text.replace(f"127.0.0.1:{theirs}", f"127.0.0.1:{ours}")
        home = self.folder / "nginx"
        (home / "run").mkdir(parents=True)
        (home / "nginx.conf").write_text(text)
        home.chmod(0o755), (home / "run").chmod(0o777)
        command = [self.nginx_program, "-p", home, "-e", home / "run/first.err", "-c", home / "nginx.conf", "-g", "daemon off;"]
        process = self.start("nginx", GATEWAY_CORE, command)
        wait_for_port(whole, "nginx")
        return {"name": "nginx", "pid": process.pid, "addr": f"127.0.0.1:{whole}", "sse_addr": f"127.0.0.1:{events}"}

    def start_postgres(self):
        """A cluster of its own with PostgreSQL's defaults: every commit is flushed."""
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
        if not versions:
            raise SystemExit("bench: PostgreSQL is not installed; `just setup` installs it")
        programs = versions[-1].parent
        home = self.folder / "postgres"
        home.mkdir()
        as_owner = []
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(home, owner.pw_uid, owner.pw_gid)
            as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        data = home / "data"
        run([*as_owner, programs / "initdb", f"--pgdata={data}", "--username=trunkline", "--auth=trust",
             "--encoding=UTF8", "--locale=C", "--no-instructions"], cwd=home)
        port = free_port()
        # `exec` chains from taskset to the postmaster, so this process is the postmaster.
        process = self.start("postgres", OTHER_CORE, [
            *as_owner, programs / "postgres", "-D", data, "-p", port,
            "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="], cwd=home)
        wait_for_port(port, "PostgreSQL")
        self.postgres, self.psql = process, programs / "psql"
        self.database = f"postgres://trunkline@127.0.0.1:{port}/postgres?sslmode=disable"
        self.database_port = port
        return process

    def command(self, *words, **more):
        """One command of trunkline, answered in JSON."""
        said = run([self.trunkline, *words, "--json", "--config", "/dev/null"],
                   cwd=self.folder, env={**os.environ, **self.environment, **more})
        return json.loads(said.strip().splitlines()[-1])

    def start_trunkline(self):
        """A node with a customer who has money, a key, and a channel that leads to each mock."""
        port, admin = free_port(), free_port()
        self.environment = {
            "TRUNKLINE__DATABASE__URL": self.database,
            "TRUNKLINE__EDGE__LISTEN": f"127.0.0.1:{port}",
            "TRUNKLINE__CONSOLE__LISTEN": "127.0.0.1:0",
            "TRUNKLINE__ADMIN__LISTEN": f"127.0.0.1:{admin}",
            "TRUNKLINE__EDGE__DRAIN_SECONDS": "2",
            "TRUNKLINE__EDGE__NOTICE_SECONDS": "0",
            # One key calls as fast as it can.
            "TRUNKLINE__LIMITS__REQUESTS_PER_MINUTE": "1000000000",
            "TRUNKLINE__LIMITS__CONCURRENT_CALLS": "1000000000",
            "TRUNKLINE__KEYRING__FILE": "keyring.toml",
        }
        (self.folder / "prices.toml").write_text(PRICES)
        self.command("migrate")
        self.command("catalog", "import", str(self.folder / "prices.toml"))
        self.command("keyring", "generate")
        account = self.command("account", "create", "--name", "Bench")["account"]["id"]
        self.command("topup", str(account), "1000000")
        key = self.command("key", "create", str(account), "--name", "bench")["key"]
        for name, provider, mock, model in (("mock", "openai_compatible", self.mock_port, MODEL),
                                            ("claude", "anthropic", self.claude_port, CLAUDE)):
            self.command("channel", "add", "--name", name, "--provider", provider,
                         "--base-url", f"http://127.0.0.1:{mock}/v1", "--key-env", "BENCH_CREDENTIAL",
                         "--model", model, BENCH_CREDENTIAL="sk-bench")
        self.account, self.admin = account, f"http://127.0.0.1:{admin}"
        self.access_log = self.folder / "trunkline.log"
        process = self.start(
            "trunkline", GATEWAY_CORE, [*self.counter, self.trunkline, "serve", "--json", "--config", "/dev/null"],
            cwd=self.folder, env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL)
        wait_for_port(port, "trunkline")
        self.wait_ready()
        return {"name": "trunkline", "pid": process.pid, "addr": f"127.0.0.1:{port}", "key": key, "model": MODEL,
                "extra_pid": self.postgres.pid}

    def translated(self, target):
        """The same node, asked in other formats. Each is called by the caller's format and the upstream's."""
        version = ["anthropic-version: 2023-06-01"]
        return [
            {**target, "name": "messages>chat", "path": "/v1/messages", "headers": version},
            {**target, "name": "responses>chat", "path": "/v1/responses"},
            {**target, "name": "chat>messages", "model": CLAUDE, "upstream_events": self.claude_events},
            {**target, "name": "messages>messages", "path": "/v1/messages", "headers": version, "model": CLAUDE,
             "upstream_events": self.claude_events},
        ]

    def wait_ready(self):
        ends = time.monotonic() + READY_SECONDS
        while time.monotonic() < ends:
            try:
                if urllib.request.urlopen(f"{self.admin}/readyz", timeout=2).status == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"bench: trunkline is not ready; see {self.access_log}")

    def instructions(self, pid, work):
        """User-space instructions of a counted process while some work is done."""
        run(["callgrind_control", "-z", str(pid)])
        work()
        run(["callgrind_control", "-d", str(pid)])
        newest = max(self.folder.glob(f"callgrind.{pid}.*"), key=lambda path: int(path.suffix[1:]))
        self.profiles.mkdir(exist_ok=True)
        shutil.copy(newest, self.profiles)
        say(f"profile: callgrind_annotate {self.profiles / newest.name}")
        totals = [line for line in newest.read_text().splitlines() if line.startswith(("summary:", "totals:"))]
        return int(totals[-1].split()[1])

    def query(self, statement):
        """The rows of one statement, each a list of texts."""
        said = run([self.psql, self.database, "--no-psqlrc", "--tuples-only", "--no-align", "--field-separator=\t",
                    "--set=ON_ERROR_STOP=1", f"--command={statement}"])
        return [line.split("\t") for line in said.splitlines() if line]

    def books(self):
        """What the books say at the end: calls charged, and whether the audit is content."""
        shown = self.command("account", "show", str(self.account))
        audit = self.command("audit")
        return {"balance": shown["balance"], "audit": audit}
