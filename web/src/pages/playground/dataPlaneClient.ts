/**
 * The data plane, asked from this browser with a key of the playground's own. The key lives in memory, is made when it
 * is first needed, and ends by itself.
 */
import { ApiError, api, problemOf } from "@/api";
import type { Call } from "./code";
import { normalised } from "./errors";

interface HeldKey {
  secret: string;
  expiresAt: number;
}

let held: HeldKey | null = null;
let asking: Promise<HeldKey> | null = null;

/** A key this close to its end is replaced first. */
const TOO_OLD_MS = 60_000;
/** A new key is known to every node within a second or two; until then it is asked again. */
const NEW_KEY_MS = 5_000;
const NEW_KEY_PAUSE_MS = 400;

async function askKey(): Promise<HeldKey> {
  const made = await api.post<{ secret: string; expires_at: string; key_id: number }>("/api/playground/key", {});
  return { secret: made.secret, expiresAt: Date.parse(made.expires_at) };
}

export async function playgroundKey(): Promise<string> {
  if (held !== null && held.expiresAt - Date.now() > TOO_OLD_MS) return held.secret;
  asking ??= askKey().finally(() => {
    asking = null;
  });
  held = await asking;
  return held.secret;
}

/** The key if there is one already: for code that is shown, which must not make one by being looked at. */
export function heldKey(): string | null {
  return held?.secret ?? null;
}

/** A key made in another tab replaces this one; then it is asked for anew. */
function dropKey(secret: string): void {
  if (held?.secret === secret) held = null;
}

/** Errors of the data plane name the page of their code as a path of the documentation. */
export function docUrlOf(code: string, docUrl: string | null): string {
  if (docUrl !== null && (docUrl.startsWith("http://") || docUrl.startsWith("https://") || docUrl.startsWith("/")))
    return docUrl;
  return `/docs/errors#${encodeURIComponent(code)}`;
}

export function withDocs(error: ApiError): ApiError {
  const { message, code, param, requestId, charged, retryable, docUrl, status } = error;
  return new ApiError({ message, code, param, requestId, charged, retryable, status, docUrl: docUrlOf(code, docUrl) });
}

async function problemIn(response: Response): Promise<ApiError> {
  const text = await response.text();
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Not ours: a proxy's page. The status is all there is to tell.
  }
  return withDocs(problemOf(response.status, normalised(body)));
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });
}

export interface DataPlaneCall extends Omit<Call, "form" | "saveAs" | "streams"> {
  form?: FormData;
  headers?: Record<string, string>;
}

async function once(call: DataPlaneCall, secret: string, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { ...call.headers, authorization: `Bearer ${secret}` };
  if (call.body !== undefined) headers["content-type"] = "application/json";
  try {
    return await fetch(call.url, {
      method: call.method,
      headers,
      signal,
      credentials: "omit",
      ...(call.form !== undefined
        ? { body: call.form }
        : call.body !== undefined
          ? { body: JSON.stringify(call.body) }
          : {}),
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError({
      message: "The gateway could not be reached.",
      code: "network",
      param: null,
      requestId: null,
      charged: null,
      retryable: true,
      docUrl: null,
      status: 0,
    });
  }
}

/** An answer that is not an error, or the error as one. */
export async function callDataPlane(call: DataPlaneCall, signal: AbortSignal): Promise<Response> {
  const until = Date.now() + NEW_KEY_MS;
  let renewed = false;
  for (;;) {
    const secret = await playgroundKey();
    const response = await once(call, secret, signal);
    if (response.ok) return response;
    const problem = await problemIn(response);
    const unknownKey = problem.code === "invalid_api_key";
    if (unknownKey && Date.now() < until) await wait(NEW_KEY_PAUSE_MS, signal);
    else if ((unknownKey || problem.code === "revoked_api_key" || problem.code === "expired_api_key") && !renewed) {
      renewed = true;
      dropKey(secret);
    } else throw problem;
  }
}
