/** The messages of the emails in hand: each is read, composed and signed once and shared by the recipients that need it at the same time.
 * It is dropped when no receiver needs it yet or any longer. A message with large parts is read while it is sent, for each recipient. An attempt opens the source of its email and closes it at its end. */
import { readOutgoing, readOutlined, streamedBytes } from "../emails/outgoing.ts";
import type { ContentKey } from "../emails/store/content.ts";
import { ContentGone, largeFromBytes as largePartBytes, type StoredPart } from "../emails/store/parts.ts";
import { createTurns, type Turns } from "../shares/turns.ts";
import type { DataSource, MessageData, StreamedMessage } from "../smtp/client/envelope.ts";
import type { Digests } from "./compose/digests.ts";
import type { Composer } from "./compose/pool.ts";
import type { RecentMail } from "./compose/recent-mail.ts";
import { streamSigned } from "./compose/streamed.ts";
import type { Memory, Reservation } from "./memory.ts";
import type { createSigning, Signer } from "./signing.ts";
import type { LeasedEmail } from "./store/lease.ts";

export type MessageSourceDeps = {
  contentOf(key: ContentKey): Promise<StoredPart[] | undefined>;
  signing: Pick<ReturnType<typeof createSigning>, "signerOf">;
  composer: Composer;
  digests: Digests;
  recentMail: Pick<RecentMail, "hashOf" | "setHash" | "open">;
  memory: Memory;
  /** Object storage is configured. */
  hasObjects?: boolean;
  /** Shares composing and signing between workspaces. */
  turns: Turns;
  /** How long the message of an email with several recipients is kept for those that are leased next. */
  keepMs?: number;
};

export type MessageRequest = { email: LeasedEmail; destination: string; smtputf8: boolean; signal: AbortSignal };

export type MessageSource = DataSource & {
  /** The DKIM key, and the domain of the return path. */
  signer(): Promise<Signer>;
  /** This recipient does not need the message now. A later `load` returns it again. False: it did not have it. */
  drop(): boolean;
  /** This recipient does not need the message any longer. */
  close(): void;
};

/** The message cannot be composed, now or later. */
export class Undeliverable extends Error {
  override readonly name = "Undeliverable";
  readonly category: string;
  constructor(category: string, reason: string) {
    super(reason);
    this.category = category;
  }
}

/** One form of one email: with or without SMTPUTF8. */
type Shared = {
  key: string;
  /** Open sources. */
  sources: number;
  /** Sources that need the bytes now. */
  users: Set<object>;
  /** Calls of `load` in progress. */
  waiting: number;
  composed: { raw: MessageData; memory: Reservation } | undefined;
  loading: { raw: Promise<MessageData>; abort: AbortController } | undefined;
  kept: NodeJS.Timeout | undefined;
};

/** Keeping a large email would hold memory that others wait for, to save a signature. Its memory is counted for the destination
 * (memory.ts), so recipients at different destinations do not share it: one of them may be slow. */
const largeFromBytes = 1024 * 1024;

/** First passes over large messages. Not limited by `turns`, because they read from the store: a slow one must not hold up small mail. */
const hashedAtOnce = 8;

export function createMessageSources(deps: MessageSourceDeps) {
  const { keepMs = 1000 } = deps;
  const hashing = createTurns(hashedAtOnce);
  const messages = new Map<string, Shared>();
  let streams = 0;

  async function signerOf(email: LeasedEmail): Promise<Signer> {
    const found = await deps.signing.signerOf(email.workspaceId, email.domainId);
    if (!found) throw new Undeliverable("no_dkim_key", noKeyReason(email));
    return found;
  }

  async function load(shared: Shared, request: MessageRequest, signal: AbortSignal): Promise<MessageData> {
    const { email, destination } = request;
    const { id: emailId, workspaceId, sizeBytes, contentDay: day } = email;
    const fromObjects = deps.hasObjects === true && sizeBytes > largePartBytes;
    const owner = { sizeBytes, streamedBytes: streamedBytes(email), destination, workspaceId, fromObjects };
    const reserved = await deps.memory.reserve(owner, signal);
    const recent = deps.recentMail.open(emailId);
    const memory = {
      shrink: reserved.shrink,
      release() {
        reserved.release();
        recent?.close();
      },
    };
    try {
      const [parts, key] = await Promise.all([
        recent?.parts ??
          deps.contentOf({ workspaceId, emailId, day, isSubmitted: email.envelope.submitted !== undefined }),
        signerOf(email),
      ]);
      if (!parts) throw new ContentGone();
      const make = streamedBytes(email) > 0 ? stream : compose;
      const raw = await make(request, parts, key, signal);
      await memory.shrink(signal);
      // Another load may have begun since.
      signal.throwIfAborted();
      shared.composed = { raw, memory };
      return raw;
    } catch (error) {
      memory.release();
      throw lostIfGone(error);
    }
  }

  async function stream(
    { email, smtputf8, signal: readSignal }: MessageRequest,
    parts: StoredPart[],
    { source, cost }: Signer,
    signal: AbortSignal,
  ): Promise<StreamedMessage> {
    const outlined = await readOutlined(email, parts, signal);
    const endTurn = await deps.turns.take(email.workspaceId, signal, cost);
    const outline = await deps.composer.outline({ email: outlined, smtputf8, signal }).finally(endTurn);
    const bodyHash = await deps.recentMail.hashOf(email.id);
    const endHashing = await hashing.take(email.workspaceId, signal, cost);
    try {
      const what = { outline, parts, signer: source, signedAt: outlined.date, bodyHash };
      const signed = await streamSigned(deps, { ...what, signal, readSignal });
      deps.recentMail.setHash(email.id, signed.bodyHash);
      return withLoss(signed.message);
    } finally {
      endHashing();
    }
  }

  async function compose(
    { email, smtputf8 }: MessageRequest,
    parts: StoredPart[],
    { source, cost }: Signer,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const outgoing = await readOutgoing(email, parts, signal);
    const endTurn = await deps.turns.take(email.workspaceId, signal, cost);
    const { raw } = await deps.composer.compose({ email: outgoing, signer: source, smtputf8, signal }).finally(endTurn);
    return raw;
  }

  function loadingOf(shared: Shared, request: MessageRequest): Promise<MessageData> {
    if (shared.loading) return shared.loading.raw;
    const abort = new AbortController();
    const loading = { raw: load(shared, request, abort.signal), abort };
    shared.loading = loading;
    const ended = () => {
      if (shared.loading === loading) shared.loading = undefined;
      releaseUnused(shared, request.email);
    };
    loading.raw.then(ended, ended);
    return loading.raw;
  }

  function releaseUnused(shared: Shared, email: LeasedEmail): void {
    if (shared.users.size + shared.waiting === 0) release(shared, email);
  }

  /** No recipient needs the bytes now. */
  function release(shared: Shared, email: LeasedEmail): void {
    if (!shared.composed) return forgetUnused(shared);
    const keep = keepMs > 0 && recipientsOf(email) > 1 && email.sizeBytes < largeFromBytes && !deps.memory.contended();
    if (keep) shared.kept ??= setTimeout(() => free(shared), keepMs).unref();
    else free(shared);
  }

  /** Waits for the message. The work continues for the others when one of them is aborted, and ends when all are. */
  async function waitFor(shared: Shared, request: MessageRequest): Promise<MessageData> {
    shared.waiting += 1;
    try {
      return await orAborted(loadingOf(shared, request), request.signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        shared.loading?.abort.abort();
        shared.loading = undefined;
      }
      // The message may have been composed after the abort.
      if (request.signal.aborted) releaseUnused(shared, request.email);
    }
  }

  function free(shared: Shared): void {
    unkeep(shared);
    shared.composed?.memory.release();
    shared.composed = undefined;
    forgetUnused(shared);
  }

  function forgetUnused(shared: Shared): void {
    if (shared.sources > 0 || shared.composed) return;
    if (messages.get(shared.key) === shared) messages.delete(shared.key);
  }

  function sharedOf(request: MessageRequest): Shared {
    // What a stream holds is counted for one recipient.
    const key = streamedBytes(request.email) > 0 ? `${keyOf(request)} ${++streams}` : keyOf(request);
    const found = messages.get(key);
    if (found) return found;
    const none = { composed: undefined, loading: undefined, kept: undefined };
    const shared = { key, sources: 0, users: new Set<object>(), waiting: 0, ...none };
    messages.set(key, shared);
    return shared;
  }

  return {
    open(request: MessageRequest): MessageSource {
      const { email, signal } = request;
      const shared = sharedOf(request);
      shared.sources += 1;
      let open = true;
      const user = {};
      const drop = () => {
        const held = shared.users.delete(user);
        if (held && shared.users.size === 0) release(shared, email);
        return held;
      };
      return {
        signer: () => signerOf(email),
        get length() {
          return shared.composed?.raw.length;
        },
        async load() {
          signal.throwIfAborted();
          unkeep(shared);
          const raw = shared.composed?.raw ?? (await waitFor(shared, request));
          if (open) shared.users.add(user);
          else if (shared.users.size === 0) release(shared, email);
          return raw;
        },
        drop,
        close() {
          if (!open) return;
          open = false;
          shared.sources -= 1;
          drop();
          forgetUnused(shared);
        },
      };
    },
    /** For tests: messages that are in memory or may be. */
    size: () => messages.size,
  };
}

export type MessageSources = ReturnType<typeof createMessageSources>;

function unkeep(shared: Shared): void {
  clearTimeout(shared.kept);
  shared.kept = undefined;
}

function keyOf({ email, smtputf8, destination }: MessageRequest): string {
  return `${email.id} ${smtputf8} ${email.sizeBytes < largeFromBytes ? "" : destination}`;
}

/** The content may be deleted while the message is sent. */
function withLoss({ length, read }: StreamedMessage): StreamedMessage {
  return {
    length,
    async *read() {
      try {
        yield* read();
      } catch (error) {
        throw lostIfGone(error);
      }
    },
  };
}

function lostIfGone(error: unknown): unknown {
  return error instanceof ContentGone ? new Undeliverable("content_lost", error.message) : error;
}

function recipientsOf({ envelope }: LeasedEmail): number {
  return envelope.to.length + envelope.cc.length + envelope.bcc.length;
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

function noKeyReason({ domain }: LeasedEmail): string {
  return `${domain} no longer has a DKIM key, so the email cannot be signed. Check the domain and send the email again.`;
}
