//! The pages of the documentation site: `docs/guide` for customers, `docs/operate` for operators.

/// A page as it is in the repository.
pub(super) struct Source {
    /// Its name in the address.
    pub(super) slug: &'static str,
    /// Its text, with its head.
    pub(super) text: &'static str,
}

const fn page(slug: &'static str, text: &'static str) -> Source {
    Source { slug, text }
}

/// All written pages; their heads say where they stand in the navigation. Three more are generated: the
/// references of both APIs and the platforms of social data.
pub(super) const SOURCES: &[Source] = &[
    page("index", include_str!("../../../../docs/guide/index.md")),
    page(
        "quickstart",
        include_str!("../../../../docs/guide/quickstart.md"),
    ),
    page("curl", include_str!("../../../../docs/guide/curl.md")),
    page("python", include_str!("../../../../docs/guide/python.md")),
    page("node", include_str!("../../../../docs/guide/node.md")),
    page(
        "claude-code",
        include_str!("../../../../docs/guide/claude-code.md"),
    ),
    page("codex", include_str!("../../../../docs/guide/codex.md")),
    page(
        "gemini-cli",
        include_str!("../../../../docs/guide/gemini-cli.md"),
    ),
    page(
        "opencode",
        include_str!("../../../../docs/guide/opencode.md"),
    ),
    page(
        "open-webui",
        include_str!("../../../../docs/guide/open-webui.md"),
    ),
    page("n8n", include_str!("../../../../docs/guide/n8n.md")),
    page("billing", include_str!("../../../../docs/guide/billing.md")),
    page("paying", include_str!("../../../../docs/guide/paying.md")),
    page(
        "video-pitfalls",
        include_str!("../../../../docs/guide/video-pitfalls.md"),
    ),
    page(
        "single-server",
        include_str!("../../../../docs/operate/single-server.md"),
    ),
    page(
        "requests",
        include_str!("../../../../docs/guide/requests.md"),
    ),
    page("quotes", include_str!("../../../../docs/guide/quotes.md")),
    page("fields", include_str!("../../../../docs/guide/fields.md")),
    page("keys", include_str!("../../../../docs/guide/keys.md")),
    page(
        "idempotency",
        include_str!("../../../../docs/guide/idempotency.md"),
    ),
    page(
        "rate-limits",
        include_str!("../../../../docs/guide/rate-limits.md"),
    ),
    page("mcp", include_str!("../../../../docs/guide/mcp.md")),
    page("usage", include_str!("../../../../docs/guide/usage.md")),
    page(
        "receipts",
        include_str!("../../../../docs/guide/receipts.md"),
    ),
    page("events", include_str!("../../../../docs/guide/events.md")),
    page(
        "webhooks",
        include_str!("../../../../docs/guide/webhooks.md"),
    ),
    page(
        "images-and-audio",
        include_str!("../../../../docs/guide/images-and-audio.md"),
    ),
    page(
        "realtime",
        include_str!("../../../../docs/guide/realtime.md"),
    ),
    page(
        "responses-websocket",
        include_str!("../../../../docs/guide/responses-websocket.md"),
    ),
    page("video", include_str!("../../../../docs/guide/video.md")),
    page("social", include_str!("../../../../docs/guide/social.md")),
    page("formats", include_str!("../../../../docs/guide/formats.md")),
    page("errors", include_str!("../../../../docs/guide/errors.md")),
    page("data", include_str!("../../../../docs/guide/data.md")),
    page(
        "console",
        include_str!("../../../../docs/operate/console.md"),
    ),
    page(
        "users-and-roles",
        include_str!("../../../../docs/operate/users-and-roles.md"),
    ),
    page("mail", include_str!("../../../../docs/operate/mail.md")),
    page(
        "payments",
        include_str!("../../../../docs/operate/payments.md"),
    ),
    page(
        "trial-credit",
        include_str!("../../../../docs/operate/trial-credit.md"),
    ),
    page(
        "workflows",
        include_str!("../../../../docs/operate/workflows.md"),
    ),
    page(
        "catalog",
        include_str!("../../../../docs/operate/catalog.md"),
    ),
    page("import", include_str!("../../../../docs/operate/import.md")),
    page(
        "channels",
        include_str!("../../../../docs/operate/channels.md"),
    ),
    page(
        "providers",
        include_str!("../../../../docs/operate/providers.md"),
    ),
    page("nodes", include_str!("../../../../docs/operate/nodes.md")),
    page(
        "logging",
        include_str!("../../../../docs/operate/logging.md"),
    ),
    page(
        "telemetry",
        include_str!("../../../../docs/operate/telemetry.md"),
    ),
    page(
        "alerting",
        include_str!("../../../../docs/operate/alerting.md"),
    ),
    page("backup", include_str!("../../../../docs/operate/backup.md")),
    page(
        "stability",
        include_str!("../../../../docs/operate/stability.md"),
    ),
    page("macos", include_str!("../../../../docs/operate/macos.md")),
    page(
        "rate-limiting",
        include_str!("../../../../docs/operate/rate-limiting.md"),
    ),
    page(
        "event-delivery",
        include_str!("../../../../docs/operate/event-delivery.md"),
    ),
    page(
        "webhook-delivery",
        include_str!("../../../../docs/operate/webhook-delivery.md"),
    ),
    page(
        "social-data",
        include_str!("../../../../docs/operate/social-data.md"),
    ),
];

/// The data plane's interface, with places for what an installation fills in.
pub(super) const GATEWAY_DOCUMENT: &str = include_str!("../../../../docs/openapi/gateway.json");
pub(super) const STYLE: &str = include_str!("assets/docs.css");
/// What they do beyond being read.
pub(super) const SCRIPT: &str = include_str!("assets/docs.js");
