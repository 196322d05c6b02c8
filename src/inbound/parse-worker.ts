/** The entry point of the thread that parses inbound messages, so that a malicious message cannot block the event loop. Started by
 * parser.ts. */
import { parentPort } from "node:worker_threads";
import { digestMessage } from "../mail/message/digest.ts";

parentPort!.on("message", async ({ id, raw, sender }: { id: number; raw: Uint8Array; sender: string }) => {
  try {
    parentPort!.postMessage({ id, digest: await digestMessage(raw, { sender }) });
  } catch (error) {
    parentPort!.postMessage({ id, problem: (error as Error).message });
  }
});
