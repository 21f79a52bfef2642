/** What surprises people about a model, gathered from its record. */
import { tierPrices } from "./price";
import { healthOf, type Model } from "./record";
import type { TrapTexts } from "./trap-texts";

type FamilyTrap = Exclude<keyof TrapTexts, "longAnswer" | "sizeDefault">;

const FAMILY_TRAPS: Record<string, FamilyTrap[]> = {
  a_text: ["a", "aSizes"],
  a_image: ["a"],
  a_reference: ["a", "aReference", "aClip"],
  a_edit: ["a", "aEdit"],
  b_2_0: ["b", "bRatio", "bSeconds", "bClip"],
  b_2_5: ["b", "bRatio", "bSeconds", "bClip"],
  c_standard: ["cStandard", "cSize"],
  c_value: ["cValue"],
  c_multi: ["cMulti", "cMultiRatio", "cMultiType"],
  d_native: ["dNative", "dNativeImages"],
  d_legacy: ["dLegacy", "dLegacyLength"],
  d_legacy_fast: ["dLegacy", "dLegacyLength"],
  d_legacy_oldest: ["dLegacy", "dLegacyLength"],
  e_text: ["e"],
  e_image: ["e"],
  e_reference: ["e", "eReference"],
  openai_videos: ["openaiVideo"],
};

/** From this length on, an unlimited answer reserves enough to be noticed. */
const LONG_ANSWER_TOKENS = 16_000;

export function trapsOf(model: Model, words: TrapTexts, number: (count: number) => string): string[] {
  const traps: string[] = [];
  const { specs } = model;
  if (healthOf(model) === "unserved") traps.push(words.unserved);
  for (const trap of FAMILY_TRAPS[specs.video_family ?? ""] ?? []) traps.push(words[trap]);
  if (model.kind === "chat" && (specs.max_output_tokens ?? 0) >= LONG_ANSWER_TOKENS) {
    traps.push(words.longAnswer(number(specs.max_output_tokens ?? 0)));
  }
  const conditions = tierPrices(model).flatMap((tier) => tier.when);
  if (conditions.some((condition) => condition.dim === "context_len")) traps.push(words.longContext);
  if (conditions.some((condition) => condition.dim === "wall_clock")) traps.push(words.clock);
  if (model.kind === "image" && specs.default_size !== undefined && specs.default_quality !== undefined) {
    traps.push(words.sizeDefault(specs.default_size, specs.default_quality));
  }
  if (model.kind === "speech") traps.push(words.speech);
  if (model.kind === "transcription") traps.push(words.transcription);
  return traps;
}
