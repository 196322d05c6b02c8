/** The worker threads of the compose pool: hired when first needed, one job each, a queue before them. */

import { once } from "node:events";
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
  const idle: Worker[] = [];
  const hired = new Set<Worker>();

  function dispatch(): void {
    while (waiting.length > 0) {
      const worker = idle.pop() ?? (hired.size < threads ? hire(hired) : undefined);
      if (worker === undefined) return;
      void work(worker, waiting.shift()!).finally(dispatch);
    }
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

function hire(hired: Set<Worker>): Worker {
  const worker = new Worker(new URL("./compose-pool-worker.ts", import.meta.url), { name: "compose" });
  // Unheard, an error would end the process; `ask` hears of it by itself.
  worker.on("error", () => {});
  worker.once("exit", () => hired.delete(worker));
  hired.add(worker);
  return worker;
}

/** One job and its answer; a worker that dies instead rejects. A busy worker keeps the process alive, an idle one does not. */
async function ask(worker: Worker, job: ComposeJob): Promise<WorkerAnswer> {
  const settled = new AbortController();
  worker.ref();
  try {
    const answered = once(worker, "message", { signal: settled.signal });
    const died = once(worker, "exit", { signal: settled.signal }).then(([code]) => {
      throw new Error(`the compose thread ended with code ${code}`);
    });
    const answer = Promise.race([answered, died]);
    const attachments = job.email.attachments?.map(withOctets);
    const given = new Set(attachments?.flatMap(({ base64 }) => transferable(base64)));
    worker.postMessage({ ...job, email: { ...job.email, attachments } } satisfies ComposeJob, [...given]);
    return (await answer)[0];
  } finally {
    settled.abort();
    worker.unref();
  }
}

// Posting 40 MB of text holds the event loop for 60 ms; as octets that change hands it takes 7 ms, this copy included.
// UTF-8 rather than latin1: what is no base64 must not turn into some on the way.
function withOctets(attachment: Attachment): Attachment & { base64: Uint8Array } {
  const { base64 } = attachment;
  return { ...attachment, base64: typeof base64 === "string" ? Buffer.from(base64) : base64 };
}
