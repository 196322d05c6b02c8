/** The entry point of a compose thread, started by threads.ts: answers each job with one message, outline or error, in order. */

import { parentPort } from "node:worker_threads";
import type { Outline } from "../../mail/mime/pieces.ts";
import { freeNow } from "../../ops/free.ts";
import { type ComposeJob, composeSigned, type OutlineJob, outlineJob, transferable } from "./job.ts";

export type WorkerAnswer = { ok: true; result: Uint8Array | Outline } | { ok: false; error: unknown };

parentPort?.on("message", async (job: ComposeJob | OutlineJob) => {
  let answer: WorkerAnswer;
  try {
    answer = { ok: true, result: job.kind === "message" ? await composeSigned(job) : outlineJob(job) };
  } catch (error) {
    answer = { ok: false, error };
  }
  const { attachments = [], submitted } = job.email;
  for (const content of [...attachments.map(({ base64 }) => base64), submitted?.message])
    if (content instanceof Uint8Array) freeNow(content);
  parentPort?.postMessage(answer, answer.ok ? memoryOf(answer.result) : []);
});

function memoryOf(result: Uint8Array | Outline): ArrayBuffer[] {
  const pieces = result instanceof Uint8Array ? [result] : result.pieces;
  return pieces.flatMap((piece) => (piece instanceof Uint8Array ? transferable(piece) : []));
}
