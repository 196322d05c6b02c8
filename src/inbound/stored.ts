/** Opens stored messages for InboundService: texts, content and attachments. Texts were stored with the message; a message of an earlier
 * version is parsed once, in the threads. Memory for content is shared between workspaces, and equal reads at the same time share one. */
import { decodeBody } from "../mail/message/body.ts";
import type { Texts } from "../mail/message/digest.ts";
import type { BodyPosition } from "../mail/message/read.ts";
import type { Sql } from "../postgres/pool.ts";
import { createBudget } from "../shares/budget.ts";
import type { Reader } from "./reader.ts";
import { maxStoredText } from "./rules/events.ts";
import { type InboundRow, readInboundBody, readInboundRaw, readTexts, storeTexts } from "./store/reads.ts";

export type StoredMail = {
  /** Undefined if the content has been deleted. */
  texts(workspaceId: string, row: InboundRow): Promise<Texts | undefined>;
  content(workspaceId: string, row: InboundRow): Promise<Buffer | undefined>;
  attachment(workspaceId: string, row: InboundRow, id: string): Promise<Uint8Array | undefined>;
};

/** Memory for content that is being read, and what a message takes of it: base64 from the database, the bytes, and a copy in a thread. */
const memoryBytes = 192 * 1024 * 1024;
const memoryPerByte = 3;
/** Decoding this much takes less time than handing it to a thread. */
const inlineBytes = 32 * 1024;

export function createStoredMail({ sql, reader }: { sql: Sql; reader: Reader }): StoredMail {
  const memory = createBudget({ total: memoryBytes, factor: 1 });
  const running = new Map<string, Promise<unknown>>();

  /** Calls with the same key at the same time get the result of the first. */
  function shared<T>(key: string, work: () => Promise<T>): Promise<T> {
    const known = running.get(key) as Promise<T> | undefined;
    if (known) return known;
    const started = work().finally(() => running.delete(key));
    running.set(key, started);
    return started;
  }

  async function withMemory<T>(workspaceId: string, bytes: number, work: () => Promise<T>): Promise<T> {
    const amount = bytes * memoryPerByte;
    await memory.take(workspaceId, amount);
    try {
      return await work();
    } finally {
      memory.give(workspaceId, amount);
    }
  }

  async function parseTexts(workspaceId: string, id: string): Promise<Texts | undefined> {
    const raw = await readInboundRaw(sql, workspaceId, id);
    if (!raw) return undefined;
    const texts = await reader.texts(workspaceId, raw);
    const length = texts.body.length + texts.newText.length + texts.html.length;
    // Without the write, the next read parses again.
    if (length <= maxStoredText) await storeTexts(sql, { workspaceId, id, texts }).catch(() => {});
    return texts;
  }

  /** Only the pieces of the content that contain the attachment. */
  async function decodePart(workspaceId: string, id: string, position: BodyPosition): Promise<Uint8Array | undefined> {
    const body = await readInboundBody(sql, { workspaceId, id, start: position.start, end: position.end });
    if (!body) return undefined;
    if (body.length <= inlineBytes) return decodeBody(body, position.encoding);
    return await reader.decode(workspaceId, body, position.encoding);
  }

  async function findPart(workspaceId: string, id: string, part: string): Promise<Uint8Array | undefined> {
    const raw = await readInboundRaw(sql, workspaceId, id);
    return raw && (await reader.attachment(workspaceId, raw, part));
  }

  return {
    async texts(workspaceId, { id, sizeBytes }) {
      const stored = await readTexts(sql, workspaceId, id);
      if (stored) return stored;
      return await shared(`texts ${workspaceId} ${id}`, () =>
        withMemory(workspaceId, Number(sizeBytes), () => parseTexts(workspaceId, id)),
      );
    },
    content: (workspaceId, { id, sizeBytes }) =>
      withMemory(workspaceId, Number(sizeBytes), () => readInboundRaw(sql, workspaceId, id)),
    attachment(workspaceId, { id, sizeBytes, summary }, part) {
      const position = summary.positions?.[summary.attachments.findIndex((one) => one.id === part)];
      const bytes = position ? position.end - position.start : Number(sizeBytes);
      return shared(`attachment ${workspaceId} ${id} ${part}`, () =>
        withMemory(workspaceId, bytes, () =>
          position ? decodePart(workspaceId, id, position) : findPart(workspaceId, id, part),
        ),
      );
    },
  };
}
