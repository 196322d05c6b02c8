/** A small JSON object out of a request's body, for pages that are no RPC. */
import { invalid, Problem } from "../rules/problem.ts";
import type { Request } from "./http.ts";

const maxBytes = 16 * 1024;
const droppedBytes = 1024 * 1024;

export async function readSmallJson(request: Request): Promise<Record<string, unknown>> {
  // A form of another site cannot send this type without being asked first (CORS).
  if (!/^application\/json(;|$)/i.test(request.headers["content-type"] ?? ""))
    throw invalid([{ field: "Content-Type", description: "must be application/json" }]);
  const body = await readBody(request);
  try {
    const read: unknown = JSON.parse(body.toString("utf8"));
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch {
    // Told below, like every other thing that is no object.
  }
  throw invalid([{ field: "(request)", description: "must be a JSON object" }]);
}

/** What is too much is read on and dropped for a while, so that its sender hears the answer. */
async function readBody(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else if (bytes > droppedBytes) request.destroy();
    });
    request.once("end", resolve);
    for (const broken of ["close", "error"])
      request.once(broken, () => reject(new Problem("canceled", "The request broke off.")));
  });
  if (bytes > maxBytes)
    throw new Problem("resource_exhausted", `The body is larger than the ${maxBytes} bytes that this page takes.`);
  return Buffer.concat(chunks);
}
