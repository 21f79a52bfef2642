// covers: D-7-MON-17
import { describe, expect, it } from "vitest";
import { type Model, type PricingRecord, readSpecs } from "@/pages/catalog/record";
import { EMPTY_DRAFT, modelPlan, presets } from "./draft";
import { usualVoice } from "./forms";

const record: PricingRecord = {
  model_name: "voice",
  specs: JSON.stringify({ voices: ["alloy", "nova", "onyx"] }),
  login_required: 0,
  enable_groups: ["default"],
  supported_endpoint_types: ["audio-speech"],
  capabilities: ["audio-speech"],
  tasks: ["text-to-speech"],
  billing_rate: 1,
  billing_rate_source: "default",
  pricing_version: "0",
  billing_unit: "characters",
  book_faces: { standard: { input: 1 }, paid: null, route_count: 1 },
};

function model(change: Partial<PricingRecord>): Model {
  const changed = { ...record, ...change };
  return {
    name: changed.model_name,
    description: "",
    kind: "speech",
    vendor: "",
    specs: readSpecs(changed.specs),
    record: changed,
  };
}

describe("the console's speech form", () => {
  it("offers the record's default voice first, whatever its list begins with", () => {
    expect(usualVoice(model({ default_voice: "onyx" }))).toBe("onyx");
    expect(usualVoice(model({}))).toBe("alloy");
  });

  it("begins with that voice and sends it when no other was chosen", () => {
    const draft = {
      ...EMPTY_DRAFT,
      model: "voice",
      message: "Hello",
      values: { ...presets("speech", model({ default_voice: "onyx" })), input: "Hello" },
    };
    const plan = modelPlan("speech", draft, model({ default_voice: "onyx" }), "http://gateway.test/v1", null);
    expect(plan.body).toMatchObject({ voice: "onyx" });
  });
});
