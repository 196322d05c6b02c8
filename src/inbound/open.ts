/** Parses a stored message for its texts or one of its attachments, since only the raw message is stored. InboundService calls it. */
import { Worker } from "node:worker_threads";
import { type Texts, textsOf } from "../mail/message/digest.ts";
import { readMessage } from "../mail/message/read.ts";

export type Opened = { texts: Texts; content: Uint8Array | undefined };

/** Larger messages are parsed in a thread, because parsing would block the event loop. */
const inlineBytes = 128 * 1024;

export async function openInbound(raw: Buffer, attachmentId?: string): Promise<Opened> {
  if (raw.length <= inlineBytes) return await openStored(raw, attachmentId);
  return await new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./open-worker.ts", import.meta.url), { workerData: { raw, attachmentId } });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** The id of an attachment is its position in the message, so that it is the same each time the message is parsed. */
export async function openStored(raw: Uint8Array, attachmentId: string | undefined): Promise<Opened> {
  const message = await readMessage(raw);
  const content = message.parts.find(({ id }) => id === attachmentId)?.content;
  return { texts: textsOf(message), content: content && new Uint8Array(content) };
}
