/** Stream readers that resume from cursor "0" at once, in a process of their own. The fault about them and its short form use it. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { appendEvent } from "../../src/events/store.ts";
import { insertKey, makeKeySecret } from "../../src/keys/store.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createWorkspace } from "../../src/workspaces/store.ts";
import { until } from "./wait.ts";

/** One form of the stream: what a reader sends, and the complete body that it must receive. All bytes in base64. */
export type CatchUpForm = { contentType: string; request: string; body: string };
export type CatchUpOrder = { url: string; key: string; readers: number; forms: CatchUpForm[] };
export type CatchUpReport = { started: number; behind: number; wrong: string[] };

export type CatchUpReaders = {
  /** The number of readers that have received the first bytes. */
  started(): number;
  /** The number of readers that have not received the whole log. */
  behind(): number;
  /** Sentences about readers that received anything but the log. */
  wrong(): string[];
  untilCaughtUp(): Promise<void>;
  /** Closes all connections at once. */
  stop(): Promise<void>;
};

export async function startCatchUpReaders(order: CatchUpOrder): Promise<CatchUpReaders> {
  const child = fork(fileURLToPath(new URL("./catch-up-process.ts", import.meta.url)), { stdio: "inherit" });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let last: CatchUpReport = { started: 0, behind: order.readers, wrong: [] };
  child.on("message", (report) => {
    last = report as CatchUpReport;
  });
  child.send(order);
  return {
    started: () => last.started,
    behind: () => last.behind,
    wrong: () => last.wrong,
    async untilCaughtUp() {
      await until("every reader to receive the whole log", () => last.behind === 0 || last.wrong.length > 0, {
        withinMs: 600_000,
      });
    },
    async stop() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** The log of the key's workspace as one reader receives it, in both forms: the reference for all other readers. */
export async function catchUpForms(url: string, key: string): Promise<CatchUpForm[]> {
  const contentTypes = ["application/json", "application/connect+json"];
  return await Promise.all(
    contentTypes.map(async (contentType) => ({
      contentType,
      request: requestIn(contentType, '{"cursor":"0"}').toString("base64"),
      body: (await bodyOf(url, key, contentType)).toString("base64"),
    })),
  );
}

async function bodyOf(url: string, key: string, contentType: string): Promise<Buffer> {
  const response = await fetch(`${url}/v1.EmailService/StreamEvents`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "connect-protocol-version": "1", "content-type": contentType },
    body: new Uint8Array(requestIn(contentType, '{"cursor":"0","follow":false}')),
  });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`StreamEvents: ${body.toString("utf8")}`);
  // Streams that follow the log have no end of the stream.
  return contentType === "application/json" ? body : body.subarray(0, body.lastIndexOf(endOfStream));
}

const endOfStream = Buffer.from("\x02\0\0\0\x02{}");

function requestIn(contentType: string, json: string): Buffer {
  const envelope = contentType === "application/json" ? [] : [0, 0, 0, 0, json.length];
  return Buffer.concat([Buffer.from(envelope), Buffer.from(json)]);
}

/** Creates a workspace with events as deliveries write them, and returns a key to read them. */
export async function addLog(sql: Sql, count: number): Promise<string> {
  const workspaceId = makeUuid(Date.now());
  await createWorkspace(sql, { id: workspaceId, name: "Readers" });
  const { secret } = makeKeySecret(false);
  const id = makeUuid(Date.now());
  await insertKey(sql, { id, workspaceId, name: "readers", secret, permission: "read", test: false });
  await sql.begin(async (tx) => {
    for (let i = 0; i < count; i++) {
      const emailId = makeUuid(Date.now());
      await appendEvent(tx, {
        id: makeUuid(Date.now()),
        workspaceId,
        type: "email.delivered",
        email: { id: emailId, messageId: `<${emailId}@sender.test>`, metadata: { order: String(i) } },
        payload: {
          recipients: [`reader-${i}@there.test`],
          remoteMx: "mx.there.test",
          smtpReply: "250 2.0.0 Ok: queued",
          attempts: 1,
        },
      });
    }
  });
  return secret;
}
