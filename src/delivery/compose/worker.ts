/** The entry point of a compose thread, started by threads.ts: answers each job with one message or error, in order. */

import { parentPort } from "node:worker_threads";
import { freeNow } from "../../ops/free.ts";
import { type ComposeJob, composeSigned, transferable } from "./job.ts";

export type WorkerAnswer = { ok: true; raw: Uint8Array } | { ok: false; error: unknown };

parentPort?.on("message", async (job: ComposeJob) => {
  let answer: WorkerAnswer;
  try {
    answer = { ok: true, raw: await composeSigned(job) };
  } catch (error) {
    answer = { ok: false, error };
  }
  const { attachments = [], submitted } = job.email;
  for (const content of [...attachments.map(({ base64 }) => base64), submitted?.message])
    if (content instanceof Uint8Array) freeNow(content);
  parentPort?.postMessage(answer, answer.ok ? transferable(answer.raw) : []);
});
