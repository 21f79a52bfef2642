/**
 * Files of this machine that stand where a form takes an address.
 *
 * A form keeps texts. A chosen file is a text too: its token, `upload:3`, in the place of an address. So a file moves,
 * is left out and comes back from the history as every other value does; only the call itself asks what it stands for.
 */
import type { Body, Json } from "./forms";

/** What a field takes: a picture, a video or a recording. */
export type Media = "picture" | "clip" | "sound";

export const ACCEPTED: Record<Media, string> = { picture: "image/*", clip: "video/*", sound: "audio/*" };

export interface UploadFacts {
  name: string;
  bytes: number;
  /** As the browser names it; empty where it knows none. */
  type: string;
}
export type Uploads = (token: string) => UploadFacts | null;

/** The gateway reads a request of 32,000,000 bytes. What is not a file has a part of it. */
export const MOST_BYTES = 31_000_000;
/** Files of one form. */
export const MOST_FILES = 32;
/** Files that are held for forms and past runs together; the oldest is let go first. */
const MOST_HELD = 128;

interface Held {
  file: File;
  url: string;
}
const held = new Map<string, Held>();
let last = 0;

export function holdFile(file: File): string {
  last += 1;
  const token = `upload:${last}`;
  held.set(token, { file, url: URL.createObjectURL(file) });
  for (const [oldest, one] of held) {
    if (held.size <= MOST_HELD) break;
    URL.revokeObjectURL(one.url);
    held.delete(oldest);
  }
  return token;
}

export function heldFile(token: string): File | null {
  return held.get(token)?.file ?? null;
}

/** Where a picture or a video of it can be shown from. */
export function heldUrl(token: string): string | null {
  return held.get(token)?.url ?? null;
}

export const heldFacts: Uploads = (token) => {
  const file = held.get(token)?.file;
  return file === undefined ? null : { name: file.name, bytes: file.size, type: file.type };
};

export function isToken(value: Json | undefined): value is string {
  return typeof value === "string" && /^upload:\d+$/.test(value);
}

/** A field's text as the addresses that were typed and the files that were chosen. */
export function splitValue(value: string): { typed: string; tokens: string[] } {
  const lines = value.split("\n");
  return { typed: lines.filter((line) => !isToken(line)).join("\n"), tokens: lines.filter(isToken) };
}

/** Addresses first, files behind them: in this order they are sent. */
export function joinValue(typed: string, tokens: string[]): string {
  return [...(typed === "" ? [] : [typed]), ...tokens].join("\n");
}

export type FileFault = "empty" | "kind" | "large" | "together" | "many";

/** What speaks against a file, before anything is sent. `others` are the files that the form has already. */
export function fileFault(file: UploadFacts, media: Media, others: UploadFacts[]): FileFault | null {
  const kind = { picture: "image/", clip: "video/", sound: "audio/" }[media];
  if (file.bytes === 0) return "empty";
  // A type that the browser does not know is left to the gateway's own words.
  if (file.type !== "" && !file.type.startsWith(kind)) return "kind";
  if (file.bytes > MOST_BYTES) return "large";
  if (others.length >= MOST_FILES) return "many";
  return others.reduce((sum, one) => sum + one.bytes, file.bytes) > MOST_BYTES ? "together" : null;
}

/** Every token in a body, wherever it stands. */
export function tokensIn(value: Json): string[] {
  if (isToken(value)) return [value];
  if (Array.isArray(value)) return value.flatMap(tokensIn);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(tokensIn) : [];
}

/** A picture of one pixel: in a quote it stands for pictures, which are priced by their number alone. */
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The body to quote a call with files by, where only pictures and addresses are taken for one. */
export function withPixels(body: Body): Body {
  const put = (value: Json): Json => {
    if (isToken(value)) return PIXEL;
    if (Array.isArray(value)) return value.map(put);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, put(one)]));
  };
  return put(body) as Body;
}

export interface FormFile {
  field: string;
  name: string;
  type: string;
  /** Its token, or `recording`. */
  upload: string;
}
/** A call as a form: texts, and files behind them. A name may stand several times. */
export interface FormParts {
  fields: [string, string][];
  files: FormFile[];
}

function text(value: Json): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function fileOf(field: string, token: string, uploads: Uploads): FormFile {
  const facts = uploads(token);
  return { field, name: facts?.name ?? "file", type: facts?.type ?? "", upload: token };
}

/** What is left of a value without its files, which are told apart by their names: `metadata[image_tail]`, `images[]`. */
function parted(value: Json, name: string, uploads: Uploads, files: FormFile[]): Json | undefined {
  if (isToken(value)) {
    files.push(fileOf(name, value, uploads));
    return undefined;
  }
  if (Array.isArray(value)) {
    for (const token of value.filter(isToken)) files.push(fileOf(`${name}[]`, token, uploads));
    const rest = value.filter((one) => !isToken(one));
    return rest.length === 0 && value.length > 0 ? undefined : rest;
  }
  if (typeof value !== "object" || value === null) return value;
  const rest: Body = {};
  for (const [key, one] of Object.entries(value)) {
    const left = parted(one, `${name}[${key}]`, uploads, files);
    if (left !== undefined) rest[key] = left;
  }
  return Object.keys(rest).length === 0 && Object.keys(value).length > 0 ? undefined : rest;
}

/** A video as a form: `metadata` and `images` are fields of JSON, so that numbers stay numbers; files join them. */
export function videoForm(body: Body, uploads: Uploads): FormParts {
  const parts: FormParts = { fields: [], files: [] };
  for (const [name, value] of Object.entries(body)) {
    const left = parted(value, name, uploads, parts.files);
    if (left !== undefined && left !== null) parts.fields.push([name, text(left)]);
  }
  return parts;
}

/** An edit as a form: one picture is `image`, several are `image[]` each. */
export function editForm(body: Body, uploads: Uploads): FormParts {
  const parts: FormParts = { fields: [], files: [] };
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue;
    const several = name === "image" && Array.isArray(value) ? value : [value];
    const field = name === "image" && several.length > 1 ? "image[]" : name;
    for (const one of several) {
      if (isToken(one)) parts.files.push(fileOf(field, one, uploads));
      else parts.fields.push([field, text(one)]);
    }
  }
  return parts;
}
