/**
 * Composes and signs for the delivery attempts without holding up the event loop: small emails inline (the signature
 * itself runs on libuv's thread pool), large ones in worker threads.
 */

import type { OutgoingEmail } from "../mail/compose.ts";
import { createCrew } from "./compose-pool-crew.ts";
import { type ComposeJob, composeSigned } from "./compose-pool-job.ts";
import { createKeyCache, type PrivateKeySource } from "./compose-pool-keys.ts";

export type ComposerOptions = {
  /** Worker threads for large emails, started when first needed; each composes one at a time, the others wait. */
  threads?: number;
  /** Emails with more content than this go to a worker. */
  inlineLimitBytes?: number;
  /** Parsed private keys kept. */
  keyLimit?: number;
};

export type ComposeRequest = {
  /** Attachment content in octets (not in text) is given away: a worker may take over its memory. */
  email: OutgoingEmail;
  /** Unset: unsigned. */
  signer?: PrivateKeySource;
  /** The session speaks SMTPUTF8 and this copy is for a recipient who needs it. */
  smtputf8?: boolean;
  /** Ends the wait for a free worker; work in hand is finished and thrown away. */
  signal?: AbortSignal;
};

export type Composer = {
  compose(request: ComposeRequest): Promise<{ raw: Buffer; size: number }>;
  /** Finishes what was asked for, refuses what comes after, ends the threads. */
  stop(): Promise<void>;
};

export function createComposer({
  threads = 1,
  inlineLimitBytes = INLINE_LIMIT,
  keyLimit = 1000,
}: ComposerOptions = {}): Composer {
  const keyOf = createKeyCache(keyLimit);
  const crew = createCrew(threads);
  const underWay = new Set<Promise<Buffer>>();
  let stopped = false;

  async function run({ email, signer, smtputf8 = false, signal }: ComposeRequest): Promise<Buffer> {
    signal?.throwIfAborted();
    const job: ComposeJob = {
      email,
      smtputf8,
      ...(signer && { signer: { domain: signer.domain, selector: signer.selector, key: keyOf(signer) } }),
    };
    return contentSize(email) <= inlineLimitBytes ? composeSigned(job) : crew.run(job, signal);
  }

  return {
    async compose(request) {
      if (stopped) throw new Error("the composer has been stopped");
      const work = run(request);
      underWay.add(work);
      try {
        const raw = await work;
        return { raw, size: raw.length };
      } finally {
        underWay.delete(work);
      }
    },
    async stop() {
      stopped = true;
      await Promise.allSettled(underWay);
      await crew.end();
    },
  };
}

// bench/compose.ts: the hop to a worker and back costs 0.4 ms, five times what a 3 kB email takes; 64 KiB hold the
// event loop for 0.5 ms.
const INLINE_LIMIT = 64 * 1024;

function contentSize({ text = "", html = "", attachments = [] }: OutgoingEmail): number {
  return attachments.reduce((sum, { base64 }) => sum + base64.length, text.length + html.length);
}
