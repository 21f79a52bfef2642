/** A playground's draft and the plan that follows from it: fields, body, quote, call. Pure. */
import type { Model, PlaygroundTask, SocialCell } from "@/pages/catalog/record";
import { rootOf } from "@/pages/connect/snippets";
import type { Call } from "./code";
import { videoFields } from "./families";
import {
  type Body,
  type ChatFormat,
  canEdit,
  chatBody,
  chatFields,
  type FormField,
  type FormValues,
  fillBody,
  formatsOf,
  getPath,
  imageFields,
  isObject,
  missingFields,
  overlay,
  readExtra,
  socialFields,
  speechFields,
  type Turn,
  transcriptionFields,
  usualVoice,
} from "./forms";
import { editForm, tokensIn, type Uploads, videoForm, withPixels } from "./uploads";

export interface Draft {
  model: string;
  format: ChatFormat;
  values: FormValues;
  /** Further fields, as typed. */
  extra: string;
  system: string;
  message: string;
  turns: Turn[];
  platform: string;
  capability: string;
  /** Pictures are edited, not made anew. */
  editing: boolean;
}

export const EMPTY_DRAFT: Draft = {
  model: "",
  format: "chat",
  values: {},
  extra: "",
  system: "",
  message: "",
  turns: [],
  platform: "",
  capability: "",
  editing: false,
};

/** What this browser could find out about a chosen file. */
export interface FileFacts {
  name: string;
  bytes: number;
  type: string;
  /** Null where the browser cannot read it. */
  seconds: number | null;
}

export interface Plan {
  fields: FormField[];
  body: Body;
  call: Call;
  /** What to ask `POST /v1/quotes`; null while something that is required is missing. */
  quote: { endpoint: string; body: Body } | null;
  missing: string[];
}

const CHAT_PATHS: Record<Exclude<ChatFormat, "gemini">, string> = {
  chat: "/chat/completions",
  messages: "/messages",
  responses: "/responses",
};

/** A value that is no choice of this model is not sent, and not shown either. */
export function shownValues(fields: FormField[], values: FormValues): FormValues {
  const shown: FormValues = {};
  for (const field of fields) {
    const value = values[field.key] ?? "";
    shown[field.key] = field.choices !== undefined && !field.choices.includes(value) ? "" : value;
  }
  return shown;
}

/** What a form begins with where leaving it empty would be refused. */
export function presets(task: PlaygroundTask, model: Model): FormValues {
  if (task === "speech") return { voice: usualVoice(model) };
  if (task !== "video") return {};
  const family = model.specs.video_family;
  if (family === "c_multi") return { "metadata.aspect_ratio": "16:9" };
  return family === "d_native" ? { "metadata.ratio": "16:9" } : {};
}

export function socialPresets(cell: SocialCell): FormValues {
  const values: FormValues = {};
  const named = new Set((cell.require_one_of ?? []).map((group) => group[0]));
  for (const param of cell.params) {
    if ((param.required || named.has(param.name)) && param.example !== undefined)
      values[param.name] = String(param.example);
  }
  return values;
}

export function usableFormat(draft: Draft, model: Model): ChatFormat {
  const formats = formatsOf(model);
  return formats.includes(draft.format) ? draft.format : (formats[0] ?? "chat");
}

/** The longest answer gets a second name in the body of a call that streams; nothing else differs from the form. */
function chatPlan(draft: Draft, model: Model, base: string): Plan {
  const format = usableFormat(draft, model);
  const fields = chatFields(format, model);
  const typed = draft.message.trim();
  const turns: Turn[] = typed === "" ? draft.turns : [...draft.turns, { role: "user", text: draft.message }];
  const body = withExtra(
    fillBody(chatBody(format, model.name, draft.system, turns), fields, shownValues(fields, draft.values)),
    draft,
  );
  const missing = typed === "" ? ["message"] : [];
  return {
    fields,
    body,
    call: chatCall(format, model.name, body, base),
    quote: missing.length === 0 ? { endpoint: format, body } : null,
    missing,
  };
}

function chatCall(format: ChatFormat, model: string, body: Body, base: string): Call {
  if (format !== "gemini") return { method: "POST", url: `${base}${CHAT_PATHS[format]}`, body, streams: true };
  // Google's path names the model; its body does not.
  const { model: _, ...rest } = body;
  const url = `${rootOf(base)}/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`;
  return { method: "POST", url, body: rest, streams: true };
}

function withExtra(body: Body, draft: Draft): Body {
  const extra = readExtra(draft.extra);
  return extra.ok ? overlay(body, extra.body) : body;
}

function speechPlan(draft: Draft, model: Model, base: string): Plan {
  const fields = speechFields(model);
  const values = shownValues(fields, draft.values);
  const body = withExtra(fillBody({ model: model.name }, fields, values), draft);
  const missing = missingFields(fields, values);
  const format = values["response_format"];
  const kind = format === undefined || format === "" ? (model.record.default_response_format ?? "mp3") : format;
  const call: Call = { method: "POST", url: `${base}/audio/speech`, body, saveAs: `speech.${kind}` };
  return { fields, body, call, quote: missing.length === 0 ? { endpoint: "speech", body } : null, missing };
}

/** What is drawn or filmed. With a file among its values the call is a form; a quote never has the file itself. */
function drawnPlan(task: "image" | "video", draft: Draft, model: Model, base: string, uploads: Uploads): Plan {
  const editing = task === "image" && draft.editing && canEdit(model);
  const fields = task === "video" ? videoFields(model) : imageFields(model, editing);
  const values = shownValues(fields, draft.values);
  const body = withExtra(fillBody({ model: model.name }, fields, values), draft);
  const tokens = tokensIn(body);
  // A file that is no longer held has to be chosen again.
  const lost = fields.filter((field) => tokensIn(getPath(body, field.path) ?? "").some((one) => uploads(one) === null));
  const missing = [...missingFields(fields, values), ...lost.map((field) => field.key)];
  const path = task === "video" ? "/videos" : editing ? "/images/edits" : "/images/generations";
  const url = `${base}${path}`;
  const form = editing ? editForm : videoForm;
  const call: Call =
    tokens.length === 0 ? { method: "POST", url, body } : { method: "POST", url, form: form(body, uploads) };
  const endpoint = task === "video" ? "videos" : editing ? "images/edits" : "images";
  const quoted = editing ? withPixels(body) : body;
  return { fields, body, call, quote: missing.length === 0 ? { endpoint, body: quoted } : null, missing };
}

/** What the recording is called among the files of a call. */
export const RECORDING = "recording";

function transcriptionPlan(draft: Draft, model: Model, base: string, file: FileFacts | null): Plan {
  const fields = transcriptionFields();
  const body = withExtra(fillBody({ model: model.name }, fields, shownValues(fields, draft.values)), draft);
  const missing = file === null ? ["file"] : [];
  const call: Call = {
    method: "POST",
    url: `${base}/audio/transcriptions`,
    form: {
      fields: Object.entries(textFields(body)),
      files: [{ field: "file", name: file?.name ?? "recording.mp3", type: file?.type ?? "", upload: RECORDING }],
    },
  };
  const seconds = file?.seconds ?? null;
  const quote =
    seconds === null
      ? null
      : { endpoint: "transcriptions", body: { ...body, file: { seconds: Math.max(1, Math.ceil(seconds)) } } };
  return { fields, body, call, quote, missing };
}

/** A form has texts only; what is an object goes as JSON. */
export function textFields(body: Body): Record<string, string> {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value),
    ]),
  );
}

export function socialPlan(draft: Draft, cell: SocialCell, base: string, describe: (text: string) => string): Plan {
  const fields = socialFields(cell, describe);
  const values = shownValues(fields, draft.values);
  const body = withExtra(fillBody({}, fields, values), draft);
  const missing = missingFields(fields, values);
  for (const group of cell.require_one_of ?? []) {
    if (!group.some((name) => (values[name] ?? "").trim() !== "")) missing.push(group.join(" | "));
  }
  const query = new URLSearchParams(textFields(body)).toString();
  const url = `${rootOf(base)}${cell.path}${query === "" ? "" : `?${query}`}`;
  return {
    fields,
    body,
    call: { method: "GET", url },
    quote: missing.length === 0 ? { endpoint: cell.path, body } : null,
    missing,
  };
}

export function modelPlan(
  task: Exclude<PlaygroundTask, "social">,
  draft: Draft,
  model: Model,
  base: string,
  file: FileFacts | null,
  uploads: Uploads = () => null,
): Plan {
  switch (task) {
    case "chat":
      return chatPlan(draft, model, base);
    case "image":
    case "video":
      return drawnPlan(task, draft, model, base, uploads);
    case "speech":
      return speechPlan(draft, model, base);
    case "transcription":
      return transcriptionPlan(draft, model, base, file);
  }
}
