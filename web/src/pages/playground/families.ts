/**
 * The fields that each family of video models reads, for the playground's form.
 *
 * It mirrors docs/guide/video.md. A field that a family does not read is not offered; a reader who types it as a further field
 * sees in the report that it is ignored.
 */
import type { Model } from "@/pages/catalog/record";
import type { FormField } from "./forms";
import type { Media } from "./uploads";

const RATIOS = ["16:9", "9:16", "1:1"];
const SIZES_BY_TIER: Record<string, string[]> = {
  "480P": ["832*480", "480*832", "624*624"],
  "720P": ["1280*720", "720*1280", "960*960", "1088*832", "832*1088"],
  "1080P": ["1920*1080", "1080*1920", "1440*1440", "1632*1248", "1248*1632"],
};

const prompt = (required: boolean): FormField => ({
  key: "prompt",
  path: "prompt",
  kind: "long",
  wire: "text",
  ...(required ? { required: true } : {}),
});
const address = (path: string, media: Media, more = false, required = false): FormField => ({
  key: path,
  path,
  kind: "address",
  wire: "text",
  media,
  ...(more ? { more: true } : {}),
  ...(required ? { required: true } : {}),
});
const pictures = (path: string): FormField => ({
  key: path,
  path,
  kind: "address",
  wire: "texts",
  media: "picture",
  more: true,
});
const choice = (path: string, choices: string[], fallback?: string, more = false): FormField => ({
  key: path,
  path,
  kind: "choice",
  wire: "text",
  choices,
  ...(fallback === undefined ? {} : { fallback }),
  ...(more ? { more: true } : {}),
});
const toggle = (path: string, fallback?: string): FormField => ({
  key: path,
  path,
  kind: "choice",
  wire: "boolean",
  choices: ["true", "false"],
  more: true,
  ...(fallback === undefined ? {} : { fallback }),
});
const seed: FormField = { key: "metadata.seed", path: "metadata.seed", kind: "number", wire: "integer", more: true };
const unwanted: FormField = {
  key: "metadata.negative_prompt",
  path: "metadata.negative_prompt",
  kind: "long",
  wire: "text",
  more: true,
};

/** The lengths a model makes: those that are listed, else every second between the shortest and the longest. */
export function lengthsOf(model: Model): string[] {
  const { durations, min_duration_seconds, max_duration_seconds } = model.specs;
  if (durations !== undefined) return durations.map(String);
  if (max_duration_seconds === undefined) return [];
  const shortest = min_duration_seconds ?? 1;
  return Array.from({ length: Math.max(0, max_duration_seconds - shortest + 1) }, (_, index) =>
    String(shortest + index),
  );
}

function length(model: Model, path: string, wire: "integer" | "text", fallback?: string): FormField {
  const choices = lengthsOf(model);
  const rest = fallback === undefined ? {} : { fallback };
  return choices.length === 0
    ? { key: "length", path, kind: "number", wire, ...rest }
    : { key: "length", path, kind: "choice", wire, choices, ...rest };
}

function sizesOf(model: Model): string[] {
  return (model.specs.resolutions ?? []).flatMap((tier) => SIZES_BY_TIER[tier] ?? []);
}

function wan(model: Model, variant: string): FormField[] {
  const fields: FormField[] = [prompt(variant === "text" || variant === "reference")];
  if (variant === "image") fields.push(address("input_reference", "picture", false, true));
  if (variant === "reference")
    fields.push(address("input_reference", "picture"), address("video_url", "clip", true), pictures("images"));
  if (variant === "edit") fields.push(address("video_url", "clip", false, true));
  if (variant === "text") fields.push(address("metadata.audio_url", "sound", true));
  fields.push(choice("size", sizesOf(model), "1280*720"));
  fields.push(length(model, "duration", "integer", variant === "edit" ? undefined : "5"));
  fields.push(seed, unwanted, toggle("metadata.prompt_extend"), toggle("metadata.watermark", "false"));
  return fields;
}

function happyHorse(model: Model, variant: string): FormField[] {
  const fields: FormField[] = [prompt(variant !== "image")];
  if (variant !== "text") fields.push(address("input_reference", "picture", false, variant === "image"));
  fields.push(choice("size", sizesOf(model), "1280*720"), length(model, "duration", "integer", "5"));
  fields.push(seed, toggle("metadata.watermark", "false"));
  return fields;
}

function seedance(model: Model, newest: boolean): FormField[] {
  const fields: FormField[] = [
    prompt(false),
    address("input_reference", "picture"),
    length(model, "seconds", "text", "5"),
    choice("metadata.resolution", model.specs.resolutions ?? ["480p", "720p"], "720p"),
    choice("metadata.ratio", ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"]),
    { ...toggle("metadata.generate_audio", "true"), more: false },
    pictures("images"),
    toggle("metadata.watermark", "false"),
    toggle("metadata.return_last_frame"),
  ];
  if (newest) fields.push(choice("metadata.output_format", ["mp4", "mov"], undefined, true));
  return fields;
}

function klingStandard(model: Model): FormField[] {
  return [
    prompt(true),
    address("image", "picture"),
    choice("mode", ["std", "pro", "4k"], "std"),
    length(model, "duration", "integer", "5"),
    choice("metadata.aspect_ratio", RATIOS, "1:1"),
    choice("metadata.sound", ["on", "off"], "off"),
    address("metadata.image_tail", "picture", true),
    unwanted,
    toggle("metadata.watermark", "false"),
  ];
}

function klingValue(model: Model): FormField[] {
  return [
    prompt(true),
    address("image", "picture"),
    choice("metadata.settings.resolution", model.specs.resolutions ?? ["720p", "1080p"], "720p"),
    length(model, "duration", "integer", "5"),
    choice("metadata.settings.aspect_ratio", RATIOS, "16:9"),
    toggle("metadata.watermark", "false"),
  ];
}

function klingMulti(model: Model): FormField[] {
  return [
    prompt(true),
    { ...choice("metadata.aspect_ratio", RATIOS), required: true },
    choice("metadata.mode", ["std", "pro", "4k"], "pro"),
    length(model, "metadata.duration", "text", "5"),
    choice("metadata.sound", ["on", "off"], "off"),
    toggle("metadata.watermark", "false"),
  ];
}

function miniMaxNative(model: Model): FormField[] {
  return [
    prompt(true),
    address("image", "picture"),
    choice("metadata.ratio", ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"]),
    choice("size", model.specs.resolutions ?? ["768P", "2K"], "768P"),
    length(model, "duration", "integer", "5"),
    address("video_url", "clip", true),
    pictures("images"),
    toggle("metadata.watermark", "false"),
  ];
}

function miniMaxLegacy(model: Model, needsFrame: boolean): FormField[] {
  return [
    prompt(!needsFrame),
    address("metadata.first_frame_image", "picture", false, needsFrame),
    choice("size", model.specs.resolutions ?? ["768P", "1080P"], "768P"),
    length(model, "duration", "integer", "6"),
    address("metadata.last_frame_image", "picture", true),
    toggle("metadata.prompt_optimizer"),
    toggle("metadata.watermark", "false"),
  ];
}

function openAiVideos(model: Model): FormField[] {
  const sizes = model.specs.resolutions;
  return [
    prompt(true),
    address("input_reference", "picture"),
    sizes === undefined ? { key: "size", path: "size", kind: "line", wire: "text" } : choice("size", sizes, sizes[0]),
    length(model, "seconds", "text", lengthsOf(model)[0]),
  ];
}

/** A family that is not known here gets the fields of OpenAI's shape: the report says what of them is read. */
export function videoFields(model: Model): FormField[] {
  const family = model.specs.video_family ?? "";
  const variant = family.slice(2);
  if (family.startsWith("a_")) return wan(model, variant);
  if (family.startsWith("b_")) return seedance(model, variant === "2_5");
  if (family === "c_standard") return klingStandard(model);
  if (family === "c_value") return klingValue(model);
  if (family === "c_multi") return klingMulti(model);
  if (family === "d_native") return miniMaxNative(model);
  if (family.startsWith("d_")) return miniMaxLegacy(model, variant === "legacy_fast");
  if (family.startsWith("e_")) return happyHorse(model, variant);
  return openAiVideos(model);
}
