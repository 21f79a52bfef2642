import { describe, expect, it } from "vitest";
import type { Model, PricingRecord } from "@/pages/catalog/record";
import { readSpecs } from "@/pages/catalog/record";
import { codeFor } from "./code";
import { EMPTY_DRAFT, modelPlan } from "./draft";
import { applyEdits, fixOf } from "./quote";
import {
  editForm,
  fileFault,
  joinValue,
  MOST_BYTES,
  MOST_FILES,
  splitValue,
  type Uploads,
  videoForm,
  withPixels,
} from "./uploads";

const base = "http://gateway.test/v1";
const files: Record<string, { name: string; bytes: number; type: string }> = {
  "upload:1": { name: "cat.png", bytes: 10, type: "image/png" },
  "upload:2": { name: "it's; 2.webp", bytes: 20, type: "image/webp" },
  "upload:3": { name: "clip.mp4", bytes: 30, type: "video/mp4" },
};
const uploads: Uploads = (token) => files[token] ?? null;

function model(specs: string, endpoint: "openai-video" | "image-generation", tasks: string[] = []): Model {
  const record: PricingRecord = {
    model_name: "m",
    specs,
    login_required: 0,
    enable_groups: ["default"],
    supported_endpoint_types: [endpoint],
    capabilities: [],
    tasks,
    billing_rate: 1,
    billing_rate_source: "default",
    pricing_version: "0",
    billing_unit: "per_call",
    book_faces: { standard: {}, paid: null, route_count: 1 },
  };
  return { name: "m", description: "", kind: "image", vendor: "", specs: readSpecs(specs), record };
}
const kling = model('{"video_family":"c_standard"}', "openai-video");
const editor = model("{}", "image-generation", ["text-to-image", "image-editing"]);

describe("a field's text", () => {
  it("keeps what was typed unchanged, and files behind it", () => {
    expect(splitValue("https://a\nupload:1\n")).toEqual({ typed: "https://a\n", tokens: ["upload:1"] });
    expect(joinValue("https://a", ["upload:1", "upload:2"])).toBe("https://a\nupload:1\nupload:2");
    expect(joinValue("", ["upload:1"])).toBe("upload:1");
    expect(splitValue("upload:x")).toEqual({ typed: "upload:x", tokens: [] });
  });
});

describe("a file", () => {
  const picture = { name: "a.png", bytes: 5, type: "image/png" };
  it("is refused before it is sent where the gateway would not read it", () => {
    expect(fileFault(picture, "picture", [])).toBeNull();
    expect(fileFault({ ...picture, bytes: MOST_BYTES }, "picture", [])).toBeNull();
    expect(fileFault({ ...picture, bytes: MOST_BYTES + 1 }, "picture", [])).toBe("large");
    expect(fileFault(picture, "picture", [{ ...picture, bytes: MOST_BYTES - 4 }])).toBe("together");
    expect(fileFault(picture, "picture", Array(MOST_FILES).fill(picture))).toBe("many");
    expect(fileFault({ ...picture, bytes: 0 }, "picture", [])).toBe("empty");
  });
  it("of another kind is refused, one of no known kind is not", () => {
    expect(fileFault(picture, "clip", [])).toBe("kind");
    expect(fileFault({ ...picture, type: "" }, "clip", [])).toBeNull();
  });
});

describe("forms", () => {
  it("name files by their place and keep the rest as JSON", () => {
    const body = {
      model: "m",
      duration: 5,
      images: ["https://a", "upload:1"],
      metadata: { seed: 7, image_tail: "upload:2" },
      image: "upload:1",
      nothing: null,
    };
    const form = videoForm(body, uploads);
    expect(form.fields).toEqual([
      ["model", "m"],
      ["duration", "5"],
      ["images", '["https://a"]'],
      ["metadata", '{"seed":7}'],
    ]);
    expect(form.files.map((file) => [file.field, file.name])).toEqual([
      ["images[]", "cat.png"],
      ["metadata[image_tail]", "it's; 2.webp"],
      ["image", "cat.png"],
    ]);
  });
  it("leave no empty list or object where files were", () => {
    const form = videoForm({ images: ["upload:1"], metadata: { image_tail: "upload:2" } }, uploads);
    expect(form.fields).toEqual([]);
  });
  it("of an edit have one picture as image and several as image[]", () => {
    expect(editForm({ model: "m", image: ["upload:1"], n: 2 }, uploads)).toEqual({
      fields: [
        ["model", "m"],
        ["n", "2"],
      ],
      files: [{ field: "image", name: "cat.png", type: "image/png", upload: "upload:1" }],
    });
    const mixed = editForm({ image: ["https://a", "upload:1"], mask: "upload:2" }, uploads);
    expect(mixed.fields).toEqual([["image[]", "https://a"]]);
    expect(mixed.files.map((file) => file.field)).toEqual(["image[]", "mask"]);
  });
});

describe("plans with files", () => {
  it("send a form, and quote the same body with what stands for the file", () => {
    const draft = { ...EMPTY_DRAFT, values: { prompt: "a cat", image: "upload:1" } };
    const plan = modelPlan("video", draft, kling, base, null, uploads);
    expect(plan.call.body).toBeUndefined();
    expect(plan.call.form?.files[0]).toMatchObject({ field: "image", upload: "upload:1" });
    expect(plan.quote).toEqual({ endpoint: "videos", body: { model: "m", prompt: "a cat", image: "upload:1" } });
  });
  it("stay JSON with addresses alone", () => {
    const draft = { ...EMPTY_DRAFT, values: { prompt: "a cat", image: "https://a/b.png" } };
    const plan = modelPlan("video", draft, kling, base, null, uploads);
    expect(plan.call).toEqual({ method: "POST", url: `${base}/videos`, body: plan.body });
  });
  it("cannot be run when the file is no longer held", () => {
    const draft = { ...EMPTY_DRAFT, values: { prompt: "a cat", image: "upload:99" } };
    const plan = modelPlan("video", draft, kling, base, null, uploads);
    expect(plan.missing).toEqual(["image"]);
    expect(plan.quote).toBeNull();
  });
  it("edit where the model can, and are priced with a pixel in the picture's place", () => {
    const draft = { ...EMPTY_DRAFT, editing: true, values: { prompt: "a hat", edit_image: "upload:1" } };
    const plan = modelPlan("image", draft, editor, base, null, uploads);
    expect(plan.call.url).toBe(`${base}/images/edits`);
    expect(plan.quote?.endpoint).toBe("images/edits");
    expect(JSON.stringify(plan.quote?.body)).toContain("data:image/png;base64,");
    expect(JSON.stringify(plan.quote?.body)).not.toContain("upload:");
    expect(modelPlan("image", { ...draft, values: { prompt: "a hat" } }, editor, base, null, uploads).missing).toEqual([
      "edit_image",
    ]);
    const painter = model("{}", "image-generation", ["text-to-image"]);
    expect(modelPlan("image", draft, painter, base, null, uploads).call).toEqual({
      method: "POST",
      url: `${base}/images/generations`,
      body: { model: "m", prompt: "a hat" },
    });
  });
  it("let a fix move a file as it moves an address", () => {
    const fields = modelPlan("video", EMPTY_DRAFT, kling, base, null, uploads).fields;
    const extra = '{"input_reference":"upload:1"}';
    const fix = fixOf(
      { field: "input_reference", fate: "ignored", code: "frame_field_unread" },
      { input_reference: "upload:1" },
    );
    expect(applyEdits(fix?.edits ?? [], fields, {}, extra)).toEqual({ values: { image: "upload:1" }, extra: "" });
  });
});

describe("code with files", () => {
  const form = editForm({ prompt: "@cat", image: ["upload:1", "upload:2"] }, uploads);
  const call = { method: "POST" as const, url: base, form };
  it("is a form that curl reads as it is meant", () => {
    const text = codeFor("curl", call, "k");
    expect(text).toContain("--form-string 'prompt=@cat'");
    expect(text).toContain("-F 'image[]=@cat.png;type=image/png'");
    expect(text).toContain(`-F 'image[]=@"it'\\''s; 2.webp";type=image/webp'`);
  });
  it("names type and file in Python and Node", () => {
    expect(codeFor("python", call, "k")).toContain('("image[]", ("cat.png", open("cat.png", "rb"), "image/png")),');
    expect(codeFor("node", call, "k")).toContain(
      'form.append("image[]", new Blob([await readFile("cat.png")], { type: "image/png" }), "cat.png");',
    );
  });
  it("keeps a name that stands twice in Python", () => {
    const twice = editForm({ image: ["https://a", "https://b"], mask: "upload:1" }, uploads);
    expect(codeFor("python", { ...call, form: twice }, "k")).toContain('("image[]", "https://b"),');
  });
});

describe("pixels", () => {
  it("stand for every token and for nothing else", () => {
    expect(withPixels({ a: "upload", b: ["https://a"], n: 1 })).toEqual({ a: "upload", b: ["https://a"], n: 1 });
    expect(withPixels({ a: { b: ["upload:1"] } })).not.toEqual({ a: { b: ["upload:1"] } });
  });
});
