/** Parses inbound messages in a thread, one at a time and with a time limit for each. Called by receive.ts. */
import { Worker } from "node:worker_threads";
import type { Digest } from "../mail/message/digest.ts";

/** `unreadable`: the message exceeds a limit of the parser. `late`: the time limit or a crash of the thread, perhaps not the message's
 * fault. */
export type Parsed = { digest: Digest } | { problem: "unreadable" | "late" };

export type Parser = {
  digest(raw: Buffer, sender: string): Promise<Parsed>;
  stop(): Promise<void>;
};

type Job = { raw: Buffer; sender: string; resolve(parsed: Parsed): void };

/** A message of 40 MiB takes two seconds, and on a busy machine ten times as long. */
const limitMs = 60_000;

export function createParser(options: { onProblem(reason: string): void }): Parser {
  const waiting: Job[] = [];
  let worker: Worker | undefined;
  let current: { id: number; job: Job; timer: NodeJS.Timeout } | undefined;
  let lastId = 0;
  let stopped = false;

  function start(): Worker {
    const created = new Worker(new URL("./parse-worker.ts", import.meta.url), {
      // No legitimate message needs more.
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    created.on("message", ({ id, digest, problem }: { id: number; digest?: Digest; problem?: string }) => {
      if (id !== current?.id) return;
      if (digest) return finish({ digest });
      options.onProblem(problem ?? "");
      finish({ problem: "unreadable" });
    });
    created.on("error", (error) => {
      if (worker === created) replace((error as Error).message);
    });
    created.unref();
    return created;
  }

  function finish(parsed: Parsed): void {
    const done = current;
    current = undefined;
    if (done) {
      clearTimeout(done.timer);
      done.job.resolve(parsed);
    }
    advance();
  }

  /** The thread has crashed or exceeded the time limit: gives up the current message and starts a new thread for the others. */
  function replace(reason: string): void {
    const old = worker;
    worker = undefined;
    void old?.terminate();
    options.onProblem(reason);
    finish({ problem: "late" });
  }

  function advance(): void {
    if (current || stopped) return;
    const job = waiting.shift();
    if (!job) return;
    worker ??= start();
    lastId += 1;
    const timer = setTimeout(() => replace("parsing took too long"), limitMs);
    current = { id: lastId, job, timer };
    worker.postMessage({ id: lastId, raw: job.raw, sender: job.sender });
  }

  return {
    digest(raw, sender) {
      return new Promise((resolve) => {
        waiting.push({ raw, sender, resolve });
        advance();
      });
    },
    async stop() {
      stopped = true;
      for (const job of waiting.splice(0)) job.resolve({ problem: "late" });
      if (current) {
        clearTimeout(current.timer);
        current.job.resolve({ problem: "late" });
        current = undefined;
      }
      await worker?.terminate();
    },
  };
}
