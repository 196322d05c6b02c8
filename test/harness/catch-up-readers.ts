/** Stream readers that resume from cursor "0" at once, in a process of their own. The fault about them and its short form use it. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { until } from "./wait.ts";

/** One form of the stream: what a reader sends, and the complete body that it must receive. All bytes in base64. */
export type CatchUpForm = { contentType: string; request: string; body: string };
export type CatchUpOrder = { url: string; key: string; readers: number; forms: CatchUpForm[] };
export type CatchUpReport = { started: number; behind: number; wrong: string[] };

export type CatchUpReaders = {
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
