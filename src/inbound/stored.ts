/** Opens stored messages for InboundService: texts, content and attachments. Texts were stored with the message; a message of an earlier
 * version is parsed once, in the threads. Memory for content is shared between workspaces, and equal reads at the same time share one. */
import type { Cancellation } from "../http/call.ts";
import { decodeBody } from "../mail/message/body.ts";
import type { Texts } from "../mail/message/digest.ts";
import type { BodyPosition } from "../mail/message/read.ts";
import type { ContentStore } from "../objects/content-store.ts";
import type { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { createBudget } from "../shares/budget.ts";
import { onlyProcess, type ProcessPart, partOf } from "../shares/process-part.ts";
import { type Reader, tooManyReads } from "./reader.ts";
import { maxStoredText } from "./rules/events.ts";
import { type InboundRow, readInboundBody, readInboundRaw, readTexts, storeTexts } from "./store/reads.ts";

/** The call that reads: its workspace, and its cancellation, which ends the wait for memory. */
export type StoredRead = { workspaceId: string; cancellation: Cancellation };

export type StoredMail = {
  /** Undefined if the content has been deleted. */
  texts(read: StoredRead, row: InboundRow): Promise<Texts | undefined>;
  content(read: StoredRead, row: InboundRow): Promise<Buffer | undefined>;
  attachment(read: StoredRead, row: InboundRow, id: string): Promise<Uint8Array | undefined>;
};

const defaultLimits = {
  /** Memory for content that is being read. */
  memoryBytes: 192 * 1024 * 1024,
  waitMs: 10_000,
  /** Reads of one workspace that may wait for memory. */
  waiters: 50,
};

export type StoredLimits = typeof defaultLimits;

/** What a message takes of the memory: base64 from the database, the bytes, and a copy in a thread. */
const memoryPerByte = 3;
/** Decoding this much takes less time than handing it to a thread. */
const inlineBytes = 32 * 1024;

/** `contents`: undefined if no object storage is configured. */
type StoredDeps = {
  sql: Sql;
  contents?: ContentStore;
  reader: Reader;
  limits?: Partial<StoredLimits>;
  part?: ProcessPart;
};
type EndOfWait = Pick<Cancellation, "signal" | "reason">;

export function createStoredMail({ sql, contents, reader, limits, part = onlyProcess }: StoredDeps): StoredMail {
  const source = { sql, contents };
  const { waitMs, waiters, ...all } = { ...defaultLimits, ...limits };
  const memoryBytes = partOf(all.memoryBytes, part);
  const memory = createBudget({ total: memoryBytes, factor: 1 });
  const shared = createSharedReads();

  async function takeMemory(workspaceId: string, amount: number, end: EndOfWait): Promise<void> {
    if (memory.tryTake(workspaceId, amount)) return;
    if (memory.waiting(workspaceId) >= waiters) throw tooManyReads();
    await memory.take(workspaceId, amount, AbortSignal.any([end.signal, AbortSignal.timeout(waitMs)])).catch(() => {
      throw end.reason() ?? tooManyReads();
    });
  }

  async function withMemory<T>(
    { workspaceId, bytes, end }: { workspaceId: string; bytes: number; end: EndOfWait },
    work: () => Promise<T>,
  ): Promise<T> {
    // Half is the share of a workspace. A larger amount would wait until all of the memory is free.
    const amount = Math.min(bytes * memoryPerByte, memoryBytes / 2);
    await takeMemory(workspaceId, amount, end);
    try {
      return await work();
    } finally {
      memory.give(workspaceId, amount);
    }
  }

  async function parseTexts(workspaceId: string, id: string): Promise<Texts | undefined> {
    const raw = await readInboundRaw(source, workspaceId, id);
    if (!raw) return undefined;
    const texts = await reader.texts(workspaceId, raw);
    const length = texts.body.length + texts.newText.length + texts.html.length;
    // Without the write, the next read parses again.
    if (length <= maxStoredText) await storeTexts(sql, { workspaceId, id, texts }).catch(() => {});
    return texts;
  }

  /** Only the pieces of the content that contain the attachment. */
  async function decodePart(workspaceId: string, id: string, position: BodyPosition): Promise<Uint8Array | undefined> {
    const body = await readInboundBody(source, { workspaceId, id, start: position.start, end: position.end });
    if (!body) return undefined;
    if (body.length <= inlineBytes) return decodeBody(body, position.encoding);
    return await reader.decode(workspaceId, body, position.encoding);
  }

  async function findPart(workspaceId: string, id: string, part: string): Promise<Uint8Array | undefined> {
    const raw = await readInboundRaw(source, workspaceId, id);
    return raw && (await reader.attachment(workspaceId, raw, part));
  }

  return {
    async texts({ workspaceId, cancellation }, { id, sizeBytes }) {
      const stored = await readTexts(sql, workspaceId, id);
      if (stored) return stored;
      return await shared(`texts ${workspaceId} ${id}`, cancellation, (end) =>
        withMemory({ workspaceId, bytes: Number(sizeBytes), end }, () => parseTexts(workspaceId, id)),
      );
    },
    content: ({ workspaceId, cancellation }, { id, sizeBytes }) =>
      withMemory({ workspaceId, bytes: Number(sizeBytes), end: cancellation }, () =>
        readInboundRaw(source, workspaceId, id),
      ),
    attachment({ workspaceId, cancellation }, { id, sizeBytes, summary }, part) {
      const position = summary.positions?.[summary.attachments.findIndex((one) => one.id === part)];
      const bytes = position ? position.end - position.start : Number(sizeBytes);
      return shared(`attachment ${workspaceId} ${id} ${part}`, cancellation, (end) =>
        withMemory({ workspaceId, bytes, end }, () =>
          position ? decodePart(workspaceId, id, position) : findPart(workspaceId, id, part),
        ),
      );
    },
  };
}

type SharedRead = { result: Promise<unknown>; callers: number; leave(reason: Problem | undefined): void };

/** Calls with the same key at the same time get the result of the first. The wait of the read ends when all of them have left. */
function createSharedReads() {
  const running = new Map<string, SharedRead>();

  function start(key: string, work: (end: EndOfWait) => Promise<unknown>): SharedRead {
    const abandoned = new AbortController();
    const end = { signal: abandoned.signal, reason: () => abandoned.signal.reason };
    const forget = () => void (running.get(key) === read && running.delete(key));
    const read: SharedRead = {
      result: work(end).finally(forget),
      callers: 0,
      leave(reason) {
        read.callers -= 1;
        if (read.callers > 0) return;
        forget();
        abandoned.abort(reason);
      },
    };
    running.set(key, read);
    return read;
  }

  return async <T>(key: string, cancellation: Cancellation, work: (end: EndOfWait) => Promise<T>): Promise<T> => {
    const reason = cancellation.reason();
    if (reason) throw reason;
    const read = running.get(key) ?? start(key, work);
    read.callers += 1;
    const unsubscribe = cancellation.onCancel(() => read.leave(cancellation.reason()));
    return await (read.result as Promise<T>).finally(unsubscribe);
  };
}
