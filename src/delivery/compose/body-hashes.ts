/**
 * The body hashes of large emails, for message-source.ts: of earlier passes over the same email, and of emails that this program has just accepted,
 * whose content is still in memory. Each saves a pass over the content in the database, for the first attempt, other recipients and later attempts.
 */
import { readOutlined, streamedBytes } from "../../emails/outgoing.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import type { NewPart, StoredPart } from "../../emails/store/parts.ts";
import type { Digests } from "./digests.ts";
import type { Composer } from "./pool.ts";
import { bodyHashOf } from "./streamed.ts";

export type BodyHashes = {
  /** Waits for a hash that is being computed. Undefined: it is not known. */
  get(emailId: string): Promise<string | undefined>;
  set(emailId: string, hash: string): void;
  /** Computes the hashes of emails that are due at once, while their content is in memory. */
  expect(emails: readonly NewEmail[]): void;
};

const mostHashes = 1000;
/** Content that waits to be hashed. Emails beyond it are hashed when they are sent. */
const mostBytes = 32 * 1024 * 1024;

export function createBodyHashes(deps: { composer: Pick<Composer, "outline">; digests: Digests }): BodyHashes {
  const hashes = new Map<string, string | Promise<string | undefined>>();
  let waitingBytes = 0;

  function remember(emailId: string, hash: string | Promise<string | undefined>): void {
    hashes.delete(emailId);
    const [oldest] = hashes.keys();
    if (hashes.size >= mostHashes) hashes.delete(oldest!);
    hashes.set(emailId, hash);
  }

  async function hashNew(email: NewEmail): Promise<string> {
    const { id, messageId, subject, envelope } = email;
    // The Date field is not part of the body.
    const stored = { id, messageId, subject, envelope, date: new Date(0) };
    const parts = email.parts.map(inMemory);
    const outline = await deps.composer.outline({ email: await readOutlined(stored, parts) });
    return await bodyHashOf({ outline, parts, signal: never }, deps.digests);
  }

  return {
    get: async (emailId) => await hashes.get(emailId),
    set: remember,
    expect(emails) {
      for (const email of emails) {
        const bytes = email.scheduledAt || isElsewhere(email) ? 0 : streamedBytes(email);
        if (bytes === 0 || waitingBytes + bytes > mostBytes) continue;
        waitingBytes += bytes;
        const hash = hashNew(email)
          .then((known) => {
            if (hashes.get(email.id) === hash) hashes.set(email.id, known);
            return known;
          })
          .catch(() => {
            // The pass before the attempt reports the error.
            if (hashes.get(email.id) === hash) hashes.delete(email.id);
            return undefined;
          })
          .finally(() => {
            waitingBytes -= bytes;
          });
        remember(email.id, hash);
      }
    },
  };
}

/** Content in object storage is no longer in memory. */
function isElsewhere({ parts }: NewEmail): boolean {
  return parts.some((part) => typeof part !== "string" && "object" in part);
}

const never = new AbortController().signal;
const pieceBytes = 256 * 1024;

/** Copies, because the digest thread takes the memory of each piece, and the caller may still need it. */
function inMemory(part: NewPart): StoredPart {
  if (typeof part === "string") return part;
  if (!("bytes" in part)) throw new Error("the part is in object storage");
  const { bytes } = part;
  return {
    bytes: bytes.length,
    async *read() {
      for (let from = 0; from < bytes.length; from += pieceBytes) {
        const piece = Buffer.allocUnsafeSlow(Math.min(pieceBytes, bytes.length - from));
        bytes.copy(piece, 0, from);
        yield piece;
      }
    },
  };
}
