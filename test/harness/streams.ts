/** Opens event streams in the plain formats or in Connect's own, keeps every message, and reports the end in one form. Also
 * sets up the program for stream tests. */

import { appendEvent } from "../../src/events/store.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase, type TestServer } from "./database.ts";
import { type RunningProgram, startProgram } from "./program.ts";
import type { WireEvent } from "./testbed.ts";
import { until } from "./wait.ts";

export type StreamForm = "lines" | "sse" | "connect";
export type StreamMessage = { cursor: string; event?: WireEvent["event"]; eventId?: string };
/** The code is `ok`, a Connect code, or `lost` if the connection broke. */
export type StreamEnd = { code: string; message: string; status: number };

export type OpenStream = {
  status: number;
  headers: Headers;
  messages: StreamMessage[];
  /** The messages with an event. */
  events(): WireEvent[];
  /** Waits until `enough` returns true; fails as soon as the stream ends. */
  until(what: string, enough: (stream: OpenStream) => boolean): Promise<void>;
  ended: Promise<StreamEnd>;
  /** Closes the connection, as a reader does. */
  leave(): void;
};

export type StreamOptions = {
  /** If null, the headers authenticate the caller. */
  key: string | null;
  form?: StreamForm;
  request?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Called for each message, before the next is read. */
  onMessage?: (message: StreamMessage) => void;
};

/** Resolves when the response headers arrive; messages follow. */
export async function openStream(url: string, options: StreamOptions): Promise<OpenStream> {
  const { form = "lines" } = options;
  const json = Buffer.from(JSON.stringify(options.request ?? {}));
  const disconnect = new AbortController();
  const response = await fetch(`${url}/v1.EmailService/StreamEvents`, {
    method: "POST",
    headers: {
      ...(options.key === null ? {} : { authorization: `Bearer ${options.key}` }),
      "connect-protocol-version": "1",
      "content-type": form === "connect" ? "application/connect+json" : "application/json",
      ...(form === "sse" ? { accept: "text/event-stream" } : {}),
      ...options.headers,
    },
    body: form === "connect" ? Buffer.concat([Buffer.from([0, 0, 0, 0, json.length]), json]) : json,
    signal: disconnect.signal,
  });
  const messages: StreamMessage[] = [];
  let end: StreamEnd | undefined;
  const take = (message: StreamMessage) => {
    messages.push(message);
    options.onMessage?.(message);
  };
  const stream: OpenStream = {
    status: response.status,
    headers: response.headers,
    messages,
    events: () => messages.filter((message): message is WireEvent => message.event !== undefined),
    async until(what, enough) {
      await until(what, () => enough(stream) || end);
      if (!enough(stream)) throw new Error(`the stream ended before ${what}: ${JSON.stringify(end)}`);
    },
    ended: readAll(response, form, take)
      .catch((error: Error): StreamEnd => ({ code: "lost", message: error.message, status: response.status }))
      .then((how) => {
        end = how;
        return how;
      }),
    leave: () => disconnect.abort(),
  };
  return stream;
}

/** Reads a stream to its end. */
export async function readStream(
  url: string,
  options: StreamOptions,
): Promise<{ messages: StreamMessage[]; events: WireEvent[]; end: StreamEnd }> {
  const stream = await openStream(url, options);
  const end = await stream.ended;
  return { messages: stream.messages, events: stream.events(), end };
}

type Frame = { error?: { code: string; message: string }; over?: boolean } & Partial<StreamMessage>;

async function readAll(
  response: Response,
  form: StreamForm,
  take: (message: StreamMessage) => void,
): Promise<StreamEnd> {
  const { status } = response;
  if (response.headers.get("content-type") === "application/json") {
    const { code, message } = (await response.json()) as { code: string; message: string };
    return { code, message, status };
  }
  let over = false;
  for await (const frame of split(response.body!, form)) {
    if (frame.error) return { ...frame.error, status };
    if (frame.over) over = true;
    else take(frame as StreamMessage);
  }
  if (form === "connect" && !over) throw new Error("no end of stream");
  return { code: "ok", message: "", status };
}

async function* split(body: AsyncIterable<Uint8Array>, form: StreamForm): AsyncGenerator<Frame> {
  let seen: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    seen = Buffer.concat([seen, chunk]);
    for (;;) {
      const cut = form === "connect" ? cutEnvelope(seen) : cutText(seen, form);
      if (!cut) break;
      seen = seen.subarray(cut.size);
      yield cut.frame;
    }
  }
}

function cutEnvelope(seen: Buffer): { frame: Frame; size: number } | undefined {
  if (seen.length < 5 || seen.length < 5 + seen.readUInt32BE(1)) return undefined;
  const size = 5 + seen.readUInt32BE(1);
  const frame = JSON.parse(seen.toString("utf8", 5, size)) as Frame;
  return { size, frame: seen[0] === 2 ? { error: frame.error, over: true } : frame };
}

function cutText(seen: Buffer, form: StreamForm): { frame: Frame; size: number } | undefined {
  const mark = form === "sse" ? "\n\n" : "\n";
  const at = seen.indexOf(mark);
  if (at < 0) return undefined;
  const text = seen.toString("utf8", 0, at);
  const json = form === "sse" ? /^data: (.*)$/m.exec(text)![1]! : text;
  return { frame: JSON.parse(json) as Frame, size: at + mark.length };
}

/** The program in capture mode with its own database. The mailbox name decides the outcome of an email. */
export type StreamTestbed = {
  database: TestDatabase;
  program: RunningProgram;
  workspaceId: string;
  /** SendEmail from the example domain; waits for the first attempt. */
  send(mailbox: string, request?: Record<string, unknown>): Promise<string>;
  open(request?: Record<string, unknown>, options?: Partial<StreamOptions>): Promise<OpenStream>;
  read(request?: Record<string, unknown>, options?: Partial<StreamOptions>): ReturnType<typeof readStream>;
  /** The complete event log from the database. */
  table(): Promise<{ number: string; id: string; type: string }[]>;
  startNode(env?: Record<string, string>): Promise<RunningProgram>;
  stop(): Promise<void>;
};

export async function startStreamTestbed(
  env: Record<string, string> = {},
  options: { server?: TestServer } = {},
): Promise<StreamTestbed> {
  const database = await createTestDatabase({ example: true, server: options.server });
  const nodes: RunningProgram[] = [];
  const startNode = async (more: Record<string, string> = {}) => {
    const node = await startProgram({
      databaseUrl: database.url,
      env: { POSTHORN_API_KEY: "the-api-key-of-every-stream-test-0123456789", ...env, ...more },
    });
    nodes.push(node);
    return node;
  };
  const program = await startNode().catch(async (error) => {
    await database.drop();
    throw error;
  });
  const [row] = await database.sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const workspaceId = row!.value;
  return {
    database,
    program,
    workspaceId,
    startNode,
    send: (mailbox, request) => sendFrom(program, mailbox, request),
    open: (request, options) => openStream(program.url, { key: program.key, request, ...options }),
    read: (request, options) => readStream(program.url, { key: program.key, request, ...options }),
    async table() {
      return await database.sql<{ number: string; id: string; type: string }[]>`
        select number, 'evt_' || id as id, type from events where workspace_id = ${workspaceId} order by number`;
    },
    async stop() {
      for (const node of nodes) await node.remove();
      await database.drop();
    },
  };
}

export async function sendFrom(
  program: RunningProgram,
  mailbox: string,
  request: Record<string, unknown> = {},
): Promise<string> {
  const email = { from: "shop@example.test", to: [`${mailbox}@there.test`], subject: "Hello", body: "Hi", ...request };
  const { status, body } = await program.call("EmailService/SendEmail", email);
  if (status !== 200) throw new Error(`SendEmail: ${JSON.stringify(body)}`);
  return body.id as string;
}

/** Appends events of a given type and payload without sending mail, and sends the NOTIFY that a node sends after its commits. */
export async function addEvents(
  sql: Sql,
  workspaceId: string,
  count: number,
  event: { type?: string; payload?: Record<string, unknown> } = {},
): Promise<void> {
  const { type = "domain.updated", payload = { domain: "example.test" } } = event;
  await sql.begin(async (tx) => {
    for (let i = 0; i < count; i++) await appendEvent(tx, { id: makeUuid(Date.now()), workspaceId, type, payload });
  });
  await sql.notify([{ channel: "posthorn_events", payload: "" }]);
}

/** The numbers from `from` to `to` as strings. */
export function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i));
}
