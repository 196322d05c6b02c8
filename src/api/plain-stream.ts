/** The event stream for people and programs without a Connect client: one JSON object per line for curl -N, or server-sent events. The
 * stream itself is Connect's own: this file takes its envelopes off, so that keys, limits and errors are judged in one place. */

import type { ServerResponse } from "node:http";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { codeFromString, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import type { Request, Response } from "./http.ts";

export type PlainForm = "lines" | "sse";

/** A streaming method asked for with a unary content type. */
export function plainForm(request: Request, handler: UniversalHandler): PlainForm | undefined {
  if (handler.method.methodKind !== "server_streaming") return undefined;
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) return undefined;
  return /\btext\/event-stream\b/.test(request.headers.accept ?? "") ? "sse" : "lines";
}

const maxRequestBytes = 64 * 1024;
const endFlag = 0b10;

export async function answerPlain(
  handler: UniversalHandler,
  universal: UniversalServerRequest,
  response: Response,
  form: PlainForm,
): Promise<void> {
  const header = new Headers(universal.header);
  header.set("content-type", "application/connect+json");
  header.delete("connect-accept-encoding");
  header.delete("content-encoding");
  const answer = await handler({ ...universal, header, body: envelope(universal.body as AsyncIterable<Uint8Array>) });
  response.setHeader(
    "content-type",
    form === "sse" ? "text/event-stream; charset=utf-8" : "application/x-ndjson; charset=utf-8",
  );
  let begun = false;
  for await (const { flag, text } of frames(answer.body ?? [])) {
    const error = flag & endFlag ? (JSON.parse(text) as { error?: WireError }).error : undefined;
    if (flag & endFlag && !error) break;
    if (error && !begun) return refuse(response, error, answer.header);
    begun = true;
    if (!(await write(response, error ? formError(error, form) : formMessage(text, form)))) return;
  }
  response.end();
}

type WireError = { code: string; message?: string };

/** An error before the first message looks like that of any other call. */
function refuse(response: Response, error: WireError, header: Headers | undefined): void {
  const body = JSON.stringify(error);
  response.statusCode = codeToHttpStatus(codeFromString(error.code)!);
  response.setHeader("content-type", "application/json");
  const retryAfter = header?.get("retry-after");
  if (retryAfter) response.setHeader("retry-after", retryAfter);
  response.end(body);
}

function formMessage(text: string, form: PlainForm): string {
  if (form === "lines") return `${text}\n`;
  const { cursor, event } = JSON.parse(text) as { cursor: string; event?: { type: string } };
  return `id: ${cursor}\nevent: ${event?.type ?? "cursor"}\ndata: ${text}\n\n`;
}

function formError(error: WireError, form: PlainForm): string {
  const text = JSON.stringify({ error });
  return form === "lines" ? `${text}\n` : `event: error\ndata: ${text}\n\n`;
}

/** The body is read only when Connect asks for it, after its gate has let the caller in. */
async function* envelope(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > maxRequestBytes) break;
  }
  const head = Buffer.alloc(5);
  head.writeUInt32BE(size, 1);
  yield Buffer.concat([head, ...chunks]);
}

/** Connect's envelopes: one byte of flags, four of length, then the message. */
async function* frames(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<{ flag: number; text: string }> {
  let seen: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    seen = seen.length === 0 ? Buffer.from(chunk) : Buffer.concat([seen, chunk]);
    while (seen.length >= 5 && seen.length >= 5 + seen.readUInt32BE(1)) {
      const end = 5 + seen.readUInt32BE(1);
      yield { flag: seen[0]!, text: seen.toString("utf8", 5, end) };
      seen = seen.subarray(end);
    }
  }
}

/** False when nobody reads any more. A full socket is waited for: the stream is pulled no faster than it is read. */
async function write(response: Response, text: string): Promise<boolean> {
  if (response.destroyed || response.writableEnded) return false;
  if ((response as ServerResponse).write(text)) return true;
  return await new Promise((resolve) => {
    const done = (open: boolean) => () => {
      response.off("drain", drained);
      response.off("close", closed);
      resolve(open);
    };
    const drained = done(true);
    const closed = done(false);
    response.once("drain", drained);
    response.once("close", closed);
  });
}
