/** The entry point of a thread that reads inbound messages and checks their sender, so that a malicious message cannot block the event
 * loop. Started by threads.ts, which limits its time and memory. */
import { createHash } from "node:crypto";
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { decodeBody } from "../mail/message/body.ts";
import { type Digest, digestMessage, textsOf } from "../mail/message/digest.ts";
import { readMessage } from "../mail/message/read.ts";
import { refusalOf, ShapeProblem } from "../mail/message/structure.ts";
import { SubmittedProblem } from "../mail/submitted/fields.ts";
import { prepare } from "../mail/submitted/prepare.ts";
import { maxEventText, maxStoredText } from "./rules/events.ts";
import type { ArrivedDigest, FromThread, Results, ToThread, Work } from "./thread-messages.ts";
import { judge } from "./verdicts.ts";

/** The CPU time that the checks of one message may use: 2 s are 25 signatures of 2 MB. */
const verifyCpuMs = 4000;
/** Earlier versions accepted messages with so many lines. */
const maxStoredLines = 1_000_000;
/** After so many turns of the event loop without progress, a job only waits for DNS. */
const idleTurns = 3;

type Lookup = { resolve(records: unknown[]): void; reject(error: Error): void };
type Job = {
  id: number;
  lookups: Map<number, Lookup>;
  /** CPU time of the turns before this one, and the thread's CPU time when this one started. */
  usedMs: number;
  sinceMs: number;
  /** Grows with each step, to notice when there are no more. */
  steps: number;
  state: "running" | "watched" | "parked" | "ended";
  abandoned: boolean;
  /** The message, once the checks have read it to its end. */
  raw: Buffer | undefined;
};

class Overrun extends Error {}

const jobs = new Map<number, Job>();
let lookups = 0;
const port = parentPort!;

type Report<Message> = Message extends unknown ? Omit<Message, "cpuMs"> : never;
function post(message: Report<FromThread>, transfer: ArrayBuffer[] = []): void {
  port.postMessage({ ...message, cpuMs: cpuMs() }, transfer);
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

// On Linux, the priority of process 0 is that of the calling thread. Elsewhere it is that of the whole process.
if (process.platform === "linux") {
  try {
    setPriority(0, Math.max((workerData as { niceness: number }).niceness, getPriority(0)));
  } catch {
    // The system forbids it.
  }
}

port.on("message", (message: ToThread) => {
  if (message.kind === "start") return void start(message);
  const job = jobs.get(message.id);
  if (!job) return;
  if (message.kind === "abandon") return abandon(job);
  const lookup = job.lookups.get(message.lookup);
  job.lookups.delete(message.lookup);
  if (job.state === "parked") resume(job);
  job.steps += 1;
  if (message.records) lookup?.resolve(message.records);
  else lookup?.reject(Object.assign(new Error(`DNS: ${message.code}`), { code: message.code }));
  if (job.lookups.size > 0) void parkWhenIdle(job);
});
post({ kind: "ready" });

async function start({ id, work, raw }: ToThread & { kind: "start" }): Promise<void> {
  const job: Job = {
    id,
    lookups: new Map(),
    usedMs: 0,
    sinceMs: cpuMs(),
    steps: 0,
    state: "running",
    abandoned: false,
    raw: undefined,
  };
  jobs.set(id, job);
  try {
    const result = await perform(work, Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), job);
    job.state = "ended";
    post({ kind: "done", id, result }, transferred(result));
  } catch (error) {
    job.state = "ended";
    if (error instanceof ShapeProblem) post({ kind: "refused", id, reply: refusalOf(error) });
    else if (error instanceof SubmittedProblem)
      post({ kind: "refused", id, reply: `554 ${error.status} ${error.message}` });
    else if (error instanceof Overrun) post({ kind: "overran", id });
    else post({ kind: "failed", id, reason: String((error as Error)?.message ?? error) });
  } finally {
    jobs.delete(id);
  }
}

async function perform(work: Work, raw: Buffer, job: Job): Promise<Results[Work["kind"]]> {
  switch (work.kind) {
    case "digest":
      return bounded(await digestMessage(raw, { sender: work.sender }), raw);
    case "verify":
      return await judge(
        { message: raw, sender: work.sender, client: work.client },
        {
          hostname: work.hostname,
          resolve: (name, type = "A") => lookUp(job, name, type),
          onSlice: (slice) => {
            requireTime(job);
            if (slice === "none") job.raw = raw;
          },
        },
      );
    case "report": {
      // Loaded with the first report.
      const { readReport } = await import("../mail/reports/read.ts");
      return await readReport(raw, work.form);
    }
    case "prepare": {
      const prepared = prepare(raw, work.recipients);
      return { ...prepared, message: alone(prepared.message) as Buffer };
    }
    case "texts":
      return textsOf(readMessage(raw, maxStoredLines));
    case "attachment":
      return alone(readMessage(raw, maxStoredLines).parts.find(({ id }) => id === work.id)?.content);
    case "decode":
      return alone(decodeBody(raw, work.encoding))!;
  }
}

/** Longer texts stay in the stored message, so that the event loop does not have to copy 40 MiB. */
function bounded(digest: Digest, raw: Buffer): ArrivedDigest {
  const { body, newText, html } = digest;
  const contentHash = createHash("sha256").update(raw).digest("hex");
  if (body.length + newText.length + html.length <= maxStoredText) return { ...digest, contentHash, complete: true };
  const cut = (text: string) => text.slice(0, maxEventText).toWellFormed();
  return { ...digest, contentHash, body: cut(body), newText: cut(newText), html: cut(html), complete: false };
}

function transferred(result: Results[Work["kind"]]): ArrayBuffer[] {
  const bytes = result && "message" in result ? result.message : result;
  return bytes instanceof Uint8Array ? [bytes.buffer as ArrayBuffer] : [];
}

/** The bytes in a buffer of their own, which can be transferred. */
function alone(bytes: Buffer | undefined): Uint8Array | undefined {
  if (bytes === undefined) return undefined;
  return bytes.byteLength * 2 > bytes.buffer.byteLength && bytes.byteOffset === 0 ? bytes : new Uint8Array(bytes);
}

function lookUp(job: Job, name: string, type: string): Promise<unknown[]> {
  job.steps += 1;
  // The first lookup comes after the body is hashed. Waiting for DNS must not take the memory of the message.
  (job.raw?.buffer as ArrayBuffer | undefined)?.transfer(0);
  job.raw = undefined;
  if (job.abandoned) return Promise.reject(Object.assign(new Error("abandoned"), { code: "ETIMEOUT" }));
  lookups += 1;
  const lookup = lookups;
  return new Promise((resolve, reject) => {
    job.lookups.set(lookup, { resolve, reject });
    post({ kind: "lookup", id: job.id, lookup, name, type });
    void parkWhenIdle(job);
  });
}

function requireTime(job: Job): void {
  job.steps += 1;
  if (job.abandoned || job.usedMs + cpuMs() - job.sinceMs > verifyCpuMs) throw new Overrun();
}

/** Reports the job as parked once it makes no more progress. threads.ts lets one job of the thread run at a time. */
async function parkWhenIdle(job: Job): Promise<void> {
  if (job.state !== "running") return;
  job.state = "watched";
  for (let idle = 0, seen = job.steps; idle < idleTurns; idle++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (isEnded(job)) return;
    if (job.steps !== seen) idle = 0;
    seen = job.steps;
  }
  job.state = "running";
  if (job.lookups.size === 0) return;
  job.state = "parked";
  job.usedMs += cpuMs() - job.sinceMs;
  post({ kind: "parked", id: job.id });
}

/** The state changes while the caller waits, which the compiler does not see. */
function isEnded({ state }: Job): boolean {
  return state === "ended";
}

function resume(job: Job): void {
  job.state = "running";
  job.sinceMs = cpuMs();
}

function abandon(job: Job): void {
  job.abandoned = true;
  if (job.state === "parked") resume(job);
  for (const lookup of job.lookups.values()) lookup.reject(Object.assign(new Error("abandoned"), { code: "ETIMEOUT" }));
  job.lookups.clear();
}
