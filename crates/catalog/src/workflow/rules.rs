//! What each field of a workflow record must be, as tables. `check` walks them; `schema.json` says the
//! same to others, and `record` holds what has passed.

/// Longest `slug` and `workflow_id`: they stand in addresses.
pub const MAX_NAME_CHARACTERS: usize = 200;

/// A field of an object.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) rule: Rule,
}

/// What a value must be.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    AnyText,
    /// Text that is not empty.
    Text,
    Form(Form),
    Word(&'static [&'static str]),
    /// True or false.
    Flag,
    /// This one of the two.
    Always(bool),
    /// Text, true, false, a whole number or null.
    Scalar,
    /// A list of texts, numbers, flags and nulls.
    Values,
    /// A list of different texts.
    Texts {
        /// This many at least.
        least: usize,
        /// What each of them is.
        each: &'static Self,
    },
    OrNull(&'static Self),
    /// An object with these fields and no others.
    Object(&'static [Field]),
    /// A list of such objects.
    Objects {
        /// This many at least.
        least: usize,
        fields: &'static [Field],
    },
    /// An object with any keys.
    OpenMap,
}

/// A text that is not just any: whether it is so, and how that is said.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) holds: fn(&str) -> bool,
    pub(super) words: &'static str,
}

const fn required(name: &'static str, rule: Rule) -> Field {
    Field {
        name,
        required: true,
        rule,
    }
}

const fn optional(name: &'static str, rule: Rule) -> Field {
    Field {
        name,
        required: false,
        rule,
    }
}

const fn form(holds: fn(&str) -> bool, words: &'static str) -> Rule {
    Rule::Form(Form { holds, words })
}

const NAME: Rule = form(
    is_name,
    "must be lower-case letters and digits in groups joined by one -, at most 200 characters",
);
const TEXT_OR_NULL: Rule = Rule::OrNull(&Rule::AnyText);
const SOME_TEXTS: Rule = Rule::Texts {
    least: 1,
    each: &Rule::AnyText,
};
const TEXTS: Rule = Rule::Texts {
    least: 0,
    each: &Rule::AnyText,
};

pub(super) const RECORD: &[Field] = &[
    optional("$schema", Rule::Text),
    optional("canonical_url", Rule::Text),
    optional("generated_by", Rule::Word(&["scripts/gen_workflows.py"])),
    required("schema_version", Rule::Word(&["gateway.workflow.v1"])),
    required(
        "contract_status",
        Rule::Word(&[
            "draft_unverified",
            "contract_locked_not_executable",
            "verified",
        ]),
    ),
    required("workflow_id", NAME),
    required("slug", NAME),
    required("title", Rule::Text),
    required("summary", Rule::Text),
    required(
        "last_modified",
        form(is_date, "must be a date such as 2026-01-31"),
    ),
    required("discovery", Rule::Object(DISCOVERY)),
    required(
        "inputs",
        Rule::Objects {
            least: 2,
            fields: INPUT,
        },
    ),
    required("executor_query", Rule::Object(EXECUTOR_QUERY)),
    required("runtime_binding", Rule::Object(RUNTIME_BINDING)),
    required("privacy_preflight", Rule::Object(PRIVACY_PREFLIGHT)),
    required("recovery_policy", Rule::Object(RECOVERY_POLICY)),
    required(
        "acceptance_checks",
        Rule::Texts {
            least: 1,
            each: &Rule::Text,
        },
    ),
    required("continue_action", Rule::Object(CONTINUE_ACTION)),
    required("provenance", Rule::Object(PROVENANCE)),
];

const DISCOVERY: &[Field] = &[
    required("indexable", Rule::Flag),
    required("sitemap", Rule::Flag),
    required(
        "locales",
        Rule::Texts {
            least: 1,
            each: &form(is_locale, "must be a locale such as en or zh-cn"),
        },
    ),
];

const INPUT: &[Field] = &[
    required(
        "id",
        form(
            is_input_id,
            "must begin with a lower-case letter and go on with lower-case letters, digits and _",
        ),
    ),
    required(
        "type",
        Rule::Word(&["asset", "string", "enum", "boolean", "integer"]),
    ),
    required("required", Rule::Flag),
    required("description", Rule::Text),
    required(
        "evidence_status",
        Rule::Word(&["semantic_stable", "runtime_contract_required"]),
    ),
    required("default", Rule::Scalar),
    required("allowed_values", Rule::Values),
    required("cost_sensitive", Rule::Flag),
];

const EXECUTOR_QUERY: &[Field] = &[
    required("input_modalities", SOME_TEXTS),
    required("output_modalities", SOME_TEXTS),
    required("required_capabilities", SOME_TEXTS),
    required("selection_policy", Rule::Text),
];

const RUNTIME_BINDING: &[Field] = &[
    required(
        "status",
        Rule::Word(&["unavailable", "contract_only_not_executable", "verified"]),
    ),
    required("contract_version", TEXT_OR_NULL),
    required("openapi_path", TEXT_OR_NULL),
    required("fixture_path", TEXT_OR_NULL),
    required("operation_id", TEXT_OR_NULL),
    required("operation_status", TEXT_OR_NULL),
    required("workflow_version", TEXT_OR_NULL),
    required("package_status", TEXT_OR_NULL),
    required("capability_profile_version", TEXT_OR_NULL),
    required("capability_evidence", TEXT_OR_NULL),
    required("price_source", TEXT_OR_NULL),
    required("availability_source", TEXT_OR_NULL),
    required("last_verified_at", TEXT_OR_NULL),
    required("blocking_reason", TEXT_OR_NULL),
    required(
        "dash_commit_sha",
        Rule::OrNull(&form(is_commit, "must be 7 to 40 digits 0-9 a-f, or null")),
    ),
    required(
        "endpoint",
        Rule::OrNull(&form(
            is_path,
            "must begin with / and be one line, or be null",
        )),
    ),
    required(
        "semantic_digest_sha256",
        Rule::OrNull(&form(is_sha256, "must be 64 digits 0-9 a-f, or null")),
    ),
    required("known_unimplemented_fields", TEXTS),
    required("model_ids", TEXTS),
    required("request_field_map", Rule::OpenMap),
];

const PRIVACY_PREFLIGHT: &[Field] = &[
    required("required_before_transfer", Rule::Always(true)),
    required("processing_region", Rule::AnyText),
    required("retention", Rule::AnyText),
    required("training_use", Rule::AnyText),
    required("deletion", Rule::AnyText),
    required("commercial_use", Rule::AnyText),
    required("watermark", Rule::AnyText),
];

const RECOVERY_POLICY: &[Field] = &[
    required("resume_same_task_first", Rule::Always(true)),
    required("automatic_fallback", Rule::Always(false)),
    required("stop_when_charge_state_unknown", Rule::Always(true)),
    required("confirmation_required_for", SOME_TEXTS),
];

const CONTINUE_ACTION: &[Field] = &[
    required("enabled", Rule::Flag),
    required("href", TEXT_OR_NULL),
    required("reason", Rule::Text),
];

const PROVENANCE: &[Field] = &[
    required(
        "requirement_id",
        form(
            is_requirement,
            "must be CA- and three digits, such as CA-001",
        ),
    ),
    required("source_kind", Rule::Text),
    required(
        "runtime_evidence",
        Rule::Word(&["absent", "contract_only", "verified"]),
    ),
];

/// Whether a text may be a `slug` or a `workflow_id`: `^[a-z0-9]+(?:-[a-z0-9]+)*$`, bounded.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(is_lower_or_digit);
    text.len() <= MAX_NAME_CHARACTERS && text.split('-').all(word)
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// `^[a-z]{2}(?:-[a-z]{2})?$`
fn is_locale(text: &str) -> bool {
    let two = |word: &str| word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    match text.split_once('-') {
        Some((language, region)) => two(language) && two(region),
        None => two(text),
    }
}

/// `^[a-z][a-z0-9_]*$`
fn is_input_id(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|byte| is_lower_or_digit(byte) || byte == b'_')
}

/// `^CA-[0-9]{3}$`
fn is_requirement(text: &str) -> bool {
    let digits = text.strip_prefix("CA-");
    digits.is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// `^[0-9a-f]{7,40}$`
fn is_commit(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(is_hex)
}

/// `^[0-9a-f]{64}$`
fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(is_hex)
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// `^/.*$`, in which a dot is no line end.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.contains(['\n', '\r', '\u{2028}', '\u{2029}'])
}

/// A day that exists, as RFC 3339 writes it and in no other of ISO's ways.
fn is_date(text: &str) -> bool {
    let dashes = text.bytes().enumerate().all(|(place, byte)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    text.len() == 10 && dashes && text.parse::<jiff::civil::Date>().is_ok()
}
