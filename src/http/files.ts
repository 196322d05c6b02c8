/** Serves the dashboard, the documentation at /docs, and /openapi.json from memory. All are read once, when app/assemble.ts starts the
 * program. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { type PageHandler, sendText } from "./dispatch.ts";

/** `brotli` is the compressed copy that the build wrote. */
type File = { body: Buffer; brotli: Buffer | undefined; gzip: () => Buffer; type: string; etag: string };

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".json": "application/json",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".ico": "image/x-icon",
};

/** Scripts come from our own files only; the component library sets inline styles at run time. */
const policy =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The frame that shows the HTML of a message: styles and images, but no scripts, forms or navigation. */
const previewPolicy = (images: string) =>
  `default-src 'none'; style-src 'unsafe-inline'; img-src ${images}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin`;

/** Two empty pages that the dashboard fills; the reader chooses whether remote images are loaded. */
const previews: Record<string, string> = {
  "/preview.html": previewPolicy("data:"),
  "/preview-images.html": previewPolicy("data: https: http:"),
};

export async function createFiles(folder: string): Promise<PageHandler> {
  const files = await readFiles(folder);
  const isPage = routeMatcher(files.get("/routes.json"));
  return (request, response) => {
    const path = (request.url ?? "/").split(/[?#]/, 1)[0]!;
    const { file, status } = find(files, isPage, path);
    if (!file)
      return sendText(
        response,
        404,
        files.size === 0 ? "The dashboard is not built. Run: npm run build\n" : "Not found.\n",
      );
    const unchanged = status === 200 && request.headers["if-none-match"] === file.etag;
    const gzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    response.statusCode = unchanged ? 304 : status;
    response.setHeader("content-type", file.type);
    if (status === 200) response.setHeader("etag", file.etag);
    response.setHeader("vary", "accept-encoding");
    // Built files have their hash in their name; browsers must revalidate the page itself.
    response.setHeader(
      "cache-control",
      status === 200 && path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    );
    response.setHeader("content-security-policy", previews[path] ?? policy);
    // For browsers without frame-ancestors. All other pages must not be framed at all.
    if (path in previews) response.setHeader("x-frame-options", "SAMEORIGIN");
    const brotli = /\bbr\b/.test(String(request.headers["accept-encoding"] ?? "")) ? file.brotli : undefined;
    if ((brotli || gzip) && !unchanged) response.setHeader("content-encoding", brotli ? "br" : "gzip");
    if (unchanged || request.method === "HEAD") return void response.end();
    response.end(brotli ?? (gzip ? file.gzip() : file.body));
  };
}

type Found = { file: File | undefined; status: 200 | 404 };

/** A file, a page of the documentation, or a page of the dashboard. Both have a page of their own for unknown paths. */
function find(files: Map<string, File>, isPage: (path: string) => boolean, path: string): Found {
  const name = path.replace(/(?<=.)\/$/, "");
  const file = files.get(path) ?? (name === "/docs" ? files.get("/docs/index.html") : undefined);
  if (file) return { file, status: 200 };
  if (name.startsWith("/docs/")) {
    const page = files.get(`${name}.html`);
    return page ? { file: page, status: 200 } : { file: files.get("/docs/404.html"), status: 404 };
  }
  // A path without a file extension is for the dashboard's router, which also has the page for unknown paths.
  if (extname(path) !== "") return { file: undefined, status: 404 };
  return { file: files.get("/index.html"), status: isPage(name) ? 200 : 404 };
}

/** The dashboard's pages, which the build writes into routes.json: `/emails/$id` stands for every id. */
function routeMatcher(routes: File | undefined): (path: string) => boolean {
  if (!routes) return () => true;
  const paths = JSON.parse(routes.body.toString()) as string[];
  const patterns = paths.map((path) => path.replace(/[.*+?^(){}|[\]\\]/g, "\\$&").replace(/\$\w+/g, "[^/]+"));
  const any = new RegExp(`^(?:${patterns.join("|")})$`, "i");
  return (path) => any.test(path);
}

async function readFiles(folder: string): Promise<Map<string, File>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, File>();
  const names = new Set(entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name)));
  for (const name of names) {
    if (name.endsWith(".br")) continue;
    const body = await readFile(name);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    files.set(`/${relative(folder, name).replaceAll("\\", "/")}`, {
      body,
      brotli: names.has(`${name}.br`) ? await readFile(`${name}.br`) : undefined,
      gzip: lazyGzip(body),
      type: types[extname(name)] ?? "application/octet-stream",
      etag,
    });
  }
  return files;
}

/** Compresses on first use: compressing all files takes a twentieth of the start-up time. */
function lazyGzip(body: Buffer): () => Buffer {
  let zipped: Buffer | undefined;
  return () => (zipped ??= gzipSync(body));
}

/** Serves /openapi.json, which `npm run generate` writes. */
export async function openapiPages(file: string): Promise<Map<string, PageHandler>> {
  // The whitespace is only for readers of the repository.
  const body = Buffer.from(JSON.stringify(JSON.parse(await readFile(file, "utf8"))));
  const zipped = lazyGzip(body);
  const page: PageHandler = (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return sendText(response, 405, "Use GET.\n");
    }
    const gzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    response.setHeader("content-type", "application/json");
    response.setHeader("vary", "accept-encoding");
    // It contains no secret, and OpenAPI viewers in a browser are on other origins.
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    if (gzip) response.setHeader("content-encoding", "gzip");
    if (request.method === "HEAD") return void response.end();
    response.end(gzip ? zipped() : body);
  };
  return new Map([["/openapi.json", page]]);
}
