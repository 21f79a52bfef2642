//! The vendor's messages as data: which fields a request has and of what kind each is. The names
//! follow the vendor's SDK (`google-genai` 3.1); what is `Free` is accepted unread.

/// Which of the vendor's two services is asked; they differ in a few fields and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The Gemini API, with an API key.
    Gemini,
    /// Vertex AI, with an access token.
    Vertex,
}

/// What a field must be.
pub(super) enum Kind {
    Text,
    /// Base64.
    Bytes,
    Flag,
    Integer,
    Decimal,
    /// One word of a closed list, in capitals or not.
    Word(&'static [&'static str]),
    /// Any JSON.
    Free,
    Message(&'static Message),
    List(&'static Kind),
    /// Names of the client's own.
    Map(&'static Kind),
}

/// The fields of one kind of object.
pub(super) struct Message {
    pub(super) fields: &'static [Field],
}

/// One field.
pub(super) struct Field {
    /// Its name in camel case; the other spelling is derived.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The only service that knows it; none means both.
    pub(super) only: Option<Service>,
}

pub(super) static GENERATE: Message = Message {
    fields: &[
        both("model", Kind::Text),
        both("contents", Kind::List(&Kind::Message(&CONTENT))),
        both("systemInstruction", Kind::Message(&CONTENT)),
        both("tools", Kind::List(&Kind::Message(&TOOL))),
        both("toolConfig", Kind::Message(&TOOL_CONFIG)),
        both("safetySettings", Kind::List(&Kind::Message(&SAFETY))),
        both("generationConfig", Kind::Message(&CONFIG)),
        both("cachedContent", Kind::Text),
        both("serviceTier", Kind::Text),
        gemini("store", Kind::Flag),
        vertex("labels", Kind::Map(&Kind::Text)),
        vertex("modelArmorConfig", Kind::Free),
    ],
};

pub(super) static COUNT: Message = Message {
    fields: &[
        both("model", Kind::Text),
        both("contents", Kind::List(&Kind::Message(&CONTENT))),
        gemini("generateContentRequest", Kind::Message(&GENERATE)),
        vertex("instances", Kind::List(&Kind::Free)),
        vertex("systemInstruction", Kind::Message(&CONTENT)),
        vertex("tools", Kind::List(&Kind::Message(&TOOL))),
        vertex("generationConfig", Kind::Message(&CONFIG)),
    ],
};

static CONTENT: Message = Message {
    fields: &[
        both("role", Kind::Text),
        both("parts", Kind::List(&Kind::Message(&PART))),
    ],
};

static PART: Message = Message {
    fields: &[
        both("text", Kind::Text),
        both("inlineData", Kind::Message(&BLOB)),
        both("fileData", Kind::Message(&FILE)),
        both("functionCall", Kind::Message(&CALL)),
        both("functionResponse", Kind::Message(&RESPONSE)),
        both("executableCode", Kind::Free),
        both("codeExecutionResult", Kind::Free),
        both("thought", Kind::Flag),
        both("thoughtSignature", Kind::Bytes),
        both("videoMetadata", Kind::Free),
        both("mediaResolution", Kind::Free),
        gemini("partMetadata", Kind::Free),
        gemini("toolCall", Kind::Free),
        gemini("toolResponse", Kind::Free),
    ],
};

static BLOB: Message = Message {
    fields: &[
        both("mimeType", Kind::Text),
        both("data", Kind::Bytes),
        vertex("displayName", Kind::Text),
    ],
};

static FILE: Message = Message {
    fields: &[
        both("mimeType", Kind::Text),
        both("fileUri", Kind::Text),
        vertex("displayName", Kind::Text),
    ],
};

static CALL: Message = Message {
    fields: &[
        both("id", Kind::Text),
        both("name", Kind::Text),
        both("args", Kind::Free),
        vertex("partialArgs", Kind::Free),
        vertex("willContinue", Kind::Flag),
    ],
};

static RESPONSE: Message = Message {
    fields: &[
        both("id", Kind::Text),
        both("name", Kind::Text),
        both("response", Kind::Free),
        both("parts", Kind::Free),
        both("scheduling", Kind::Text),
        gemini("willContinue", Kind::Flag),
    ],
};

static TOOL: Message = Message {
    fields: &[
        both(
            "functionDeclarations",
            Kind::List(&Kind::Message(&DECLARATION)),
        ),
        both("googleSearch", Kind::Free),
        both("googleSearchRetrieval", Kind::Free),
        both("codeExecution", Kind::Free),
        both("urlContext", Kind::Free),
        both("computerUse", Kind::Free),
        both("googleMaps", Kind::Free),
        gemini("fileSearch", Kind::Free),
        gemini("mcpServers", Kind::Free),
        vertex("retrieval", Kind::Free),
        vertex("enterpriseWebSearch", Kind::Free),
    ],
};

static DECLARATION: Message = Message {
    fields: &[
        both("name", Kind::Text),
        both("description", Kind::Text),
        both("parameters", Kind::Message(&SCHEMA)),
        both("parametersJsonSchema", Kind::Free),
        both("response", Kind::Message(&SCHEMA)),
        both("responseJsonSchema", Kind::Free),
        both(
            "behavior",
            Kind::Word(&["UNSPECIFIED", "BLOCKING", "NON_BLOCKING"]),
        ),
    ],
};

static SCHEMA: Message = Message {
    fields: &[
        both(
            "type",
            Kind::Word(&[
                "TYPE_UNSPECIFIED",
                "STRING",
                "NUMBER",
                "INTEGER",
                "BOOLEAN",
                "ARRAY",
                "OBJECT",
                "NULL",
            ]),
        ),
        both("format", Kind::Text),
        both("title", Kind::Text),
        both("description", Kind::Text),
        both("nullable", Kind::Flag),
        both("enum", Kind::List(&Kind::Text)),
        both("items", Kind::Message(&SCHEMA)),
        both("minItems", Kind::Integer),
        both("maxItems", Kind::Integer),
        both("properties", Kind::Map(&Kind::Message(&SCHEMA))),
        both("required", Kind::List(&Kind::Text)),
        both("propertyOrdering", Kind::List(&Kind::Text)),
        both("minProperties", Kind::Integer),
        both("maxProperties", Kind::Integer),
        both("minimum", Kind::Decimal),
        both("maximum", Kind::Decimal),
        both("minLength", Kind::Integer),
        both("maxLength", Kind::Integer),
        both("pattern", Kind::Text),
        both("example", Kind::Free),
        both("default", Kind::Free),
        both("anyOf", Kind::List(&Kind::Message(&SCHEMA))),
        vertex("additionalProperties", Kind::Free),
        vertex("ref", Kind::Text),
        vertex("defs", Kind::Map(&Kind::Message(&SCHEMA))),
    ],
};

static TOOL_CONFIG: Message = Message {
    fields: &[
        both("functionCallingConfig", Kind::Message(&CALLING)),
        both("retrievalConfig", Kind::Free),
        gemini("includeServerSideToolInvocations", Kind::Flag),
    ],
};

static CALLING: Message = Message {
    fields: &[
        both(
            "mode",
            Kind::Word(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]),
        ),
        both("allowedFunctionNames", Kind::List(&Kind::Text)),
        vertex("streamFunctionCallArguments", Kind::Flag),
    ],
};

static SAFETY: Message = Message {
    fields: &[
        both(
            "category",
            Kind::Word(&[
                "HARM_CATEGORY_UNSPECIFIED",
                "HARM_CATEGORY_HARASSMENT",
                "HARM_CATEGORY_HATE_SPEECH",
                "HARM_CATEGORY_SEXUALLY_EXPLICIT",
                "HARM_CATEGORY_DANGEROUS_CONTENT",
                "HARM_CATEGORY_CIVIC_INTEGRITY",
                "HARM_CATEGORY_JAILBREAK",
            ]),
        ),
        both(
            "threshold",
            Kind::Word(&[
                "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
                "BLOCK_LOW_AND_ABOVE",
                "BLOCK_MEDIUM_AND_ABOVE",
                "BLOCK_ONLY_HIGH",
                "BLOCK_NONE",
                "OFF",
            ]),
        ),
        vertex("method", Kind::Text),
    ],
};

static CONFIG: Message = Message {
    fields: &[
        both("temperature", Kind::Decimal),
        both("topP", Kind::Decimal),
        both("topK", Kind::Decimal),
        both("maxOutputTokens", Kind::Integer),
        both("candidateCount", Kind::Integer),
        both("stopSequences", Kind::List(&Kind::Text)),
        both("responseMimeType", Kind::Text),
        both("responseSchema", Kind::Message(&SCHEMA)),
        both("responseJsonSchema", Kind::Free),
        both("responseModalities", Kind::List(&MODALITY)),
        both("speechConfig", Kind::Free),
        both("imageConfig", Kind::Free),
        both("thinkingConfig", Kind::Message(&THINKING)),
        both("seed", Kind::Integer),
        both("presencePenalty", Kind::Decimal),
        both("frequencyPenalty", Kind::Decimal),
        both("responseLogprobs", Kind::Flag),
        both("logprobs", Kind::Integer),
        both("mediaResolution", Kind::Text),
        gemini("enableEnhancedCivicAnswers", Kind::Flag),
        vertex("audioTimestamp", Kind::Flag),
        vertex("routingConfig", Kind::Free),
        vertex("modelSelectionConfig", Kind::Free),
    ],
};

static MODALITY: Kind = Kind::Word(&["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"]);

static THINKING: Message = Message {
    fields: &[
        both("includeThoughts", Kind::Flag),
        both("thinkingBudget", Kind::Integer),
        both(
            "thinkingLevel",
            Kind::Word(&[
                "THINKING_LEVEL_UNSPECIFIED",
                "MINIMAL",
                "LOW",
                "MEDIUM",
                "HIGH",
            ]),
        ),
    ],
};

const fn both(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        only: None,
    }
}

const fn gemini(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        only: Some(Service::Gemini),
    }
}

const fn vertex(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        only: Some(Service::Vertex),
    }
}
