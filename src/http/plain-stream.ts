/** Server streams for clients without Connect: one JSON object per line for curl -N, or server-sent events. Connect still serves the
 * stream, so that one place handles authentication, limits and errors; this file adds and removes envelopes. Called by dispatch.ts. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeFromString, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import type { Request } from "./server.ts";

export type PlainForm = "lines" | "sse";

/** The format for a streaming method that is called with a unary content type; undefined for every other call. */
export function plainForm(request: Request, handler: UniversalHandler): PlainForm | undefined {
  if (handler.method.methodKind !== "server_streaming") return undefined;
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) return undefined;
  return /\btext\/event-stream\b/i.test(request.headers.accept ?? "") ? "sse" : "lines";
}

const contentType = {
  lines: "application/x-ndjson; charset=utf-8",
  sse: "text/event-stream; charset=utf-8",
} as const;

/** Calls the handler with an enveloped request, and unwraps its answer. */
export async function answerPlain(
  handler: UniversalHandler,
  universal: UniversalServerRequest,
  form: PlainForm,
): Promise<UniversalServerResponse> {
  const header = new Headers(universal.header);
  header.set("content-type", "application/connect+json");
  header.delete("connect-accept-encoding");
  header.delete("connect-content-encoding");
  const encoding = header.get("content-encoding");
  const compressed = encoding !== null && encoding !== "identity";
  if (compressed) header.set("connect-content-encoding", encoding);
  const body = envelope(universal.body as AsyncIterable<Uint8Array>, compressed);
  const answer = await handler({ ...universal, header, body });
  const messages = frames(answer.body ?? []);
  const first = await messages.next();
  if (first.done) return { status: answer.status, header: answer.header };
  const end = endOf(first.value);
  if (end?.error) return refusal(end.error, end.metadata);
  return {
    status: 200,
    header: new Headers({ "content-type": contentType[form] }),
    body: unwrapped(first.value, messages, form),
  };
}

type WireError = { code: string; message?: string };
type End = { error?: WireError; metadata?: Record<string, string[]> };
type Frame = { flag: number; text: string };

const endFlag = 0b10;

/** The content of the last envelope; undefined for a message. */
function endOf({ flag, text }: Frame): End | undefined {
  return flag & endFlag ? (JSON.parse(text) as End) : undefined;
}

/** An error before the first message has the same form as the error of a unary call. */
function refusal(error: WireError, metadata: End["metadata"]): UniversalServerResponse {
  const body = Buffer.from(JSON.stringify(error));
  const header = new Headers({ "content-type": "application/json", "content-length": String(body.length) });
  const retryAfter = metadata?.["retry-after"]?.[0];
  if (retryAfter) header.set("retry-after", retryAfter);
  return { status: codeToHttpStatus(codeFromString(error.code) ?? Code.Unknown), header, body: only(body) };
}

async function* only(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}

async function* unwrapped(first: Frame, rest: AsyncIterable<Frame>, form: PlainForm): AsyncGenerator<Uint8Array> {
  yield Buffer.from(messageIn(form, first.text));
  for await (const frame of rest) {
    const end = endOf(frame);
    if (!end) yield Buffer.from(messageIn(form, frame.text));
    else if (end.error) yield Buffer.from(errorIn(form, end.error));
  }
}

/** One message in this form. */
export function messageIn(form: PlainForm, text: string): string {
  if (form === "lines") return `${text}\n`;
  const { cursor, event } = JSON.parse(text) as { cursor: string; event?: { type: string } };
  return `id: ${cursor}\nevent: ${event?.type ?? "cursor"}\ndata: ${text}\n\n`;
}

function errorIn(form: PlainForm, error: WireError): string {
  const text = JSON.stringify({ error });
  return form === "lines" ? `${text}\n` : `event: error\ndata: ${text}\n\n`;
}

const maxRequestBytes = 64 * 1024;

/** Wraps the body in an envelope. Connect starts reading it only after the gate has admitted the caller. */
async function* envelope(body: AsyncIterable<Uint8Array>, compressed: boolean): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > maxRequestBytes)
      throw new ConnectError(`The request is larger than ${maxRequestBytes} bytes.`, Code.ResourceExhausted);
  }
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(size, 1);
  yield Buffer.concat([head, ...chunks]);
}

/** Splits Connect's envelopes: one byte of flags, four bytes of length, then the message. */
async function* frames(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Frame> {
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
