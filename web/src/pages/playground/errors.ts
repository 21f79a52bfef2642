/** Errors of the data plane in the shape of the instance, whichever format they came in. */

type Loose = Record<string, unknown>;

function record(value: unknown): Loose | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Loose) : null;
}

function flag(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  return value === "true" ? true : value === "false" ? false : undefined;
}

/**
 * OpenAI's shape carries everything in `error`, Anthropic's keeps the id beside it, Google's has a number for a code and
 * the rest as texts in its details. A call with an error of the gateway was not charged, also where a shape has no place to
 * say so.
 */
export function normalised(body: unknown): unknown {
  const outer = record(body);
  const error = record(outer?.["error"]);
  if (outer === null || error === null) return body;
  const detail = Array.isArray(error["details"]) ? record(error["details"][0]) : null;
  const metadata = record(detail?.["metadata"]);
  const pick = (name: string) => error[name] ?? metadata?.[name] ?? outer[name];
  const code = typeof error["code"] === "string" ? error["code"] : (detail?.["reason"] ?? error["type"]);
  return {
    error: {
      message: error["message"],
      code,
      param: pick("param"),
      request_id: pick("request_id"),
      charged: flag(pick("charged")) ?? false,
      retryable: flag(pick("retryable")) ?? false,
      doc_url: pick("doc_url"),
    },
  };
}
