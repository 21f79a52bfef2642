# The one entry point. CI calls only these recipes, so a laptop and CI cannot differ.

set shell := ["bash", "-euo", "pipefail", "-c"]
export PATH := env("HOME") + "/.cache/trunkline/tools/bin:" + env("PATH")

# What is built here is linted while it is compiled, and a warning is an error.
export RUSTC_WORKSPACE_WRAPPER := justfile_directory() / "scripts/rustc-lint"
export CLIPPY_ARGS := "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"

# List the recipes.
default:
    @just --list --unsorted

# Install what build and tests need; quick when it is there.
setup:
    ./scripts/setup

# Everything that reads the code without running it.
check: fmt-check lint deny tidy conformance-check nightly-check alerts-check web-check

# The console's pages, built into web/dist, from where the executable takes them.
web:
    cd web && npm run --silent build

# Everything on this machine, with pages: `just dev` and open the link that it prints.
dev *words: web
    cargo run --locked -p trunkline-app -- dev {{ words }}

# Types, lints and unit tests of the pages; the types made of the OpenAPI document; the size of first loads.
web-check:
    cd web && npm run --silent types:check && npm run --silent check && npm run --silent test && npm run --silent build && npm run --silent budget

# Writes the OpenAPI document of the handlers and the types of the pages anew.
web-types:
    UPDATE=1 cargo nextest run --workspace --locked -E 'package(trunkline-console) & test(document_is_the_one_that_pages_are_built_of)'
    cd web && npm run --silent types

# Every page in every state, both themes and widths: pictures and contact sheets in web/out, overflow, accessibility.
web-screens *words: web
    node web/e2e/screenshots.mjs {{ words }}

# The usual state of every page by a clock that runs: no picture, but a page that draws or asks without end fails.
web-idle *words: web
    node web/e2e/screenshots.mjs --clock real {{ words }}

# The top tasks in a browser against `trunkline dev`, both themes and widths, by mouse and by keyboard; those of an operator in both languages too; then isolation between tenants, and every page of the documentation.
web-e2e: web build
    node web/e2e/gate.mjs --full

# For the gate: every page in every state once, by a clock that runs; the top tasks in one theme of each width, isolation between tenants, the documentation.
web-gate: web build
    node web/e2e/screenshots.mjs --short
    node web/e2e/gate.mjs

# The README's pictures and terminal text, made anew by a `trunkline dev` and a browser of their own.
readme: web build
    node web/e2e/readme.mjs

fmt:
    cargo fmt --all

fmt-check:
    cargo fmt --all --check

lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Every program and test program, linted while it is compiled.
build:
    cargo nextest run --workspace --locked --no-run

# Licences, sources, banned crates and the wrappers that hold the layers.
deny:
    cargo deny --workspace check --hide-inclusion-graph bans licenses sources

# Module docs, sizes, edges between crates, words that must not be committed; and that the fuzzer's lock file follows the crates.
tidy:
    cargo run --quiet --locked -p xtask -- tidy
    cargo metadata --quiet --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

# Words that are not ours, counted by word and crate (`just words --places`: every place). The list is in tidy.toml.
words form="--words":
    cargo run --quiet --locked -p xtask -- tidy {{ form }}

# Print which lines of the specification tests cover, and write target/conformance.md.
conformance:
    cargo run --quiet --locked -p xtask -- conformance

# Fail when a test names an unknown line, or the list of ids is stale.
conformance-check:
    cargo run --quiet --locked -p xtask -- conformance --check

# Break the lines of a random sample of ids, one by one, and look whether the tests that claim them fail. `just conformance-mutate --list`.
conformance-mutate *words:
    ./scripts/conformance-mutate {{ words }}

# All tests, and which of them could not run here. Extra words go to nextest: `just test -p trunkline-catalog`.
[positional-arguments]
test *words:
    ./scripts/nextest --workspace --locked --no-fail-fast "$@"

# The gateway's suite once more, with PostgreSQL as the only engine.
postgres-alone *words:
    TRUNKLINE_ENGINES=postgres cargo nextest run --workspace --locked --no-fail-fast -E 'package(trunkline-gateway) & binary(it)' {{ words }}

# A part of it, for the gate.
postgres-alone-short:
    TRUNKLINE_ENGINES=postgres cargo nextest run --workspace --locked --no-fail-fast -E 'package(trunkline-gateway) & binary(it) & (test(/^money::/) | test(/^limits::/) | test(/^idempotency::/) | test(/^usage_report::/) | test(/^events::/))'

# Prices against a big-rational oracle: long form, a million random cases of each property.
prices cases="1000000":
    PROPTEST_CASES={{ cases }} cargo nextest run --workspace --profile long --locked --success-output final -E 'package(trunkline-catalog) & test(properties::)'

# Every case of the golden corpus in every format, written anew beside it: read the diff before you commit it.
corpus-update:
    UPDATE=1 cargo nextest run --locked -p trunkline-wire --test it -E 'test(pairs::snapshots::)'
    git status --short crates/wire/tests/corpus

# What opencode and the vendors' SDKs send, recorded anew for the tests of the field lists; needs a built executable.
record-clients:
    python3 scripts/record_clients.py
    git status --short crates/wire/tests/fixtures/clients

# The schema that this tree makes of an empty database, kept as the start of later upgrade tests: `just schema-of 0.1.0`.
schema-of release:
    TRUNKLINE_SCHEMA_OF={{ release }} cargo nextest run --locked -p trunkline-db --test it -E 'test(=upgrading::an_operator_upgrades_from_the_schema_of_every_release_with_money_in_it)'
    git status --short crates/db/tests/fixtures/schemas

# The matrix of what survives a translation, written into docs/guide/formats.md.
formats:
    UPDATE=1 cargo nextest run --locked -p trunkline-wire --test it -E 'test(the_page_holds)'

# Coverage-guided fuzzing of everything that parses: long form, ten million executions over all targets.
fuzz runs="10000000":
    ./scripts/fuzz runs {{ runs }}

# The same for five seconds a target, and the stored corpus.
fuzz-short:
    ./scripts/fuzz seconds 55

# Sealing: rotation, other purposes and accounts, flipped bits.
keyring-tests:
    cargo nextest run --locked -p trunkline-keyring

# The checks detect mistakes: wrong edge, oversized file, banned call each fail the check.
lint-selftest:
    cargo nextest run --locked -p xtask

# The ledger's protocol under a seeded scheduler: long form, ten million seeds.
simulate seeds="10000000":
    PROPTEST_CASES={{ seeds }} cargo nextest run --profile long --locked --success-output final --config profile.dev.package.trunkline-ledger.opt-level=3 -p trunkline-ledger --test it -E 'test(/^model::/)'

# The same for the gate, with what the tests were built of.
simulate-short seeds="100000":
    PROPTEST_CASES={{ seeds }} cargo nextest run --workspace --profile long --locked -E 'package(trunkline-ledger) & test(/^model::/)'

# The console tried by its own OpenAPI document; shows what schemathesis says at its end.
schemathesis examples="50":
    TRUNKLINE_EXAMPLES={{ examples }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^sdk::/) & test(schemathesis)'

# Races and faults against real processes and databases: long form, twenty rounds of each.
chaos rounds="20":
    TRUNKLINE_CHAOS_ROUNDS={{ rounds }} ./scripts/nextest --workspace --profile long --locked --no-capture -E 'package(trunkline-ledger) & test(/^chaos::/)'

# The whole gateway under load while it, its database and its upstreams break: long form, 50,000 calls.
chat-chaos calls="50000":
    TRUNKLINE_CHAT_CHAOS_CALLS={{ calls }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::chat_chaos::/)'

# Video tasks of two nodes while they, their database and their upstreams break: long form, 10,000 tasks.
video-chaos tasks="10000":
    TRUNKLINE_VIDEO_CHAOS_TASKS={{ trim_start_match(tasks, "tasks=") }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::video_chaos::/)'

# Calls for social data while everything breaks, and the capacity of a day on two nodes: long form, 5,000 calls.
social-chaos calls="5000":
    TRUNKLINE_SOCIAL_CHAOS_CALLS={{ calls }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::social::/)'

# Events of Stripe in random order, repeated, lost and forged, while console and database are killed: long form, 10,000 events.
payment-chaos events="10000":
    TRUNKLINE_PAYMENT_CHAOS_EVENTS={{ events }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::payment_chaos::/)'

# Two tenants over every customer route while all queries ask for the other one's account: row-level security alone keeps its rows.
tenants-unfiltered:
    TRUNKLINE_DEFECT=foreign-filter cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-console) & test(=customer::tenants::queries_that_ask_for_another_account_get_nothing_of_it)'

# Three gateways, two workers, Redis, three NATS servers and PostgreSQL with a standby, on networks of their own, while all of them break: long form, 100,000 events.
cluster-chaos callers="200" events="100000" rounds="10":
    TRUNKLINE_CLUSTER_CALLERS={{ callers }} TRUNKLINE_CLUSTER_EVENTS={{ events }} TRUNKLINE_CLUSTER_ROUNDS={{ rounds }} ./scripts/nextest --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::cluster::/)'

# Prices that change under load on two nodes: long form, a hundred changes.
price-reload changes="100":
    TRUNKLINE_PRICE_RELOAD_CHANGES={{ changes }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::price_reload::/)'

# Slow streams at once, and the memory they take: long form, a thousand for five minutes.
streams count="1000" seconds="300":
    TRUNKLINE_STREAMS={{ count }} TRUNKLINE_STREAMS_SECONDS={{ seconds }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::streams::/)'

# Upgrades of one host under load, by descriptor passing: 0 refused connections, 0 cut streams, 0 lost charges. Long form: 1,000 open streams, 200 calls a second.
upgrade-drill streams="1000" rate="200" upgrades="3" seconds="120":
    ulimit -n $(ulimit -Hn); TRUNKLINE_UPGRADE_STREAMS={{ streams }} TRUNKLINE_UPGRADE_RATE={{ rate }} TRUNKLINE_UPGRADES={{ upgrades }} TRUNKLINE_UPGRADE_SECONDS={{ seconds }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::upgrade::an_operator/)'

# Backup under load and restore on a bare cluster by the commands of docs/operate/backup.md; prints seconds and charges lost. Long form: minutes of load.
restore-drill seconds="60" clients="16":
    TRUNKLINE_RESTORE_SECONDS={{ seconds }} TRUNKLINE_RESTORE_CLIENTS={{ clients }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::restore_drill::/)'

# Connections that follow events on one node, the memory they take and how fast all hear: long form, ten thousand.
events connections="10000":
    ulimit -n $(ulimit -Hn); TRUNKLINE_EVENT_READERS={{ trim_start_match(connections, "connections=") }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-gateway) & test(/^events::many::/)'

# Uploads in little memory: long form, two gigabytes of silence and a short sound in two gigabytes.
upload bytes="2000000000":
    TRUNKLINE_UPLOAD_BYTES={{ bytes }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::media::upload::/)'

# Voice connections at once, beside a bare WebSocket relay and with optimisation, so that processor time is compared: long form, five hundred for five minutes.
realtime-load connections="500" seconds="300":
    TRUNKLINE_REALTIME_CONNECTIONS={{ connections }} TRUNKLINE_REALTIME_SECONDS={{ seconds }} cargo nextest run --cargo-profile release --profile long --locked --no-capture -p trunkline-app --test it -E 'test(/^faults::realtime::load::/)'

# Realtime conversations while the node, its database, its upstream and its clients break: long form, 320 faults.
realtime-chaos faults="320":
    TRUNKLINE_REALTIME_FAULTS={{ faults }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::realtime::chaos::/)'

# Streams of speech at once, asked for again and again: long form, five hundred for two minutes.
speech-load streams="500" seconds="120":
    TRUNKLINE_SPEECH_STREAMS={{ streams }} TRUNKLINE_SPEECH_SECONDS={{ seconds }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::media::speech_load::/)'

# One account attacks in every way at once while another one calls: long form, 5,000 silent sockets for five minutes.
neighbours silent="5000" seconds="300":
    ulimit -n $(ulimit -Hn); TRUNKLINE_NEIGHBOURS_SILENT={{ silent }} TRUNKLINE_NEIGHBOURS_SECONDS={{ seconds }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::neighbours::/)'

# A day of trouble, compressed: channels are revoked, limited, slowed, broken and healed while 200 accounts call: long form, half an hour and 50,000 calls.
trouble seconds="1800" calls="50000":
    TRUNKLINE_TROUBLE_SECONDS={{ seconds }} TRUNKLINE_TROUBLE_CALLS={{ calls }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^faults::bad_day::/)'

# Claude Code, Codex, Gemini CLI and opencode in a loop under `trunkline run`: long form, fifty loops each.
capped-agents loops="50":
    TRUNKLINE_CAPPED_LOOPS={{ loops }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^clients::capped::agents::four/)'

# A statement of ten million lines, made and verified by the executable in 120 s on one core: long form.
verify-statement lines="10000000":
    TMPDIR=/var/tmp TRUNKLINE_STATEMENT_LINES={{ lines }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^verifying::statements::/)'

# Random changes of statements and receipts, all found by both verifiers, which say the same: long form, a hundred thousand.
verify-changes changes="100000":
    TRUNKLINE_CHANGES={{ changes }} TRUNKLINE_CHANGES_SEED=$(date +%s) cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-app) & test(/^verifying::changes::both_verifiers_find/)'

# Random models and requests, each quoted and then called: long form, ten thousand pairs.
quotes pairs="10000":
    TRUNKLINE_QUOTES={{ pairs }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-gateway) & test(/^pairs::/)'

# Calls with a field or a tool that no list has, to every provider in every format: long form.
strays cases="100":
    TRUNKLINE_STRAYS={{ cases }} TRUNKLINE_STRAYS_SEED=$(date +%s) cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-gateway) & test(an_unlisted_field_or_tool_arrives_at_no_provider)'

# Random calls of every operation with lying usage, caps and limits, and streams that are left at any frame: long form.
charges cases="100000":
    TRUNKLINE_CHARGES={{ cases }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-gateway) & test(/^charges::/)'

# Random videos of every model, each quoted, made and priced again from what was sent: long form.
video-quotes cases="10000":
    TRUNKLINE_VIDEOS={{ cases }} cargo nextest run --workspace --profile long --locked --no-capture -E 'package(trunkline-gateway) & test(videos_quotes::)'

# Ledger operations per second, compared with the bare SQL statements and with one UPDATE per call.
ledger-speed:
    cargo nextest run --cargo-profile release --profile long --locked -p trunkline-ledger --test it -E 'test(/^speed::/)' --run-ignored all --no-capture

# Buffers that a settlement, a lookup and a list touch at 2 and at 20 million usage rows.
ledger-growth:
    cargo nextest run --workspace --profile long --locked --run-ignored all --no-capture -E 'package(trunkline-ledger) & test(/^growth::buffers::/)'

# Searches of calls at 2 and at 20 million rows of one account (20 GB on disk, not in memory), and what each index of calls costs a settlement.
logs-growth:
    TMPDIR=/var/tmp cargo nextest run --workspace --profile long --locked --run-ignored all --no-capture -E 'package(trunkline-ledger) & (test(/^growth::logs::/) | test(/^growth::price::/))'

# Margins of operators at 2 and 20 million calls: equal to SQL, in under 300 ms, with the same buffers.
margins-growth:
    TMPDIR=/var/tmp cargo nextest run --workspace --profile long --locked --run-ignored only --no-capture -E 'package(trunkline-ledger) & test(/^growth::margins::/)'

# 1,000, 10,000 and 100,000 video tasks in flight at 300 polls a second: buffers, statements, CPU and lag of a poll.
video-growth:
    cargo nextest run --workspace --profile long --locked --run-ignored only --no-capture -E 'package(trunkline-gateway) & test(/^growth::/)'

# Ten thousand models: time to build, load and change, memory, and the cost of a lookup beside ten.
catalog-scale:
    cargo nextest run --profile long --locked --config profile.dev.package.trunkline-catalog.opt-level=3 -p trunkline-gateway --test it --run-ignored all --no-capture -E 'test(scale::)'

# A million keys over ten thousand policies: bytes a key, cold start, the cost of a lookup; and the lag of a revocation.
keys-scale:
    cargo nextest run --cargo-profile release --profile long --locked -p trunkline-gateway --test it --run-ignored all --no-capture -E 'test(/^keys::memory::/)'

# CPU-ns of a request and of a piece of a stream, of every format into every other, without a network.
translation-speed:
    cargo nextest run --cargo-profile release --profile long --locked -p trunkline-wire --test it --run-ignored all --no-capture -E 'test(/^speed::/)'

# A real vendor beside the simulator, if its key is in the environment; spends at most VENDOR_CHECK_MAX_USD (0.05).
vendor-check provider:
    cargo run --quiet --locked -p trunkline-vendor-check -- {{ provider }}

# The checks of `trunkline gateway-check` on LiteLLM, TensorZero and ourselves, and their page: docs/dev/gateway-check.md.
gateway-check-peers page="docs/results/gateway-check.html":
    cargo build --locked --bin trunkline
    ./scripts/gateway-check/run "${CARGO_TARGET_DIR:-target}/debug/trunkline" {{ page }}

# CPU, latency and memory beside nginx and a bare proxy, against the budgets: docs/dev/performance.md.
bench *words:
    ./scripts/bench {{ words }}

# CPU, latency and memory beside LiteLLM, TensorZero and Portkey, and the page of it: `just bench-peers --page docs/results/comparison.md`.
bench-peers *words:
    ./scripts/bench-peers {{ words }}

# One node and PostgreSQL for minutes at one rate, or the highest that holds: `just soak 15 highest --page docs/operate/capacity.md`.
soak minutes="15" rate="highest" *words:
    ./scripts/bench --soak {{ minutes }} --rate {{ rate }} {{ words }}

# Adding a family of video models, or a paid operation (`just add-drill operation`), touches what its page says: done in a copy of the tree (`just add-drill family long`: lint, more tests, tidy).
add-drill what="family" form="short":
    ./scripts/add-drill {{ what }} {{ form }}

# Mutation testing of prices and ledger (or `just mutants prices`, or `just mutants since <commit>` of what changed); survivors are explained in docs/dev/mutants.md.
mutants *what:
    ./scripts/mutants {{ what }}

# A tarball, a Debian package and the symbols, of the profile dist, in target/package; lintian, the unit's exposure, the Dockerfile. `just package --binary FILE` packs one that is built.
package *words:
    ./scripts/package {{ words }}

# Of packaging alone what takes seconds: the unit's exposure and the Dockerfile.
package-check:
    ./scripts/package check

# The software bill of materials (CycloneDX), in target/package; the same tree gives the same file.
sbom *words:
    ./scripts/sbom {{ words }}

# Known vulnerabilities of what is built, from RustSec or the mirror that TRUNKLINE_ADVISORIES names.
advisories:
    ./scripts/advisories

# Signs what is in target/package with minisign and verifies it: `just sign KEY`, `just sign --verify PUB`.
sign *words:
    ./scripts/sign {{ words }}

# Two builds of the profile dist from nothing are the same bytes.
reproducible profile="dist":
    ./scripts/reproducible {{ profile }}

# The executable for aarch64 Linux, by Debian's cross compiler.
cross profile="dist":
    ./scripts/cross {{ profile }}

# From the Debian package in a clean Debian to a charged call, by the commands of docs/operate/quickstart.md (root).
package-drill *words:
    ./scripts/package-drill {{ words }}

# The image of the Dockerfile, from what `just package` made, by buildah or podman; `just image BASE` from another base.
image base="docker.io/library/debian:12-slim":
    ./scripts/package-image {{ base }}

# Every long form, in rounds and 150 minutes at most, from where the last run ended: docs/results/README.md. `just nightly --list`, `just nightly chat-chaos fuzz`.
nightly *words:
    ./scripts/nightly {{ words }}

# Scripts: how nightly reads figures, changelog fragments, the bill of materials.
nightly-check:
    python3 -B -m unittest discover --quiet --start-directory scripts/tests

# The alerting rules: promtool's tests, each alert once firing and once silent.
alerts-check:
    ./scripts/alerts-check

# Every attack of the findings against a fresh `trunkline dev`: held or broken.
redteam: build
    python3 scripts/redteam "${CARGO_TARGET_DIR:-target}/debug/trunkline"

# Deliberate defects, each turned on in turn: which tests of the gate notice it (docs/dev/defects.md; or some, by name).
gate-selftest *defects:
    ./scripts/gate-selftest {{ defects }}

# The gate, as CI runs it.
ci:
    ./.ci/run
