//! Which pages there are. A page of `docs/site` is written for this place; the others are documents of
//! the house that customers and operators read too. Those say where they stop being for them.

/// A source file of a page.
pub(super) struct Source {
    /// Its name in the address.
    pub(super) slug: &'static str,
    /// What it says, its head with it.
    pub(super) text: &'static str,
}

const fn page(slug: &'static str, text: &'static str) -> Source {
    Source { slug, text }
}

/// All pages that somebody wrote; their heads say where they stand. Beside them are those that are made
/// of what the house knows anyway: the two interfaces and the platforms of social data.
pub(super) const SOURCES: &[Source] = &[
    page("index", include_str!("../../../../docs/site/index.md")),
    page(
        "quickstart",
        include_str!("../../../../docs/site/quickstart.md"),
    ),
    page("curl", include_str!("../../../../docs/site/curl.md")),
    page("python", include_str!("../../../../docs/site/python.md")),
    page("node", include_str!("../../../../docs/site/node.md")),
    page(
        "claude-code",
        include_str!("../../../../docs/site/claude-code.md"),
    ),
    page("codex", include_str!("../../../../docs/site/codex.md")),
    page(
        "gemini-cli",
        include_str!("../../../../docs/site/gemini-cli.md"),
    ),
    page(
        "opencode",
        include_str!("../../../../docs/site/opencode.md"),
    ),
    page(
        "open-webui",
        include_str!("../../../../docs/site/open-webui.md"),
    ),
    page("n8n", include_str!("../../../../docs/site/n8n.md")),
    page("money", include_str!("../../../../docs/site/money.md")),
    page(
        "video-traps",
        include_str!("../../../../docs/site/video-traps.md"),
    ),
    page(
        "operating",
        include_str!("../../../../docs/site/operating.md"),
    ),
    page("gateway", include_str!("../../../../docs/gateway.md")),
    page("quotes", include_str!("../../../../docs/quotes.md")),
    page("keys", include_str!("../../../../docs/keys.md")),
    page(
        "idempotency",
        include_str!("../../../../docs/idempotency.md"),
    ),
    page("limits", include_str!("../../../../docs/limits.md")),
    page("usage", include_str!("../../../../docs/usage.md")),
    page("events", include_str!("../../../../docs/events.md")),
    page("webhooks", include_str!("../../../../docs/webhooks.md")),
    page(
        "images-and-audio",
        include_str!("../../../../docs/images-and-audio.md"),
    ),
    page("video", include_str!("../../../../docs/video.md")),
    page("social", include_str!("../../../../docs/social.md")),
    page("formats", include_str!("../../../../docs/formats.md")),
    page("errors", include_str!("../../../../docs/errors.md")),
    page("data", include_str!("../../../../docs/data.md")),
    page("console", include_str!("../../../../docs/console.md")),
    page("people", include_str!("../../../../docs/people.md")),
    page("mail", include_str!("../../../../docs/mail.md")),
    page(
        "trial-and-codes",
        include_str!("../../../../docs/trial-and-codes.md"),
    ),
    page("workflows", include_str!("../../../../docs/workflows.md")),
    page("catalog", include_str!("../../../../docs/catalog.md")),
    page("channels", include_str!("../../../../docs/channels.md")),
    page("nodes", include_str!("../../../../docs/nodes.md")),
    page("logging", include_str!("../../../../docs/logging.md")),
];

/// The data plane's interface, with places for what an installation fills in.
pub(super) const GATEWAY_DOCUMENT: &str = include_str!("../../../../docs/openapi/gateway.json");
/// How the pages look.
pub(super) const STYLE: &str = include_str!("assets/docs.css");
/// What they do beyond being read.
pub(super) const SCRIPT: &str = include_str!("assets/docs.js");
