/** Parses arriving messages in a thread of its own, one after the other, with a limit on the time that each may take. */
import { Worker } from "node:worker_threads";
import type { Digest } from "../mail/message/digest.ts";

/** `unreadable`: it breaks the bounds of the parser. `late`: no fault of the message's, as far as one can tell. */
export type Parsed = { digest: Digest } | { problem: "unreadable" | "late" };

export type Parser = {
  digest(raw: Buffer, sender: string): Promise<Parsed>;
  stop(): Promise<void>;
};

type Job = { raw: Buffer; sender: string; resolve(parsed: Parsed): void };

/** A message of 40 MiB takes two seconds; on a machine that does ten other things it takes ten times as long. */
const limitMs = 60_000;

export function createParser(options: { onProblem(reason: string): void }): Parser {
  const waiting: Job[] = [];
  let worker: Worker | undefined;
  let current: { id: number; job: Job; timer: NodeJS.Timeout } | undefined;
  let lastId = 0;
  let stopped = false;

  function start(): Worker {
    const fresh = new Worker(new URL("./parse-worker.ts", import.meta.url), {
      // A message that makes the parser use more than this is no letter.
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    fresh.on("message", ({ id, digest, problem }: { id: number; digest?: Digest; problem?: string }) => {
      if (id !== current?.id) return;
      if (digest) return finish({ digest });
      options.onProblem(problem ?? "");
      finish({ problem: "unreadable" });
    });
    fresh.on("error", (error) => {
      if (worker === fresh) replace((error as Error).message);
    });
    fresh.unref();
    return fresh;
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

  /** The thread is lost, or kept busy for too long: the message in hand is given up, the others get a new thread. */
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
