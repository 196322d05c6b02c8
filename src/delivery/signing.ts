/** Provides the DKIM key of an email and the return paths of its recipients. Caches the newest key of each domain whose DNS record is published. The attempt
 * calls it. */
import { noteSigned, readSigning } from "../domains/store/sending.ts";
import { makeCopyToken, makeReturnPath } from "../mail/return-path.ts";
import type { Log } from "../ops/log.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import type { PrivateKeySource } from "./compose/job.ts";

export type Signer = {
  source: PrivateKeySource;
  /** How much of the signing slots a signature takes, compared with one of RSA-2048. */
  cost: number;
  returnPathDomain: string;
};

/** A change of the domain's keys or DNS records takes effect within this time. */
const cacheMs = 10_000;
const maxDomains = 1000;
const recordUseEveryMs = 3_600_000;

/**
 * An RSA-4096 signature takes seven times as long as one of RSA-2048 (npm run bench -- sign). While the key's workspace sends alone, its
 * slots are fewer by this factor, so that the first email of another workspace waits no longer than usual. With a factor of four both
 * cores of the smallest machine are still in use.
 */
export function signatureCost(bits: number): number {
  return Math.max(1, Math.round((bits / 2048) ** 2));
}

export type SigningDeps = { sql: Sql; log: Log; secrets: Secrets; zone: string };

/** The key that signs the domain's mail now, and the domain of its return path. Undefined: the domain has no key. */
export async function readSigner(
  { sql, secrets, zone }: Pick<SigningDeps, "sql" | "secrets" | "zone">,
  workspaceId: string,
  domainId: string,
): Promise<{ signer: Signer; keyId: string } | undefined> {
  const signing = await readSigning(sql, workspaceId, domainId);
  const key = signing?.keys[0];
  if (!signing || !key) return undefined;
  const source = {
    domain: signing.domain,
    selector: key.selector,
    privateKeyPem: secrets.open(key.privateKeySealed, `dkim ${key.id}`),
  };
  // The sender's own domain is used only while its MAIL FROM records are published; otherwise the service's zone is.
  const returnPathDomain =
    signing.mailFromLabel === undefined ? `bounce.${zone}` : `${signing.mailFromLabel}.${signing.domain}`;
  return { signer: { source, cost: signatureCost(key.bits), returnPathDomain }, keyId: key.id };
}

export function createSigning(deps: SigningDeps) {
  const signers = new Map<string, { untilMs: number; signer: Promise<Signer | undefined> }>();
  const recordedAtMs = new Map<string, number>();
  const returnPathKey = () => deps.secrets.keys("return path v1")[0]!;

  async function read(workspaceId: string, domainId: string): Promise<Signer | undefined> {
    const found = await readSigner(deps, workspaceId, domainId);
    if (found) recordUse(workspaceId, found.keyId);
    return found?.signer;
  }

  /** Key rotation needs to know when a key signed last, to the hour. */
  function recordUse(workspaceId: string, keyId: string): void {
    if ((recordedAtMs.get(keyId) ?? Number.NEGATIVE_INFINITY) > performance.now() - recordUseEveryMs) return;
    if (recordedAtMs.size > maxDomains) recordedAtMs.clear();
    recordedAtMs.set(keyId, performance.now());
    noteSigned(deps.sql, workspaceId, [keyId]).catch((error) => {
      recordedAtMs.delete(keyId);
      deps.log.debug({ reason: (error as Error).message }, "cannot record when a DKIM key signed last");
    });
  }

  return {
    async signerOf(workspaceId: string, domainId: string): Promise<Signer | undefined> {
      const key = `${workspaceId} ${domainId}`;
      const cached = signers.get(key);
      if (cached && cached.untilMs > performance.now()) return await cached.signer;
      if (signers.size >= maxDomains) signers.clear();
      const signer = read(workspaceId, domainId);
      signers.set(key, { untilMs: performance.now() + cacheMs, signer });
      signer.catch(() => signers.delete(key));
      return await signer;
    },
    /** The return path of one recipient. */
    returnPath({ emailId, position }: { emailId: string; position: number }, domain: string): string {
      return makeReturnPath({ emailId: toWireId("email", emailId), position, domain, key: returnPathKey() });
    },
    /** The token of one recipient's copy. */
    copyToken: ({ emailId, position }: { emailId: string; position: number }): string =>
      makeCopyToken({ emailId: toWireId("email", emailId), position, key: returnPathKey() }),
  };
}
