/** A call that works for a model, as its page shows it. The key is taken from a variable. */
import type { Model } from "./record";

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function post(base: string, path: string, body: object, after = ""): string {
  return [
    `curl -sS ${quoted(`${base}${path}`)} \\`,
    '  -H "authorization: Bearer $TRUNKLINE_KEY" \\',
    "  -H 'content-type: application/json' \\",
    `  -d ${quoted(JSON.stringify(body))}${after}`,
  ].join("\n");
}

/** Fields that a family asks for beside the prompt. */
function videoNeeds(family: string): object {
  if (family === "c_multi") return { metadata: { aspect_ratio: "16:9", mode: "std" } };
  if (family === "d_native") return { metadata: { ratio: "16:9" } };
  if (family === "d_legacy_fast") return { metadata: { first_frame_image: "https://example.com/frame.png" } };
  if (family === "a_image" || family === "e_image" || family === "e_reference" || family === "a_reference") {
    return { input_reference: "https://example.com/picture.png" };
  }
  if (family === "a_edit") return { video_url: "https://example.com/clip.mp4" };
  return {};
}

/** Null where a model has no path that one command could show. */
export function exampleCall(model: Model, baseUrl: string): string | null {
  const base = baseUrl.replace(/\/+$/, "");
  const name = model.name;
  switch (model.kind) {
    case "chat":
      return post(base, "/chat/completions", {
        model: name,
        messages: [{ role: "user", content: "Hello" }],
        max_tokens: 200,
      });
    case "image":
      return post(base, "/images/generations", { model: name, prompt: "a lighthouse at dawn" });
    case "video":
      return post(base, "/videos", {
        model: name,
        prompt: "a lighthouse at dawn",
        ...videoNeeds(model.specs.video_family ?? ""),
      });
    case "speech": {
      const voice = model.record.default_voice ?? model.specs.voices?.[0] ?? "alloy";
      return post(base, "/audio/speech", { model: name, input: "Good morning.", voice }, " \\\n  -o speech.mp3");
    }
    case "transcription":
      return [
        `curl -sS ${quoted(`${base}/audio/transcriptions`)} \\`,
        '  -H "authorization: Bearer $TRUNKLINE_KEY" \\',
        `  -F ${quoted(`model=${name}`)} -F file=@recording.mp3`,
      ].join("\n");
    case "embedding":
      return post(base, "/embeddings", { model: name, input: "Good morning." });
    case "rerank":
      return post(base, "/rerank", { model: name, query: "coffee", documents: ["a cup of coffee", "a bicycle"] });
    case "moderation":
      return post(base, "/moderations", { model: name, input: "Good morning." });
    case "realtime":
    case "music":
    case "other":
      return null;
  }
}
