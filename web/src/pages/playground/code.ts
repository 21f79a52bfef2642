/** The request of a form as code: curl, Python with `requests`, Node with its own `fetch`. */
import type { Body, Json } from "./forms";
import type { FormFile, FormParts } from "./uploads";

export type CodeLanguage = "curl" | "python" | "node";
export const CODE_LANGUAGES: CodeLanguage[] = ["curl", "python", "node"];

/** A call of the data plane, as the playground makes it and as code shows it. */
export interface Call {
  method: "GET" | "POST";
  /** The whole address, with its query where it has one. */
  url: string;
  /** Sent as JSON. */
  body?: Body;
  /** Sent as a form, with the files that it names. */
  form?: FormParts;
  /** What comes back is a file of this name. */
  saveAs?: string;
  /** The answer comes as a stream. */
  streams?: boolean;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A file of a form as curl takes it. In its name a comma or a semicolon would end it, so such a name gets quotes. */
function curlFile(file: FormFile): string {
  const plain = /^[^\s,;"\\]+$/.test(file.name);
  const name = plain ? file.name : `"${file.name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return quoted(`${file.field}=@${name}${file.type === "" ? "" : `;type=${file.type}`}`);
}

function curl(call: Call, key: string): string {
  const lines = [
    `curl -sS${call.streams === true ? "N" : ""} ${quoted(call.url)}`,
    `  -H ${quoted(`authorization: Bearer ${key}`)}`,
  ];
  if (call.body !== undefined) {
    lines.push("  -H 'content-type: application/json'", `  -d ${quoted(JSON.stringify(call.body, null, 2))}`);
  }
  if (call.form !== undefined) {
    // With -F a text that begins with an @ would be read as the name of a file.
    for (const [name, value] of call.form.fields) lines.push(`  --form-string ${quoted(`${name}=${value}`)}`);
    for (const file of call.form.files) lines.push(`  -F ${curlFile(file)}`);
  }
  if (call.saveAs !== undefined) lines.push(`  -o ${quoted(call.saveAs)}`);
  return lines.join(" \\\n");
}

/** A JSON value as Python writes it. */
export function pythonValue(value: Json, indent = 0): string {
  const pad = "    ".repeat(indent + 1);
  const end = "    ".repeat(indent);
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string" || typeof value === "number") return JSON.stringify(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((one) => `${pad}${pythonValue(one, indent + 1)},\n`).join("")}${end}]`;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  return `{\n${entries.map(([key, one]) => `${pad}${JSON.stringify(key)}: ${pythonValue(one, indent + 1)},\n`).join("")}${end}}`;
}

/** A name that stands several times has no place in a dict. */
function pythonFields(fields: [string, string][]): string {
  const names = new Set(fields.map(([name]) => name));
  if (names.size === fields.length) return pythonValue(Object.fromEntries(fields), 1);
  return `[\n${fields.map(([name, value]) => `        (${JSON.stringify(name)}, ${JSON.stringify(value)}),\n`).join("")}    ]`;
}

function python(call: Call, key: string): string {
  const args = [
    `    ${JSON.stringify(call.url)},`,
    `    headers={"authorization": ${JSON.stringify(`Bearer ${key}`)}},`,
  ];
  if (call.body !== undefined) args.push(`    json=${pythonValue(call.body, 1)},`);
  if (call.form !== undefined) {
    args.push(`    data=${pythonFields(call.form.fields)},`, "    files=[");
    for (const file of call.form.files) {
      const name = JSON.stringify(file.name);
      const type = file.type === "" ? "" : `, ${JSON.stringify(file.type)}`;
      args.push(`        (${JSON.stringify(file.field)}, (${name}, open(${name}, "rb")${type})),`);
    }
    args.push("    ],");
  }
  if (call.streams === true) args.push("    stream=True,");
  args.push("    timeout=600,");
  const lines = [
    "import requests",
    "",
    `answer = requests.${call.method.toLowerCase()}(`,
    ...args,
    ")",
    "answer.raise_for_status()",
  ];
  if (call.saveAs !== undefined) lines.push(`open(${JSON.stringify(call.saveAs)}, "wb").write(answer.content)`);
  else if (call.streams === true) lines.push("for line in answer.iter_lines(decode_unicode=True):", "    print(line)");
  else lines.push("print(answer.text)");
  if (call.streams !== true) lines.push('print(answer.headers.get("trunkline-cost-usd"), "USD")');
  return lines.join("\n");
}

function indented(text: string, pad: string): string {
  return text.replaceAll("\n", `\n${pad}`);
}

function node(call: Call, key: string): string {
  const lines: string[] = [];
  const options = [`  method: ${JSON.stringify(call.method)},`];
  if (call.form !== undefined) lines.push('import { readFile } from "node:fs/promises";', "");
  if (call.saveAs !== undefined) lines.push('import { writeFile } from "node:fs/promises";', "");
  if (call.form !== undefined) {
    lines.push("const form = new FormData();");
    for (const [name, value] of call.form.fields)
      lines.push(`form.append(${JSON.stringify(name)}, ${JSON.stringify(value)});`);
    for (const file of call.form.files) {
      const name = JSON.stringify(file.name);
      const type = file.type === "" ? "" : `, { type: ${JSON.stringify(file.type)} }`;
      lines.push(`form.append(${JSON.stringify(file.field)}, new Blob([await readFile(${name})]${type}), ${name});`);
    }
    options.push(`  headers: { authorization: ${JSON.stringify(`Bearer ${key}`)} },`, "  body: form,");
  } else if (call.body !== undefined) {
    options.push(
      `  headers: { authorization: ${JSON.stringify(`Bearer ${key}`)}, "content-type": "application/json" },`,
      `  body: JSON.stringify(${indented(JSON.stringify(call.body, null, 2), "  ")}),`,
    );
  } else {
    options.push(`  headers: { authorization: ${JSON.stringify(`Bearer ${key}`)} },`);
  }
  lines.push(`const answer = await fetch(${JSON.stringify(call.url)}, {`, ...options, "});");
  lines.push("if (!answer.ok) throw new Error(await answer.text());");
  if (call.saveAs !== undefined)
    lines.push(`await writeFile(${JSON.stringify(call.saveAs)}, Buffer.from(await answer.arrayBuffer()));`);
  else if (call.streams === true) {
    lines.push(
      "for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) process.stdout.write(piece);",
    );
  } else lines.push("console.log(await answer.text());");
  if (call.streams !== true) lines.push('console.log(answer.headers.get("trunkline-cost-usd"), "USD");');
  return lines.join("\n");
}

export function codeFor(language: CodeLanguage, call: Call, key: string): string {
  switch (language) {
    case "curl":
      return curl(call, key);
    case "python":
      return python(call, key);
    case "node":
      return node(call, key);
  }
}
