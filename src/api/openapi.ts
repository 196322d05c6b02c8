/** /openapi.json: the contract for tools that read OpenAPI, as `npm run generate` wrote it. Read once, when the program starts. */
import { readFile } from "node:fs/promises";
import { type Page, plain } from "./dispatch.ts";
import { zippedWhenAsked } from "./files.ts";

export async function openapiPages(file: string): Promise<Map<string, Page>> {
  // Whitespace is for those who read the file in the repository.
  const body = Buffer.from(JSON.stringify(JSON.parse(await readFile(file, "utf8"))));
  const zipped = zippedWhenAsked(body);
  const page: Page = (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return plain(response, 405, "Read it with GET.\n");
    }
    const gzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    response.setHeader("content-type", "application/json");
    response.setHeader("vary", "accept-encoding");
    // It holds no secret, and readers of OpenAPI in a browser live under other origins.
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    if (gzip) response.setHeader("content-encoding", "gzip");
    if (request.method === "HEAD") return void response.end();
    response.end(gzip ? zipped() : body);
  };
  return new Map([["/openapi.json", page]]);
}
