/**
 * Large emails that this program has just accepted, for message-source.ts: their content stays in memory for a moment, so that the first attempt
 * reads nothing, and is hashed at once. The hash of each body is kept longer, for other recipients and later attempts. Each saves a pass over the
 * stored content.
 */
import { readOutlined, streamedBytes } from "../../emails/outgoing.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import type { NewPart, StoredPart } from "../../emails/store/parts.ts";
import { createBudget } from "../../shares/budget.ts";
import type { Digests } from "./digests.ts";
import type { Composer } from "./pool.ts";
import { bodyHashOf } from "./streamed.ts";

export type RecentMail = {
  /** Waits for a hash that is being computed. Undefined: it is not known. */
  hashOf(emailId: string): Promise<string | undefined>;
  setHash(emailId: string, hash: string): void;
  /** Keeps and hashes the content of emails that are due at once. */
  expect(emails: readonly NewEmail[]): void;
  /** The content, if it is in memory. It stays there until `close`. */
  open(emailId: string): RecentContent | undefined;
};

export type RecentContent = { parts: StoredPart[]; close(): void };

const mostHashes = 1000;
/** Content in memory. Emails beyond it are read from the store. */
const mostBytes = 32 * 1024 * 1024;
/** A single workspace can use seven eighths of it. */
const workspaceFactor = 7;
/** The first attempt begins within milliseconds, unless the receiver has other mail in front. */
const keptMs = 10_000;

type Kept = { parts: StoredPart[]; readers: number; forget(): void };

export function createRecentMail(deps: { composer: Pick<Composer, "outline">; digests: Digests }): RecentMail {
  const hashes = new Map<string, string | Promise<string | undefined>>();
  const memory = createBudget({ total: mostBytes, factor: workspaceFactor });
  const kept = new Map<string, Kept>();

  function setHash(emailId: string, hash: string | Promise<string | undefined>): void {
    hashes.delete(emailId);
    const [oldest] = hashes.keys();
    if (hashes.size >= mostHashes) hashes.delete(oldest!);
    hashes.set(emailId, hash);
  }

  async function hashNew(email: NewEmail, parts: StoredPart[]): Promise<string> {
    const { id, messageId, subject, envelope } = email;
    // The Date field is not part of the body.
    const stored = { id, messageId, subject, envelope, date: new Date(0) };
    const outline = await deps.composer.outline({ email: await readOutlined(stored, parts) });
    return await bodyHashOf({ outline, parts, signal: never }, deps.digests);
  }

  function keep({ id, workspaceId }: NewEmail, parts: StoredPart[], bytes: number): void {
    const forget = () => {
      clearTimeout(timer);
      if (kept.delete(id)) memory.give(workspaceId, bytes);
    };
    const timer = setTimeout(() => kept.get(id)?.readers === 0 && forget(), keptMs).unref();
    kept.set(id, { parts, readers: 0, forget });
  }

  function hash(email: NewEmail, parts: StoredPart[]): void {
    const hashing = hashNew(email, parts)
      .then((known) => {
        if (hashes.get(email.id) === hashing) hashes.set(email.id, known);
        return known;
      })
      .catch(() => {
        // The pass before the attempt reports the error.
        if (hashes.get(email.id) === hashing) hashes.delete(email.id);
        return undefined;
      });
    setHash(email.id, hashing);
  }

  return {
    hashOf: async (emailId) => await hashes.get(emailId),
    setHash,
    expect(emails) {
      for (const email of emails) {
        const parts = email.parts.map(inMemory);
        const bytes = email.scheduledAt ? 0 : streamedBytes(email);
        if (bytes === 0 || !isWhole(parts) || !memory.tryTake(email.workspaceId, bytes)) continue;
        keep(email, parts, bytes);
        hash(email, parts);
      }
    },
    open(emailId) {
      const found = kept.get(emailId);
      if (!found) return undefined;
      found.readers += 1;
      let open = true;
      return {
        parts: found.parts,
        close() {
          if (!open) return;
          open = false;
          found.readers -= 1;
          if (found.readers === 0) found.forget();
        },
      };
    },
  };
}

function isWhole(parts: (StoredPart | undefined)[]): parts is StoredPart[] {
  return !parts.includes(undefined);
}

const never = new AbortController().signal;
const pieceBytes = 256 * 1024;

/** Copies, because each reader takes the memory of its pieces. Undefined: the part is only in the store. */
function inMemory(part: NewPart): StoredPart | undefined {
  if (typeof part === "string") return part;
  const bytes = "bytes" in part ? part.bytes : part.octets;
  return (
    bytes && {
      bytes: bytes.length,
      async *read(signal) {
        for (let from = 0; from < bytes.length; from += pieceBytes) {
          signal?.throwIfAborted();
          const piece = Buffer.allocUnsafeSlow(Math.min(pieceBytes, bytes.length - from));
          bytes.copy(piece, 0, from);
          yield piece;
        }
      },
    }
  );
}
