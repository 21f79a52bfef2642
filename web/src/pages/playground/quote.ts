/** What `POST /v1/quotes` answers, and the edits that follow from its report. */
import type { ApiError } from "@/api";
import {
  type Body,
  type FormField,
  type FormValues,
  getPath,
  type Json,
  readExtra,
  removePath,
  setPath,
} from "./forms";

export type Fate = "read" | "defaulted" | "rewritten" | "ignored";

export interface FieldReport {
  field: string;
  fate: Fate;
  code?: string;
  reason?: string;
  fix?: string;
  value?: string;
}

export interface QuoteLine {
  face: string;
  units: number;
  units_are: "exact" | "at_most";
  usd_per_million: string | null;
  amount_usd: string;
  tier: string;
  why: string;
}

export interface Quote {
  id: string;
  model: string;
  exact: boolean;
  price_usd: string | null;
  /** Null where it is not known before media have been measured. */
  minimum_usd: string | null;
  expected_usd: string;
  maximum_usd: string;
  reserved_usd: string;
  expected_basis: string;
  billing_unit: string;
  lines: QuoteLine[];
  units_billed?: number;
  tier?: string;
  tier_reason?: string;
  fields: FieldReport[];
  group: string;
  prices: "standard" | "paid";
  pricing_version: string;
  expires_at: number;
}

/** A change of the form: a value for a path of the body, or null to leave it out. */
export interface Edit {
  path: string;
  value: Json | null;
}

export interface Fix {
  what: "leave_out" | "write_in" | "move" | "mend";
  /** What is written, or where to, for the button's words. */
  text: string;
  edits: Edit[];
}

const MOVES: Record<string, string> = { frame_field_unread: "image", media_dropped: "metadata.first_frame_image" };

/** The fix of a reported field, or null where nothing needs one. */
export function fixOf(report: FieldReport, body: Body): Fix | null {
  const { field, code = "" } = report;
  const target = MOVES[code];
  const here = getPath(body, field);
  if (target !== undefined && here !== undefined) {
    return {
      what: "move",
      text: target,
      edits: [
        { path: field, value: null },
        { path: target, value: here },
      ],
    };
  }
  if (code === "mode_default_pro") return { what: "write_in", text: "std", edits: [{ path: field, value: "std" }] };
  if (code === "size_table_miss") {
    return {
      what: "mend",
      text: "metadata.aspect_ratio: 16:9",
      edits: [
        { path: field, value: null },
        { path: "metadata.aspect_ratio", value: "16:9" },
      ],
    };
  }
  if (report.fate === "ignored" || code === "unknown_field")
    return { what: "leave_out", text: field, edits: [{ path: field, value: null }] };
  if (report.fate === "defaulted" && report.value !== undefined) {
    return { what: "write_in", text: report.value, edits: [{ path: field, value: report.value }] };
  }
  if (report.fate === "rewritten" && report.value !== undefined && here !== undefined && typeof here !== "object") {
    return { what: "leave_out", text: field, edits: [{ path: field, value: null }] };
  }
  return null;
}

/** The fix of a refusal, where its code says exactly what to change. */
export function fixOfRefusal(error: Pick<ApiError, "code" | "param">, body: Body): Fix | null {
  const path = error.param;
  if (path === null) return null;
  const here = getPath(body, path);
  if (error.code === "size_separator" && typeof here === "string") {
    const mended = here.replace(/[xX×]/, "*");
    return { what: "mend", text: mended, edits: [{ path, value: mended }] };
  }
  if (error.code === "ratio_required") return { what: "write_in", text: "16:9", edits: [{ path, value: "16:9" }] };
  if (error.code === "type_string" && here !== undefined) {
    return { what: "mend", text: JSON.stringify(String(here)), edits: [{ path, value: String(here) }] };
  }
  const droppable = ["parameter_refused", "translation_refused", "unknown_field", "unknown_parameter", "field_ignored"];
  if (droppable.includes(error.code) && here !== undefined) {
    return { what: "leave_out", text: path, edits: [{ path, value: null }] };
  }
  return null;
}

/** Lays edits over what was typed: into the field that stands for the path, else into the further fields. */
export function applyEdits(
  edits: Edit[],
  fields: FormField[],
  values: FormValues,
  extra: string,
): { values: FormValues; extra: string } {
  const next: FormValues = { ...values };
  const read = readExtra(extra);
  let body: Body | null = read.ok ? read.body : null;
  for (const { path, value } of edits) {
    const field = fields.find((one) => one.path === path);
    if (field !== undefined) next[field.key] = value === null ? "" : typedText(value);
    else if (body !== null && value !== null) body = setPath(body, path, value);
    if (body !== null && value === null) body = removePath(body, path);
  }
  if (body === null) return { values: next, extra };
  return { values: next, extra: Object.keys(body).length === 0 ? "" : JSON.stringify(body, null, 2) };
}

function typedText(value: Json): string {
  if (Array.isArray(value)) return value.map(String).join("\n");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
