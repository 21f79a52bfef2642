/**
 * The playground's forms, made of a model's record, and the bodies that come of them.
 *
 * A field has a `key` under which the form keeps what was typed, and a `path` in the body. Keys stay the same where
 * formats name a thing differently, so that changing the format loses nothing. Left empty, a field is not sent.
 */
import type { Model, SocialCell } from "@/pages/catalog/record";
import type { Media } from "./uploads";

export type ChatFormat = "chat" | "messages" | "responses" | "gemini";
export const CHAT_FORMATS: ChatFormat[] = ["chat", "messages", "responses", "gemini"];

export type FieldKind = "line" | "long" | "choice" | "number" | "address" | "file";
/** How a value is written into JSON. Some vendors want numbers as texts, and say so in their families. */
export type Wire = "text" | "integer" | "decimal" | "boolean" | "texts";

export interface FormField {
  key: string;
  path: string;
  kind: FieldKind;
  wire: Wire;
  choices?: string[];
  /** An address of this, or a file: of one, or with the wire `texts` of several. */
  media?: Media;
  /** What the gateway writes in or the vendor does where the field is left empty, if that is known. */
  fallback?: string;
  required?: boolean;
  /** Behind "more settings". */
  more?: boolean;
  /** A description that comes with the record (social data), in the record's own words. */
  description?: string;
}

export type FormValues = Record<string, string>;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Body = { [key: string]: Json };

const ENDPOINT_OF: Record<ChatFormat, string> = {
  chat: "openai",
  messages: "anthropic",
  responses: "openai-response",
  gemini: "gemini",
};

export function formatsOf(model: Model): ChatFormat[] {
  return CHAT_FORMATS.filter((format) =>
    (model.record.supported_endpoint_types as string[]).includes(ENDPOINT_OF[format]),
  );
}

const MAX_PATH: Record<ChatFormat, string> = {
  chat: "max_tokens",
  messages: "max_tokens",
  responses: "max_output_tokens",
  gemini: "generationConfig.maxOutputTokens",
};

/** Anthropic's format wants a longest answer; this is written where the reader names none. */
export const MESSAGES_MAX_TOKENS = "1024";

export function chatFields(format: ChatFormat, model: Model | null): FormField[] {
  const inConfig = format === "gemini" ? "generationConfig." : "";
  const fields: FormField[] = [
    { key: "temperature", path: `${inConfig}temperature`, kind: "number", wire: "decimal" },
    {
      key: "max_tokens",
      path: MAX_PATH[format],
      kind: "number",
      wire: "integer",
      ...(format === "messages" ? { fallback: MESSAGES_MAX_TOKENS } : {}),
    },
  ];
  if (format !== "responses") {
    const path = { chat: "stop", messages: "stop_sequences", gemini: "generationConfig.stopSequences" }[format];
    fields.push({ key: "stop", path, kind: "line", wire: "texts", more: true });
  }
  fields.push({
    key: "top_p",
    path: format === "gemini" ? "generationConfig.topP" : "top_p",
    kind: "number",
    wire: "decimal",
    more: true,
  });
  const efforts = model?.specs.reasoning_efforts ?? [];
  if (efforts.length > 0 && (format === "chat" || format === "responses")) {
    const path = format === "chat" ? "reasoning_effort" : "reasoning.effort";
    fields.push({ key: "reasoning_effort", path, kind: "choice", wire: "text", choices: efforts, more: true });
  }
  return fields;
}

export interface Turn {
  role: "user" | "assistant";
  text: string;
}

/** Turns and instructions where each format has them. A call from here always streams. */
export function chatBody(format: ChatFormat, model: string, system: string, turns: Turn[]): Body {
  switch (format) {
    case "chat": {
      const first: Json[] = system === "" ? [] : [{ role: "system", content: system }];
      const messages = [...first, ...turns.map((turn): Json => ({ role: turn.role, content: turn.text }))];
      return { model, messages, stream: true, stream_options: { include_usage: true } };
    }
    case "messages":
      return {
        model,
        ...(system === "" ? {} : { system }),
        messages: turns.map((turn): Json => ({ role: turn.role, content: turn.text })),
        max_tokens: Number(MESSAGES_MAX_TOKENS),
        stream: true,
      };
    case "responses":
      return {
        model,
        ...(system === "" ? {} : { instructions: system }),
        input: turns.map((turn): Json => ({ role: turn.role, content: turn.text })),
        stream: true,
        store: false,
      };
    case "gemini":
      return {
        model,
        ...(system === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
        contents: turns.map(
          (turn): Json => ({ role: turn.role === "user" ? "user" : "model", parts: [{ text: turn.text }] }),
        ),
      };
  }
}

export function canEdit(model: Model): boolean {
  return model.record.tasks.includes("image-editing");
}

export function imageFields(model: Model, editing: boolean): FormField[] {
  const { resolutions, qualities, default_size, default_quality } = model.specs;
  const fields: FormField[] = [{ key: "prompt", path: "prompt", kind: "long", wire: "text", required: true }];
  if (editing) {
    fields.unshift({
      key: "edit_image",
      path: "image",
      kind: "address",
      wire: "texts",
      media: "picture",
      required: true,
    });
    fields.push({ key: "mask", path: "mask", kind: "address", wire: "text", media: "picture" });
  }
  fields.push(
    resolutions === undefined
      ? { key: "size", path: "size", kind: "line", wire: "text" }
      : { key: "size", path: "size", kind: "choice", wire: "text", choices: resolutions, ...fallback(default_size) },
  );
  if (qualities !== undefined) {
    fields.push({
      key: "quality",
      path: "quality",
      kind: "choice",
      wire: "text",
      choices: qualities,
      ...fallback(default_quality),
    });
  }
  fields.push({ key: "n", path: "n", kind: "number", wire: "integer", fallback: "1" });
  return fields;
}

export function speechFields(model: Model): FormField[] {
  const { voices, response_formats } = model.specs;
  const { default_response_format } = model.record;
  return [
    { key: "input", path: "input", kind: "long", wire: "text", required: true },
    voices === undefined
      ? { key: "voice", path: "voice", kind: "line", wire: "text", required: true }
      : { key: "voice", path: "voice", kind: "choice", wire: "text", choices: voices, required: true },
    response_formats === undefined
      ? {
          key: "response_format",
          path: "response_format",
          kind: "line",
          wire: "text",
          ...fallback(default_response_format),
        }
      : {
          key: "response_format",
          path: "response_format",
          kind: "choice",
          wire: "text",
          choices: response_formats,
          ...fallback(default_response_format),
        },
    { key: "speed", path: "speed", kind: "number", wire: "decimal", more: true },
    { key: "instructions", path: "instructions", kind: "long", wire: "text", more: true },
  ];
}

/** What a model speaks with where no voice is chosen. */
export function usualVoice(model: Model): string {
  return model.record.default_voice ?? model.specs.voices?.[0] ?? "";
}

export function transcriptionFields(): FormField[] {
  return [
    { key: "file", path: "file", kind: "file", wire: "text", required: true },
    { key: "language", path: "language", kind: "line", wire: "text" },
    {
      key: "response_format",
      path: "response_format",
      kind: "choice",
      wire: "text",
      choices: ["json", "text", "srt", "verbose_json", "vtt"],
      fallback: "json",
    },
    { key: "prompt", path: "prompt", kind: "long", wire: "text", more: true },
  ];
}

export function socialFields(cell: SocialCell, describe: (text: string) => string): FormField[] {
  const grouped = new Set((cell.require_one_of ?? []).flat());
  const few = cell.params.length <= 4;
  return cell.params.map((param) => ({
    key: param.name,
    path: param.name,
    kind: param.type === "boolean" ? "choice" : param.type === "integer" ? "number" : "line",
    wire: param.type === "boolean" ? "boolean" : param.type === "integer" ? "integer" : "text",
    description: describe(param.description),
    ...(param.type === "boolean" ? { choices: ["true", "false"] } : {}),
    ...(param.required ? { required: true } : few || grouped.has(param.name) ? {} : { more: true }),
    ...(param.default === undefined ? {} : { fallback: String(param.default) }),
  }));
}

function fallback(value: string | undefined): { fallback?: string } {
  return value === undefined ? {} : { fallback: value };
}

/** What was typed as JSON. A number that cannot be read goes as the text it is: the gateway says what is wrong with it. */
export function wireValue(field: FormField, typed: string): Json {
  switch (field.wire) {
    case "text":
      return typed;
    case "integer":
      // Longer ones would lose digits as a number.
      return /^-?\d{1,15}$/.test(typed.trim()) ? Number(typed) : typed;
    case "decimal":
      return /^-?\d+(\.\d+)?$/.test(typed.trim()) ? Number(typed) : typed;
    case "boolean":
      return typed === "true" ? true : typed === "false" ? false : typed;
    case "texts":
      return typed
        .split(/[\n,]/)
        .map((one) => one.trim())
        .filter((one) => one !== "");
  }
}

export function setPath(body: Body, path: string, value: Json): Body {
  const [head = "", ...rest] = path.split(".");
  if (rest.length === 0) return { ...body, [head]: value };
  const inner = body[head];
  return { ...body, [head]: setPath(isObject(inner) ? inner : {}, rest.join("."), value) };
}

export function removePath(body: Body, path: string): Body {
  const [head = "", ...rest] = path.split(".");
  const { [head]: inner, ...others } = body;
  if (inner === undefined || rest.length === 0) return others;
  if (!isObject(inner)) return body;
  const left = removePath(inner, rest.join("."));
  return Object.keys(left).length === 0 ? others : { ...body, [head]: left };
}

export function getPath(body: Body, path: string): Json | undefined {
  let here: Json | undefined = body;
  for (const part of path.split(".")) here = isObject(here) ? here[part] : undefined;
  return here;
}

export function isObject(value: Json | undefined): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The body of a form: what stands already, then every field that was filled in. */
export function fillBody(start: Body, fields: FormField[], values: FormValues): Body {
  let body = start;
  for (const field of fields) {
    const typed = values[field.key] ?? "";
    if (typed.trim() === "" || field.kind === "file") continue;
    body = setPath(body, field.path, wireValue(field, typed));
  }
  return body;
}

export type Extra = { ok: true; body: Body } | { ok: false; why: "not_json" | "not_object" };

/** Further fields are a JSON object that is laid over the body, member by member. */
export function readExtra(text: string): Extra {
  if (text.trim() === "") return { ok: true, body: {} };
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? { ok: true, body: value } : { ok: false, why: "not_object" };
  } catch {
    return { ok: false, why: "not_json" };
  }
}

export function overlay(body: Body, extra: Body): Body {
  const merged: Body = { ...body };
  for (const [key, value] of Object.entries(extra)) {
    const under = merged[key];
    merged[key] = isObject(under) && isObject(value) ? overlay(under, value) : value;
  }
  return merged;
}

export function missingFields(fields: FormField[], values: FormValues): string[] {
  return fields
    .filter((field) => field.required === true && (values[field.key] ?? "").trim() === "")
    .map((field) => field.key);
}
