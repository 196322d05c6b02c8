/** Encrypts secrets before they are stored (AES-256-GCM) and derives the keys of tokens, both from POSTHORN_SECRET. While the secret is being
 * replaced, a program holds two: the database says which one seals and signs, and whose tokens are valid (secret-state.ts). Stores with
 * secrets use it; decision 38 has the reasons. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";

export type Secrets = ReturnType<typeof createSecrets>;

/** A secret that this program has. The id and the checks do not reveal it. */
export type HeldSecret = {
  id: string;
  /** The values of secret_check that mean this secret: before the first replacement, which earlier releases know, and after it. */
  checks: readonly [before: string, after: string];
};

/** What the held secrets are used for. All are ids. */
export type SecretUse = {
  /** The secret that seals and signs. */
  active: string;
  /** The secrets whose tokens are valid, including the active one. */
  accepted: readonly string[];
  /** Whether sealed texts name their secret. Not before the first replacement: earlier releases may run on the same database. */
  named: boolean;
};

export class SecretError extends Error {
  override readonly name = "SecretError";
}

export function createSecrets(current: string, previous?: string) {
  let rings = ringsOf(current, previous);
  let use: SecretUse = { active: rings[0]!.id, accepted: [rings[0]!.id], named: false };
  /** Why this program must not seal: the database uses a secret that it does not have. */
  let problem: string | undefined;
  const cached = new Map<string, readonly KeyObject[]>();
  const listeners = new Set<() => void>();
  const active = () => rings.find(({ id }) => id === use.active)!;

  /** The keys of the accepted secrets, that of the active one first. */
  function keys(purpose: string): readonly KeyObject[] {
    const known = cached.get(purpose);
    if (known) return known;
    const accepted = rings.filter(({ id }) => id !== use.active && use.accepted.includes(id));
    const made = [active(), ...accepted].map((ring) => createSecretKey(ring.derive(purpose)));
    cached.set(purpose, made);
    return made;
  }

  return {
    /** Derives a separate key for each purpose (return-path tokens, cookies …), so that a value made for one is invalid for another. Sign with
     * the first key; a signature by any of them is valid. Ask for the keys at each use: they change while the program runs. */
    keys,
    /** The first of `keys`, as octets. */
    derive: (purpose: string): Buffer => keys(purpose)[0]!.export(),
    mac: (purpose: string, text: string): Buffer => macOf(keys(purpose)[0]!, text),
    /** Whether `mac` was made of this text with an accepted secret. */
    isMac: (mac: Uint8Array, purpose: string, text: string): boolean =>
      keys(purpose).some((key) => mac.length === 32 && timingSafeEqual(macOf(key, text), mac)),
    /** `context` names the row: a sealed text that is copied to another row does not open. */
    seal(plain: string, context: string): string {
      if (problem !== undefined) throw new SecretError(problem);
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", active().sealKey, iv).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return `${use.named ? `s2.${use.active}.` : "s1."}${Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64")}`;
    },
    /** Opens a text sealed with any held secret. */
    open(sealed: string, context: string): string {
      const [, id, text] = /^(?:s1|s2\.([0-9a-f]{12}))\.([A-Za-z0-9+/]+=*)$/.exec(sealed) ?? [];
      if (text === undefined)
        throw new Error("the stored secret has an unknown format: expected the prefix s1. or s2. and an id");
      const bytes = Buffer.from(text, "base64");
      if (id === undefined) return openAny([active(), ...rings], bytes, context);
      const ring = rings.find((one) => one.id === id);
      if (ring) return openWith(ring, bytes, context);
      throw new SecretError(
        `a stored secret is sealed with the secret ${id}, which this node does not have: set POSTHORN_SECRET_PREVIOUS, then run posthorn secret rotate`,
      );
    },
    /** The start of every text that `seal` returns after the first replacement. */
    sealPrefix: () => `s2.${use.active}.`,

    /** POSTHORN_SECRET first, then POSTHORN_SECRET_PREVIOUS. */
    held: (): readonly HeldSecret[] => rings.map(({ id, checks }) => ({ id, checks })),
    /** The ids of the held secrets, the active one first. */
    ids: (): string[] => [use.active, ...rings.map(({ id }) => id).filter((id) => id !== use.active)],
    /** Replaces the held secrets, after their files have changed. The active one must stay, or nothing changes. */
    hold(newCurrent: string, newPrevious?: string): void {
      const next = ringsOf(newCurrent, newPrevious);
      const isKnown = next.map(({ id }) => id).join() === rings.map(({ id }) => id).join();
      if (isKnown || !next.some(({ id }) => id === use.active)) return;
      rings = next;
      cached.clear();
    },
    /** Follows the state of the database. */
    follow(next: SecretUse): void {
      problem = undefined;
      if (JSON.stringify(next) === JSON.stringify(use)) return;
      use = next;
      cached.clear();
      for (const listener of listeners) listener();
    },
    /** Until the next `follow`, nothing is sealed: no other node could open it. */
    refuse(reason: string): void {
      problem = reason;
    },
    problem: () => problem,
    /** Calls `listener` when another secret signs or tokens of one have become invalid. */
    onChange(listener: () => void): void {
      listeners.add(listener);
    },
  };
}

type Ring = HeldSecret & { derive(purpose: string): Buffer; sealKey: Buffer };

function ringsOf(current: string, previous: string | undefined): Ring[] {
  return previous === undefined || previous === current ? [ringOf(current)] : [ringOf(current), ringOf(previous)];
}

function ringOf(secret: string): Ring {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", secret, "posthorn", purpose, 32));
  const check = (purpose: string) => macOf(derive(purpose), "posthorn").toString("base64");
  return {
    id: derive("secret id").toString("hex", 0, 6),
    checks: [check("secret check"), check("secret check 2")],
    derive,
    sealKey: derive("seal v1"),
  };
}

function macOf(key: KeyObject | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function openWith({ sealKey }: Ring, bytes: Buffer, context: string): string {
  const decipher = createDecipheriv("aes-256-gcm", sealKey, bytes.subarray(0, 12)).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}

/** A text from before the first replacement does not name its secret. */
function openAny(rings: readonly Ring[], bytes: Buffer, context: string): string {
  let failure: unknown;
  for (const ring of rings) {
    try {
      return openWith(ring, bytes, context);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}
