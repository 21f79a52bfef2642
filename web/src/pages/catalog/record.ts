/**
 * A model's record as `GET /api/pricing` gives it, and what pages read from it.
 *
 * The record keeps prices as whole pico-USD for one unit and specs as a JSON text; neither reaches a page. Nothing here
 * draws anything or sends a request.
 */

export type Face =
  | "input"
  | "output"
  | "cache_read"
  | "cache_write"
  | "cache_write_1h"
  | "image_input"
  | "image_output"
  | "audio_input"
  | "audio_output"
  | "per_call"
  | "video_second";

export type EndpointType =
  | "openai"
  | "anthropic"
  | "openai-response"
  | "openai-video"
  | "image-generation"
  | "audio-speech"
  | "audio-transcription"
  | "realtime"
  | "gemini"
  | "music-generation"
  | "system-one";

export type BillingUnit = "tokens" | "per_second" | "per_call" | "characters" | "audio_duration";

export type FacePrices = Partial<Record<Face, number>>;

export interface TierCondition {
  dim: "context_len" | "request_attr" | "wall_clock";
  context_len_gt?: number;
  path?: string;
  equals?: unknown;
  timezone?: string;
  weekdays?: number[];
  hours?: number[];
}

export interface PriceTier {
  tier: string;
  standard: FacePrices;
  paid: FacePrices | null;
  when?: TierCondition[];
}

export interface RouteHealth {
  window_hours: number;
  sample_size: number;
  success_ratio: number | null;
  last_checked_at: string | null;
}

export interface VendorList {
  verdict: "at_list" | "below_list" | "above_list" | "sources_disagree" | "unverified";
  discount_pct?: number;
  list_source?: string;
  verified_at?: string;
}

export interface PricingRecord {
  model_name: string;
  description?: string;
  specs: string;
  login_required: number;
  tags?: string;
  owner_by?: string;
  vendor_id?: number;
  enable_groups: string[];
  supported_endpoint_types: EndpointType[];
  capabilities: string[];
  tasks: string[];
  billing_rate: number;
  billing_rate_source: string;
  pricing_version: string;
  billing_unit: BillingUnit;
  default_voice?: string;
  default_response_format?: string;
  accepted_upload_formats?: string[];
  vendor_list?: VendorList;
  book_faces: {
    standard: FacePrices;
    paid: FacePrices | null;
    route_count: number;
    tier_count?: number;
    tiers?: PriceTier[];
  };
  route_health?: RouteHealth;
}

export interface Pricing {
  data: PricingRecord[];
  auto_groups: string[];
}

/** What is known of a model; what is not known is left out. */
export interface Specs {
  type?: string;
  context_window?: number;
  max_input_tokens?: number;
  max_output_tokens?: number;
  input_modalities?: string[];
  output_modalities?: string[];
  reasoning_efforts?: string[];
  resolutions?: string[];
  qualities?: string[];
  default_size?: string;
  default_quality?: string;
  durations?: number[];
  min_duration_seconds?: number;
  max_duration_seconds?: number;
  max_images?: number;
  max_input_characters?: number;
  max_upload_seconds?: number;
  max_upload_bytes?: number;
  max_references?: number;
  max_reference_images?: number;
  max_reference_videos?: number;
  voices?: string[];
  response_formats?: string[];
  video_family?: string;
  pricing_notes?: string;
}

/** What a model is for, in the one word by which people look for it. */
export const MODEL_KINDS = [
  "chat",
  "image",
  "video",
  "speech",
  "transcription",
  "realtime",
  "embedding",
  "rerank",
  "moderation",
  "music",
  "other",
] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export interface Model {
  name: string;
  description: string;
  kind: ModelKind;
  vendor: string;
  specs: Specs;
  record: PricingRecord;
}

/** Specs are a JSON text; one that cannot be read says nothing about the model. */
export function readSpecs(text: string): Specs {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Specs) : {};
  } catch {
    return {};
  }
}

export function kindOf(record: PricingRecord): ModelKind {
  const ends = record.supported_endpoint_types;
  const tasks = record.tasks;
  if (ends.includes("openai-video")) return "video";
  if (ends.includes("image-generation")) return "image";
  if (ends.includes("audio-speech")) return "speech";
  if (ends.includes("audio-transcription")) return "transcription";
  if (ends.includes("realtime")) return "realtime";
  if (ends.includes("music-generation")) return "music";
  if (tasks.includes("embeddings")) return "embedding";
  if (tasks.includes("rerank")) return "rerank";
  if (tasks.includes("moderation")) return "moderation";
  if (tasks.includes("chat") || ends.includes("anthropic") || ends.includes("openai")) return "chat";
  return "other";
}

/** Social data has records too, but is found under its platforms. */
export function isSocial(record: PricingRecord): boolean {
  return record.tasks.includes("social-data");
}

const VENDOR_NAMES: Record<string, string> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  google: "Google",
  alibaba: "Alibaba",
  minimax: "MiniMax",
  mistral: "Mistral",
  bytedance: "ByteDance",
  zhipu: "Zhipu",
  xai: "xAI",
  cohere: "Cohere",
  moonshot: "Moonshot",
  kling: "Kling",
  voyage: "Voyage",
  deepseek: "DeepSeek",
  black_forest_labs: "Black Forest Labs",
  xiaomi: "Xiaomi",
  meta: "Meta",
  perplexity: "Perplexity",
  jina: "Jina",
  simulator: "Simulator",
};

/** A vendor we have no spelling for is shown by the word in its record. */
export function vendorName(owner: string | undefined): string {
  if (owner === undefined || owner === "") return "";
  return VENDOR_NAMES[owner] ?? owner;
}

export function readModels(pricing: Pricing): Model[] {
  return pricing.data
    .filter((record) => !isSocial(record))
    .map((record) => ({
      name: record.model_name,
      description: record.description ?? "",
      kind: kindOf(record),
      vendor: vendorName(record.owner_by),
      specs: readSpecs(record.specs),
      record,
    }));
}

/** Tasks of one request each; a conversation by voice is a connection and has a page of its own. */
export type PlaygroundTask = "chat" | "image" | "video" | "speech" | "transcription" | "social";

/** The playground that a model can be tried in, or null where there is none. */
export function playgroundTask(model: Model): PlaygroundTask | "voice" | null {
  switch (model.kind) {
    case "chat":
    case "image":
    case "video":
    case "speech":
    case "transcription":
      return model.record.book_faces.route_count > 0 ? model.kind : null;
    case "realtime":
      return model.record.book_faces.route_count > 0 ? "voice" : null;
    case "embedding":
    case "rerank":
    case "moderation":
    case "music":
    case "other":
      return null;
  }
}

export type HealthState = "good" | "degraded" | "failing" | "unmeasured" | "unserved";

/** Calls below this count say little; the page shows the count beside the word. */
export const FEW_CALLS = 20;

export function healthOf(model: Model): HealthState {
  if (model.record.book_faces.route_count === 0) return "unserved";
  const health = model.record.route_health;
  if (health === undefined || health.sample_size === 0 || health.success_ratio === null) return "unmeasured";
  if (health.success_ratio >= 0.98) return "good";
  return health.success_ratio >= 0.9 ? "degraded" : "failing";
}

/** One capability of one platform, as `GET /api/social/catalog` lists it. */
export interface SocialCell {
  platform: string;
  label: string;
  name: string;
  capability: string;
  model: string;
  method: string;
  path: string;
  params: SocialParam[];
  require_one_of?: string[][];
  price_usd: number | null;
  unit: string;
  status: "available" | "paused";
  pages: boolean;
}

export interface SocialParam {
  name: string;
  type: "string" | "integer" | "boolean";
  required: boolean;
  description: string;
  default?: string | number | boolean;
  example?: string | number | boolean;
}

export interface SocialCatalog {
  cells: SocialCell[];
}

/** Descriptions hold English and Chinese with a slash between them. */
export function describeParam(description: string, language: "en" | "zh"): string {
  const cut = description.indexOf(" / ");
  if (cut < 0) return description;
  return language === "zh" ? description.slice(cut + 3) : description.slice(0, cut);
}
