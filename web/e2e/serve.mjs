// Serves a built console as the executable does: files as they are, pages for every other address, the same policy.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const kinds = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

/** Assets have names with hashes. */
const LASTING = "public, max-age=31536000, immutable";

/** The policy of the product; `data` is the origin of the data plane. */
export function policy(data) {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' data: blob: ${data}`,
    `media-src 'self' blob: ${data}`,
    "font-src 'self'",
    `connect-src 'self' ${data}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
}

/** `extra` finds the file or the text of an address that is not part of the console, such as a tool of the walk. */
export function serve(dist, data, extra = () => undefined) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://here").pathname);
    const other = extra(path);
    if (other !== undefined) {
      response.writeHead(200, { "content-type": other.kind, "cache-control": LASTING });
      if (other.file !== undefined) createReadStream(other.file).pipe(response);
      else response.end(other.text);
      return;
    }
    const file = join(dist, path);
    const found = file.startsWith(dist) && existsSync(file) && statSync(file).isFile();
    const asset = extname(path) !== "" && path.startsWith("/assets/");
    if (!found && asset) {
      response.writeHead(404).end();
      return;
    }
    const answer = found ? file : join(dist, "index.html");
    response.writeHead(200, {
      "content-type": kinds[extname(answer)] ?? "application/octet-stream",
      "content-security-policy": policy(data),
      "x-content-type-options": "nosniff",
      ...(asset ? { "cache-control": LASTING } : {}),
    });
    createReadStream(answer).pipe(response);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve({ url: `http://127.0.0.1:${address.port}`, close: () => server.close() });
    });
  });
}
