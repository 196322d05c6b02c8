/** Serves the dashboard's built files from memory: read once at start, each with its type, its hash and a strict policy. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { type Page, plain } from "./dispatch.ts";

type File = { body: Buffer; gzip: () => Buffer; type: string; etag: string };

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".ico": "image/x-icon",
};

/** Scripts come from our own files alone; styles may be set by the component library at run time. */
const policy =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The frame that shows the HTML of a message: styles and pictures, nothing that runs, sends or leads away. */
const previewPolicy = (images: string) =>
  `default-src 'none'; style-src 'unsafe-inline'; img-src ${images}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin`;

/** Two empty pages that the dashboard fills; a person chooses whether pictures may be fetched from elsewhere. */
const previews: Record<string, string> = {
  "/preview.html": previewPolicy("data:"),
  "/preview-images.html": previewPolicy("data: https: http:"),
};

export async function createFiles(folder: string): Promise<Page> {
  const files = await readFiles(folder);
  return (request, response) => {
    const path = (request.url ?? "/").split(/[?#]/, 1)[0]!;
    // A path without a file is a page of the dashboard: its router decides.
    const file = files.get(path) ?? (extname(path) === "" ? files.get("/index.html") : undefined);
    if (!file)
      return plain(
        response,
        404,
        files.size === 0 ? "The dashboard is not built. Run: npm run build\n" : "Not found.\n",
      );
    const fresh = request.headers["if-none-match"] === file.etag;
    const zipped = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    response.statusCode = fresh ? 304 : 200;
    response.setHeader("content-type", file.type);
    response.setHeader("etag", file.etag);
    response.setHeader("vary", "accept-encoding");
    // Built files carry their hash in their name; the page itself must be asked for again.
    response.setHeader(
      "cache-control",
      path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    );
    response.setHeader("content-security-policy", previews[path] ?? policy);
    // For browsers that do not know frame-ancestors; all other pages are refused in frames altogether.
    if (path in previews) response.setHeader("x-frame-options", "SAMEORIGIN");
    if (zipped && !fresh) response.setHeader("content-encoding", "gzip");
    if (fresh || request.method === "HEAD") return void response.end();
    response.end(zipped ? file.gzip() : file.body);
  };
}

async function readFiles(folder: string): Promise<Map<string, File>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, File>();
  for (const entry of entries.filter((e) => e.isFile())) {
    const name = join(entry.parentPath, entry.name);
    const body = await readFile(name);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    files.set(`/${relative(folder, name).replaceAll("\\", "/")}`, {
      body,
      gzip: zippedWhenAsked(body),
      type: types[extname(name)] ?? "application/octet-stream",
      etag,
    });
  }
  return files;
}

/** Compressed by the first who asks: all files together take a twentieth of a start. */
export function zippedWhenAsked(body: Buffer): () => Buffer {
  let zipped: Buffer | undefined;
  return () => (zipped ??= gzipSync(body));
}
