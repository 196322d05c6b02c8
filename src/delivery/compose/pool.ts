/** Composes and signs messages for the delivery attempts without blocking the event loop: small emails inline, with the signature on
 * libuv's thread pool, and large ones in worker threads. */

import type { KeyObject } from "node:crypto";
import type { OutgoingEmail } from "../../mail/compose.ts";
import { isLargeContent } from "../../mail/mime/attachment.ts";
import type { LargeContent, Outline } from "../../mail/mime/pieces.ts";
import {
  type ComposeJob,
  composeSigned,
  createKeyCache,
  type OutlineJob,
  outlineJob,
  type PrivateKeySource,
} from "./job.ts";
import { createComposeThreads } from "./threads.ts";

/** bench/compose.ts: the round trip to a worker thread costs 0.4 ms, five times as much as composing a 3 kB email. Composing 64 KiB blocks
 * the event loop for 0.5 ms. */
const defaultInlineLimitBytes = 64 * 1024;

export type ComposerOptions = {
  /** Worker threads for large emails, started when first needed. Each composes one email at a time. */
  threads?: number;
  /** Emails with more content than this go to a worker thread. */
  inlineLimitBytes?: number;
  /** Size of the cache of parsed private keys. */
  keyLimit?: number;
};

export type ComposeRequest = {
  /** The memory of attachments given as bytes may be transferred to a worker thread: do not use them afterwards. */
  email: OutgoingEmail;
  /** Unset: the message is not signed. */
  signer?: PrivateKeySource;
  /** The recipient needs SMTPUTF8. */
  smtputf8?: boolean;
  /** Rejects the call. A job that already runs in a thread is finished and its result dropped. */
  signal?: AbortSignal;
};

export type OutlineRequest = Pick<ComposeRequest, "smtputf8" | "signal"> & { email: OutgoingEmail<LargeContent> };

export type Composer = {
  compose(request: ComposeRequest): Promise<{ raw: Buffer; size: number }>;
  /** Composes a message without its large parts. It is not signed. */
  outline(request: OutlineRequest): Promise<Outline>;
  /** The parsed private key, from the cache. */
  keyOf(source: PrivateKeySource): KeyObject;
  /** Rejects new requests, finishes those in progress, then ends the threads. */
  stop(): Promise<void>;
};

export function createComposer({
  threads = 1,
  inlineLimitBytes = defaultInlineLimitBytes,
  keyLimit = 1000,
}: ComposerOptions = {}): Composer {
  const keyOf = createKeyCache(keyLimit);
  const composeThreads = createComposeThreads(threads);
  const inProgress = new Set<Promise<unknown>>();
  let stopped = false;

  async function run({ email, signer, smtputf8 = false, signal }: ComposeRequest): Promise<Buffer> {
    signal?.throwIfAborted();
    const job: ComposeJob = {
      kind: "message",
      email,
      smtputf8,
      ...(signer && { signer: { domain: signer.domain, selector: signer.selector, key: keyOf(signer) } }),
    };
    return contentSize(email) <= inlineLimitBytes ? composeSigned(job) : composeThreads.run(job, signal);
  }

  async function runOutline({ email, smtputf8 = false, signal }: OutlineRequest): Promise<Outline> {
    signal?.throwIfAborted();
    const job: OutlineJob = { kind: "outline", email, smtputf8 };
    return contentSize(email) <= inlineLimitBytes ? outlineJob(job) : composeThreads.outline(job, signal);
  }

  async function tracked<T>(start: () => Promise<T>): Promise<T> {
    if (stopped) throw new Error("the composer has been stopped");
    const work = start();
    inProgress.add(work);
    try {
      return await work;
    } finally {
      inProgress.delete(work);
    }
  }

  return {
    async compose(request) {
      const raw = await tracked(() => run(request));
      return { raw, size: raw.length };
    },
    outline: (request) => tracked(() => runOutline(request)),
    keyOf,
    async stop() {
      stopped = true;
      await Promise.allSettled(inProgress);
      await composeThreads.end();
    },
  };
}

/** Of what is in memory. */
function contentSize({ text = "", html = "", attachments = [], submitted }: OutgoingEmail<LargeContent>): number {
  const sizeOf = (content: string | Uint8Array | LargeContent) => (isLargeContent(content) ? 0 : content.length);
  const texts = text.length + html.length + (submitted ? sizeOf(submitted.message) : 0);
  return attachments.reduce((sum, { base64 }) => sum + sizeOf(base64), texts);
}
