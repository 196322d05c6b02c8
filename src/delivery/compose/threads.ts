/** The worker threads of the compose pool, with a queue in front of them. Threads are started when first needed and run one job each. */

import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { isLargeContent } from "../../mail/mime/attachment.ts";
import type { LargeContent, Outline } from "../../mail/mime/pieces.ts";
import { type ComposeJob, type OutlineJob, transferable } from "./job.ts";
import type { WorkerAnswer } from "./worker.ts";

export type ComposeThreads = {
  /** Returns the message. On abort the call rejects; a job that already runs is finished and its result dropped. */
  run(job: ComposeJob, signal: AbortSignal | undefined): Promise<Buffer>;
  /** The same for the outline of a message. */
  outline(job: OutlineJob, signal: AbortSignal | undefined): Promise<Outline>;
  end(): Promise<void>;
};

type Result = Uint8Array | Outline;
type Task = { job: ComposeJob | OutlineJob; resolve: (result: Result) => void; reject: (error: unknown) => void };

const sliceCharacters = 1 << 20;

export function createComposeThreads(threads: number): ComposeThreads {
  const waiting: Task[] = [];
  let idle: Worker[] = [];
  const workers = new Set<Worker>();

  function dispatch(): void {
    while (waiting.length > 0) {
      const worker = idle.pop() ?? (workers.size < threads ? startWorker() : undefined);
      if (worker === undefined) return;
      void perform(worker, waiting.shift()!).finally(dispatch);
    }
  }

  function startWorker(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { name: "compose" });
    // Without a listener an error would end the process. `runJob` handles the exit that follows.
    worker.on("error", () => {});
    worker.once("exit", () => {
      workers.delete(worker);
      idle = idle.filter((other) => other !== worker);
    });
    workers.add(worker);
    return worker;
  }

  async function perform(worker: Worker, { job, resolve, reject }: Task): Promise<void> {
    try {
      const answer = await runJob(worker, job);
      idle.push(worker);
      if (answer.ok) resolve(answer.result);
      else reject(answer.error);
    } catch (error) {
      await worker.terminate();
      reject(error);
    }
  }

  function add(job: Task["job"], signal: AbortSignal | undefined): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const task = { job, resolve, reject };
    const cancel = () => {
      const at = waiting.indexOf(task);
      if (at >= 0) waiting.splice(at, 1);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    waiting.push(task);
    dispatch();
    return promise.finally(() => signal?.removeEventListener("abort", cancel));
  }

  return {
    async run(job, signal) {
      const raw = (await add(job, signal)) as Uint8Array;
      return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
    },
    outline: async (job, signal) => (await add(job, signal)) as Outline,
    async end() {
      await Promise.all([...workers].map((worker) => worker.terminate()));
    },
  };
}

/** Posts one job and returns its answer; rejects if the thread exits first. A busy thread keeps the process alive, an idle one does not. */
async function runJob(worker: Worker, job: ComposeJob | OutlineJob): Promise<WorkerAnswer> {
  const settled = new AbortController();
  const answered = once(worker, "message", { signal: settled.signal });
  const exited = once(worker, "exit", { signal: settled.signal }).then(([code]) => {
    throw new Error(`the compose thread exited with code ${code}`);
  });
  const outcome = Promise.race([answered, exited]);
  // It is awaited below only if the job can be posted.
  outcome.catch(() => {});
  worker.ref();
  try {
    const attachments = [];
    for (const attachment of job.email.attachments ?? []) {
      attachments.push({ ...attachment, base64: await toBytes(attachment.base64, "utf8") });
    }
    const { submitted: text } = job.email;
    const submitted = text && { ...text, message: await toBytes(text.message, "latin1") };
    const contents = [...attachments.map(({ base64 }) => base64), ...(submitted ? [submitted.message] : [])];
    const transferred = new Set(contents.flatMap((content) => (isLargeContent(content) ? [] : transferable(content))));
    const email = { ...job.email, attachments, ...(submitted && { submitted }) };
    worker.postMessage({ ...job, email }, [...transferred]);
    const [answer] = await outcome;
    return answer;
  } finally {
    settled.abort();
    worker.unref();
  }
}

/**
 * Posting 40 MB of text would block the event loop for 60 ms, and copying it at once for 35 ms. So the text is copied in slices and the
 * copy is transferred. Base64 as UTF-8 rather than latin1, so that invalid base64 does not become valid by truncation of its characters.
 */
async function toBytes(
  content: string | Uint8Array | LargeContent,
  encoding: "utf8" | "latin1",
): Promise<Uint8Array | LargeContent> {
  if (typeof content !== "string") return content;
  const bytes = Buffer.allocUnsafeSlow(content.length);
  for (let at = 0; at < content.length; at += sliceCharacters) {
    bytes.write(content.slice(at, at + sliceCharacters), at, encoding);
    await setImmediate();
  }
  return bytes;
}
