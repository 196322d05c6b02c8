/** Opens a stored message again, for its texts or one of its attachments: what is stored is the message itself and nothing twice. */
import { Worker } from "node:worker_threads";
import { type Texts, textsOf } from "../mail/message/digest.ts";
import { readMessage } from "../mail/message/read.ts";

export type Opened = { texts: Texts; content: Uint8Array | undefined };

/** Parsing more than this would hold up other callers. */
const inlineBytes = 128 * 1024;

export async function openInbound(raw: Buffer, attachmentId?: string): Promise<Opened> {
  if (raw.length <= inlineBytes) return await openStored(raw, attachmentId);
  return await new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./inbound-worker.ts", import.meta.url), { workerData: { raw, attachmentId } });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** Ids of attachments are their places in the message, so they are the same each time it is read. */
export async function openStored(raw: Uint8Array, attachmentId: string | undefined): Promise<Opened> {
  const message = await readMessage(raw);
  const content = message.parts.find(({ id }) => id === attachmentId)?.content;
  return { texts: textsOf(message), content: content && new Uint8Array(content) };
}
