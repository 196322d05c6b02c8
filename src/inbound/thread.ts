/** The entry point of a thread that reads inbound messages and checks their sender, so that a malicious message cannot block the event
 * loop. Started by threads.ts, which limits its time and memory. */
import { createHash } from "node:crypto";
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { type NodeAnswer, recordsOf } from "../dns/node-resolver.ts";
import { decodeBody } from "../mail/message/body.ts";
import { type Digest, digestMessage, textsOf } from "../mail/message/digest.ts";
import { readMessage } from "../mail/message/read.ts";
import { refusalOf, ShapeProblem } from "../mail/message/structure.ts";
import { SubmittedProblem } from "../mail/submitted/fields.ts";
import { prepare } from "../mail/submitted/prepare.ts";
import { createAnswerCache } from "./answer-cache.ts";
import { maxEventText, maxStoredText, type Verdicts } from "./rules/events.ts";
import type { ArrivedDigest, FromThread, Results, Start, ToThread, Work } from "./thread-messages.ts";
import { judge } from "./verdicts.ts";

/** The CPU time that the checks of one message may use: 2 s are 25 signatures of 2 MB. */
const verifyCpuMs = 4000;
/** Earlier versions accepted messages with so many lines. */
const maxStoredLines = 1_000_000;
/** After so many turns of the event loop without progress, a job only waits for DNS. */
const idleTurns = 3;

type Job = {
  id: number;
  lookups: Map<number, (answer: NodeAnswer) => void>;
  /** CPU time of the turns before this one, and the thread's CPU time when this one started. */
  usedMs: number;
  sinceMs: number;
  /** Grows with each step, to notice when there are no more. */
  steps: number;
  state: "running" | "watched" | "parked" | "ended";
  abandoned: boolean;
  /** The message, once the checks have read it to its end. */
  raw: Buffer | undefined;
  /** Of an arrival. It leaves the thread when the checks wait for DNS. */
  digest: ArrivedDigest | undefined;
  /** No other job has the message. */
  ownsMemory: boolean;
  /** The next job of the group can begin. */
  leave(): void;
};

class Overrun extends Error {}

const jobs = new Map<number, Job>();
let lookups = 0;
const port = parentPort!;

type Report<Message> = Message extends unknown ? Omit<Message, "cpuMs"> : never;
/** Results of a group are posted together: at its end, after this time, or before something that the main thread should know at once. A message
 * that takes long must not keep the results of others, and may end the thread. */
const gatherMs = 10;
let flushedAtMs = 0;
let waiting: FromThread[] = [];
let transfers: ArrayBuffer[] = [];
let isInGroup = false;

function post(message: Report<FromThread>, transfer: ArrayBuffer[] = []): void {
  waiting.push({ ...message, cpuMs: cpuMs() });
  transfers.push(...transfer);
  const isLate = performance.now() - flushedAtMs > gatherMs;
  if (!isInGroup || isLate || message.kind === "lookup" || message.kind === "parked") flush();
}

function flush(): void {
  if (waiting.length > 0) port.postMessage(waiting, transfers);
  waiting = [];
  transfers = [];
  flushedAtMs = performance.now();
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
  if (message.kind === "start") return void startAll(message.jobs);
  const job = jobs.get(message.id);
  if (!job) return;
  if (message.kind === "abandon") return abandon(job);
  const lookup = job.lookups.get(message.lookup);
  job.lookups.delete(message.lookup);
  if (job.state === "parked") resume(job);
  job.steps += 1;
  lookup?.(message.answer);
  if (job.lookups.size > 0) void parkWhenIdle(job);
});
post({ kind: "ready" });

async function startAll(group: readonly Start[]): Promise<void> {
  isInGroup = true;
  flushedAtMs = performance.now();
  // Messages that arrive together may share their memory, so that of one cannot be freed before the others are read.
  const ownsMemory = group.length === 1;
  for (const one of group) await new Promise<void>((leave) => void start(one, { ownsMemory, leave }));
  isInGroup = false;
  flush();
}

async function start({ id, work, raw }: Start, turn: Pick<Job, "ownsMemory" | "leave">): Promise<void> {
  const job: Job = {
    id,
    lookups: new Map(),
    usedMs: 0,
    sinceMs: cpuMs(),
    steps: 0,
    state: "running",
    abandoned: false,
    raw: undefined,
    digest: undefined,
    ...turn,
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
    turn.leave();
  }
}

async function perform(work: Work, raw: Buffer, job: Job): Promise<Results[Work["kind"]]> {
  switch (work.kind) {
    case "digest":
      return bounded(await digestMessage(raw, { sender: work.sender }), raw);
    case "verify":
      return await verify(work, raw, job);
    case "arrival": {
      job.digest = bounded(await digestMessage(raw, { sender: work.sender }), raw);
      const verdicts = await verify(work, raw, job);
      // The main thread has the digest if it left the thread.
      return { digest: job.digest as ArrivedDigest, verdicts };
    }
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

async function verify(work: Extract<Work, { kind: "verify" | "arrival" }>, raw: Buffer, job: Job): Promise<Verdicts> {
  return await judge(
    { message: raw, sender: work.sender, client: work.client },
    {
      hostname: work.hostname,
      resolve: async (name, type = "A") => recordsOf(await lookUp(job, name, type), name, type),
      onSlice: (slice) => {
        requireTime(job);
        if (slice === "none" && job.ownsMemory) job.raw = raw;
      },
    },
  );
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

const answers = createAnswerCache();
const abandonedLookup: NodeAnswer = { code: "ETIMEOUT", keepMs: 0 };

async function lookUp(job: Job, name: string, type: string): Promise<NodeAnswer> {
  job.steps += 1;
  const known = answers.get(name, type);
  if (known) return known;
  // The first lookup comes after the body is hashed. Waiting for DNS must not take the memory of the message.
  (job.raw?.buffer as ArrayBuffer | undefined)?.transfer(0);
  job.raw = undefined;
  if (job.abandoned) return abandonedLookup;
  lookups += 1;
  const lookup = lookups;
  const answer = await new Promise<NodeAnswer>((resolve) => {
    job.lookups.set(lookup, resolve);
    post({ kind: "lookup", id: job.id, lookup, name, type });
    void parkWhenIdle(job);
  });
  answers.put(name, type, answer);
  return answer;
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
  const { digest } = job;
  job.digest = undefined;
  post({ kind: "parked", id: job.id, ...(digest && { digest }) });
  job.leave();
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
  for (const resolve of job.lookups.values()) resolve(abandonedLookup);
  job.lookups.clear();
}
