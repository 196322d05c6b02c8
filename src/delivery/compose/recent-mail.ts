/**
 * Emails that this program has just accepted, for message-source.ts: their content stays in memory for a moment, so that the first attempt reads
 * nothing. A large email is hashed at once, and the hash of its body is kept longer, for other recipients and later attempts. Each saves a pass
 * over the stored content.
 */
import { readOutlined, streamedBytes } from "../../emails/outgoing.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import type { NewPart, StoredPart } from "../../emails/store/parts.ts";
import { freeNow } from "../../ops/free.ts";
import { type Budget, createBudget } from "../../shares/budget.ts";
import type { Digests } from "./digests.ts";
import type { Composer } from "./pool.ts";
import { bodyHashOf } from "./streamed.ts";

export type RecentMail = {
  /** Waits for a hash that is being computed. Undefined: it is not known. */
  hashOf(emailId: string): Promise<string | undefined>;
  setHash(emailId: string, hash: string): void;
  /** Keeps the content of emails that are due at once, and hashes it if they are large. */
  expect(emails: readonly NewEmail[]): void;
  /** The content, if it is in memory. It stays there until `close`. */
  open(emailId: string): RecentContent | undefined;
};

export type RecentContent = { parts: StoredPart[]; close(): void };

const mostHashes = 1000;
/** Content in memory, of large emails and of all others. Emails beyond it are read from the store. */
const mostBytes = { large: 32 * 1024 * 1024, small: 8 * 1024 * 1024 };
/** What an email takes here without its content, so that the smallest ones are limited, too. */
const entryBytes = 1024;
/** A single workspace can use seven eighths of each. */
const workspaceFactor = 7;
/** The first attempt begins within milliseconds, unless the receiver has other mail in front. */
const keptMs = 10_000;

/** `readers`: attempts, and the pass that computes the hash. `isOver`: it is forgotten when the last of them ends. */
type Kept = { parts: StoredPart[]; readers: number; isOver: boolean; forget(): void };

export function createRecentMail(deps: { composer: Pick<Composer, "outline">; digests: Digests }): RecentMail {
  const hashes = new Map<string, string | Promise<string | undefined>>();
  const budgets = {
    large: createBudget({ total: mostBytes.large, factor: workspaceFactor }),
    small: createBudget({ total: mostBytes.small, factor: workspaceFactor }),
  };
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

  /** Undefined: there is no memory for it. */
  function keep({ id, workspaceId, parts: given }: NewEmail, parts: StoredPart[], memory: Budget): Kept | undefined {
    const bytes = given.reduce((sum, part) => sum + sizeInMemory(part), entryBytes);
    if (!memory.tryTake(workspaceId, bytes)) return undefined;
    const forget = () => {
      clearTimeout(timer);
      kept.delete(id);
      memory.give(workspaceId, bytes);
      // The email is stored, and later attempts read the store.
      for (const octets of given.map(octetsIn)) if (octets) freeNow(octets);
    };
    const own = { parts, readers: 0, isOver: false, forget };
    const timer = setTimeout(() => end(own), keptMs).unref();
    kept.set(id, own);
    return own;
  }

  function end(own: Kept): void {
    own.isOver = true;
    if (own.readers === 0) own.forget();
  }

  function leave(own: Kept): void {
    own.readers -= 1;
    if (own.isOver) end(own);
  }

  function hash(email: NewEmail, own: Kept): void {
    own.readers += 1;
    const hashing = hashNew(email, own.parts)
      .then((known) => {
        if (hashes.get(email.id) === hashing) hashes.set(email.id, known);
        return known;
      })
      .catch(() => {
        // The pass before the attempt reports the error.
        if (hashes.get(email.id) === hashing) hashes.delete(email.id);
        return undefined;
      })
      .finally(() => leave(own));
    setHash(email.id, hashing);
  }

  return {
    hashOf: async (emailId) => await hashes.get(emailId),
    setHash,
    expect(emails) {
      for (const email of emails) {
        const parts = email.parts.map(inMemory);
        if (email.scheduledAt || !isWhole(parts)) continue;
        const isLarge = streamedBytes(email) > 0;
        const own = keep(email, parts, isLarge ? budgets.large : budgets.small);
        if (own && isLarge) hash(email, own);
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
          found.isOver = true;
          leave(found);
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

function octetsIn(part: NewPart): Buffer | undefined {
  if (typeof part === "string") return undefined;
  return "bytes" in part ? part.bytes : part.octets;
}

function sizeInMemory(part: NewPart): number {
  return typeof part === "string" ? part.length : (octetsIn(part)?.length ?? 0);
}

/** Copies, because each reader takes the memory of its pieces. Undefined: the part is only in the store. */
function inMemory(part: NewPart): StoredPart | undefined {
  if (typeof part === "string") return part;
  const bytes = octetsIn(part);
  if (!bytes) return undefined;
  const { length } = bytes;
  return {
    bytes: length,
    async *read(signal) {
      for (let from = 0; from < length; from += pieceBytes) {
        signal?.throwIfAborted();
        // The reader of an attempt that has ended.
        if (bytes.length !== length) throw new Error("this content is no longer in memory");
        const piece = Buffer.allocUnsafeSlow(Math.min(pieceBytes, length - from));
        bytes.copy(piece, 0, from);
        yield piece;
      }
    },
  };
}
