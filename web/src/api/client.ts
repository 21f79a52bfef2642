/** The one place that talks to the console's API: adds the header every change needs, and turns answers into errors. */

export interface Problem {
  message: string;
  code: string;
  param: string | null;
  requestId: string | null;
  charged: boolean | null;
  retryable: boolean;
  docUrl: string | null;
  status: number;
}

export class ApiError extends Error implements Problem {
  readonly code: string;
  readonly param: string | null;
  readonly requestId: string | null;
  /** Whether money moved; null where the answer does not say (the network broke before one came). */
  readonly charged: boolean | null;
  readonly retryable: boolean;
  readonly docUrl: string | null;
  /** The HTTP status; 0 where no answer came at all. */
  readonly status: number;

  constructor(problem: Problem) {
    super(problem.message);
    this.name = "ApiError";
    this.code = problem.code;
    this.param = problem.param;
    this.requestId = problem.requestId;
    this.charged = problem.charged;
    this.retryable = problem.retryable;
    this.docUrl = problem.docUrl;
    this.status = problem.status;
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;
export interface Options {
  query?: Query | undefined;
  signal?: AbortSignal | undefined;
}
/** Every list of the API. */
export interface PageOf<T> {
  data: T[];
  next: string | null;
}

interface Hooks {
  /** Asks for the password again; true once it was given and accepted. */
  stepUp: () => Promise<boolean>;
  signedOut: () => void;
}
let hooks: Hooks = { stepUp: async () => false, signedOut: () => {} };
export function setClientHooks(next: Hooks): void {
  hooks = next;
}

/** Leaves out what is empty, so that a cleared filter leaves the address too. */
export function withQuery(path: string, query?: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? path : `${path}?${text}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Reads the API's error format; anything else (a proxy's page) becomes a problem that says so. */
export function problemOf(status: number, body: unknown): ApiError {
  const error = isRecord(body) && isRecord(body["error"]) ? body["error"] : null;
  if (error === null) {
    return new ApiError({
      message: `The server answered ${status} without saying why.`,
      code: "unreadable_answer",
      param: null,
      requestId: null,
      charged: null,
      retryable: status >= 500,
      docUrl: null,
      status,
    });
  }
  const charged = error["charged"];
  return new ApiError({
    message: text(error["message"]) ?? `The server answered ${status}.`,
    code: text(error["code"]) ?? "unknown",
    param: text(error["param"]),
    requestId: text(error["request_id"]),
    charged: typeof charged === "boolean" ? charged : null,
    retryable: error["retryable"] === true,
    docUrl: text(error["doc_url"]),
    status,
  });
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

async function once(method: Method, path: string, body: unknown, options: Options): Promise<unknown> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (method !== "GET") headers["x-trunkline-console"] = "1";
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(withQuery(path, options.query), {
      method,
      headers,
      credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError({
      message: "The server could not be reached.",
      code: "network",
      param: null,
      requestId: null,
      charged: null,
      retryable: true,
      docUrl: null,
      status: 0,
    });
  }
  const raw = await response.text();
  let parsed: unknown;
  try {
    parsed = raw === "" ? undefined : JSON.parse(raw);
  } catch {
    throw problemOf(response.ok ? 502 : response.status, null);
  }
  if (!response.ok) throw problemOf(response.status, parsed);
  return parsed;
}

async function call<T>(method: Method, path: string, body: unknown, options: Options = {}): Promise<T> {
  try {
    return (await once(method, path, body, options)) as T;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "step_up_required" && (await hooks.stepUp())) {
      return (await once(method, path, body, options)) as T;
    }
    if (error.code === "not_signed_in") hooks.signedOut();
    throw error;
  }
}

export const api = {
  get: <T>(path: string, options?: Options) => call<T>("GET", path, undefined, options),
  post: <T = void>(path: string, body: unknown = {}, options?: Options) => call<T>("POST", path, body, options),
  put: <T = void>(path: string, body: unknown, options?: Options) => call<T>("PUT", path, body, options),
  patch: <T = void>(path: string, body: unknown, options?: Options) => call<T>("PATCH", path, body, options),
  delete: <T = void>(path: string, options?: Options) => call<T>("DELETE", path, undefined, options),
};

/** Whether an error came because the reader left the page or the question was replaced by a newer one. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
