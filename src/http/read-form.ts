/** Reads a small form from the body of a request, as browsers and mail programs post it. Called by suppressions/unsubscribe. */
import { closeAfterUnreadBody } from "./request-body.ts";
import type { Response as Answer, Request } from "./server.ts";

type Refusal = { ok: false; status: number; reason: string };
export type FormRead = { ok: true; fields: ReadonlyMap<string, string> } | Refusal;

const maxBytes = 16 * 1024;
/** A mail program sends 26 octets at once. A body that drips holds its connection no longer than this. */
const withinMs = 10_000;

const types = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\s*(?:;|$)/i;

/** `response` is told to close the connection if a part of the body stays unread. */
export async function readForm(request: Request, response: Answer, limitMs = withinMs): Promise<FormRead> {
  const type = request.headers["content-type"] ?? "";
  const body = refusalOf(type, request.headers["content-encoding"]) ?? (await readBody(request, limitMs));
  if ("reason" in body) {
    closeAfterUnreadBody(request, response);
    return body;
  }
  try {
    // The parser of fetch reads both types.
    const form = await new Response(body, { headers: { "content-type": type } }).formData();
    const fields = new Map<string, string>();
    // A repeated field would have two meanings. A file is not a text.
    for (const [name, value] of form) {
      if (fields.has(name)) return refuse(400, `The field ${JSON.stringify(name.slice(0, 40))} is repeated.`);
      if (typeof value === "string") fields.set(name, value);
    }
    return { ok: true, fields };
  } catch {
    return refuse(400, "The body is not a valid form.");
  }
}

function refusalOf(type: string, encoding = "identity"): Refusal | undefined {
  if (!types.test(type.trim())) return refuse(415, "Send application/x-www-form-urlencoded or multipart/form-data.");
  return encoding.toLowerCase() === "identity" ? undefined : refuse(415, "Send the body without Content-Encoding.");
}

async function readBody(request: Request, limitMs: number): Promise<Buffer | Refusal> {
  const tooLarge = refuse(413, `The body is larger than ${maxBytes} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return tooLarge;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve } = Promise.withResolvers<Buffer | Refusal>();
  const timer = setTimeout(() => resolve(refuse(408, "The body did not arrive in time.")), limitMs);
  const onData = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) resolve(tooLarge);
    else chunks.push(chunk);
  };
  request.on("data", onData);
  request.once("end", () => resolve(Buffer.concat(chunks)));
  for (const broken of ["close", "error"])
    request.once(broken, () => resolve(refuse(400, "The request ended before its body was complete.")));
  return await promise.finally(() => {
    clearTimeout(timer);
    request.off("data", onData);
  });
}

function refuse(status: number, reason: string): Refusal {
  return { ok: false, status, reason };
}
