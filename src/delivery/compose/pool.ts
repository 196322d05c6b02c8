/** Composes and signs messages for the delivery attempts without blocking the event loop: small emails inline, with the signature on
 * libuv's thread pool, and large ones in worker threads. */

import type { OutgoingEmail } from "../../mail/compose.ts";
import { type ComposeJob, composeSigned, createKeyCache, type PrivateKeySource } from "./job.ts";
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

export type Composer = {
  compose(request: ComposeRequest): Promise<{ raw: Buffer; size: number }>;
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
  const inProgress = new Set<Promise<Buffer>>();
  let stopped = false;

  async function run({ email, signer, smtputf8 = false, signal }: ComposeRequest): Promise<Buffer> {
    signal?.throwIfAborted();
    const job: ComposeJob = {
      email,
      smtputf8,
      ...(signer && { signer: { domain: signer.domain, selector: signer.selector, key: keyOf(signer) } }),
    };
    return contentSize(email) <= inlineLimitBytes ? composeSigned(job) : composeThreads.run(job, signal);
  }

  return {
    async compose(request) {
      if (stopped) throw new Error("the composer has been stopped");
      const work = run(request);
      inProgress.add(work);
      try {
        const raw = await work;
        return { raw, size: raw.length };
      } finally {
        inProgress.delete(work);
      }
    },
    async stop() {
      stopped = true;
      await Promise.allSettled(inProgress);
      await composeThreads.end();
    },
  };
}

function contentSize({ text = "", html = "", attachments = [], submitted }: OutgoingEmail): number {
  const texts = text.length + html.length + (submitted?.message.length ?? 0);
  return attachments.reduce((sum, { base64 }) => sum + base64.length, texts);
}
