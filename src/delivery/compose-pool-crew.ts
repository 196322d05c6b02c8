/** The worker threads of the compose pool: hired when first needed, one job each, a queue before them. */

import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Attachment } from "../mail/mime/attachment.ts";
import { type ComposeJob, transferable } from "./compose-pool-job.ts";
import type { WorkerAnswer } from "./compose-pool-worker.ts";

export type Crew = {
  /** The message; `signal` ends the wait, and a job in hand is then finished for nobody. */
  run(job: ComposeJob, signal: AbortSignal | undefined): Promise<Buffer>;
  end(): Promise<void>;
};

export function createCrew(threads: number): Crew {
  const waiting: Task[] = [];
  let idle: Worker[] = [];
  const hired = new Set<Worker>();

  function dispatch(): void {
    while (waiting.length > 0) {
      const worker = idle.pop() ?? (hired.size < threads ? hire() : undefined);
      if (worker === undefined) return;
      void work(worker, waiting.shift()!).finally(dispatch);
    }
  }

  function hire(): Worker {
    const worker = new Worker(new URL("./compose-pool-worker.ts", import.meta.url), { name: "compose" });
    // Unheard, an error would end the process; `ask` hears of it by itself.
    worker.on("error", () => {});
    worker.once("exit", () => {
      hired.delete(worker);
      idle = idle.filter((one) => one !== worker);
    });
    hired.add(worker);
    return worker;
  }

  async function work(worker: Worker, { job, resolve, reject }: Task): Promise<void> {
    try {
      const answer = await ask(worker, job);
      idle.push(worker);
      if (answer.ok) resolve(Buffer.from(answer.raw.buffer, answer.raw.byteOffset, answer.raw.byteLength));
      else reject(answer.error);
    } catch (error) {
      await worker.terminate();
      reject(error);
    }
  }

  return {
    run(job, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      const task = { job, resolve, reject };
      const leave = () => {
        const place = waiting.indexOf(task);
        if (place >= 0) waiting.splice(place, 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      waiting.push(task);
      dispatch();
      return promise.finally(() => signal?.removeEventListener("abort", leave));
    },
    async end() {
      await Promise.all([...hired].map((worker) => worker.terminate()));
    },
  };
}

type Task = { job: ComposeJob; resolve: (raw: Buffer) => void; reject: (error: unknown) => void };

/**
 * One job and its answer; a worker that dies instead rejects. A busy worker keeps the process alive, an idle one does
 * not.
 */
async function ask(worker: Worker, job: ComposeJob): Promise<WorkerAnswer> {
  const settled = new AbortController();
  const answered = once(worker, "message", { signal: settled.signal });
  const died = once(worker, "exit", { signal: settled.signal }).then(([code]) => {
    throw new Error(`the compose thread ended with code ${code}`);
  });
  const outcome = Promise.race([answered, died]);
  // Awaited below, unless the job cannot even be posted.
  outcome.catch(() => {});
  worker.ref();
  try {
    const attachments: (Attachment & { base64: Uint8Array })[] = [];
    for (const attachment of job.email.attachments ?? []) {
      attachments.push({ ...attachment, base64: await octetsOf(attachment.base64) });
    }
    const given = new Set(attachments.flatMap(({ base64 }) => transferable(base64)));
    worker.postMessage({ ...job, email: { ...job.email, attachments } } satisfies ComposeJob, [...given]);
    const [answer] = await outcome;
    return answer;
  } finally {
    settled.abort();
    worker.unref();
  }
}

/**
 * Posting 40 MB of text would hold the event loop for 60 ms, copying it in one go for 35; so it is copied in slices
 * and the copy changes hands. UTF-8 rather than latin1: what is no base64 must not turn into some on the way.
 */
async function octetsOf(content: string | Uint8Array): Promise<Uint8Array> {
  if (typeof content !== "string") return content;
  const octets = Buffer.allocUnsafeSlow(content.length);
  for (let at = 0; at < content.length; at += SLICE) {
    octets.write(content.slice(at, at + SLICE), at);
    await setImmediate();
  }
  return octets;
}

const SLICE = 1 << 20;
