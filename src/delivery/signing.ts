/** Provides the DKIM key of an email and the return paths of its recipients. Caches the newest key of each domain whose DNS record is published. The attempt
 * calls it. */
import { noteSigned, readSigning } from "../domains/store/sending.ts";
import { makeCopyToken, makeReturnPath } from "../mail/return-path.ts";
import type { Log } from "../ops/log.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import type { PrivateKeySource } from "./compose/job.ts";

export type Signer = { source: PrivateKeySource; returnPathDomain: string };

/** A change of the domain's keys or DNS records takes effect within this time. */
const cacheMs = 10_000;
const maxDomains = 1000;
const recordUseEveryMs = 3_600_000;

export type SigningDeps = { sql: Sql; log: Log; secrets: Secrets; zone: string };

export function createSigning(deps: SigningDeps) {
  const signers = new Map<string, { untilMs: number; signer: Promise<Signer | undefined> }>();
  const recordedAtMs = new Map<string, number>();
  const returnPathKey = () => deps.secrets.keys("return path v1")[0]!;

  async function read(workspaceId: string, domainId: string): Promise<Signer | undefined> {
    const signing = await readSigning(deps.sql, workspaceId, domainId);
    const key = signing?.keys[0];
    if (!signing || !key) return undefined;
    recordUse(workspaceId, key.id);
    return {
      source: {
        domain: signing.domain,
        selector: `ph${key.slot}`,
        privateKeyPem: deps.secrets.open(key.privateKeySealed, `dkim ${key.id}`),
      },
      // The sender's own domain is used only while its MAIL FROM records are published; otherwise the service's zone is.
      returnPathDomain:
        signing.mailFromLabel === undefined ? `bounce.${deps.zone}` : `${signing.mailFromLabel}.${signing.domain}`,
    };
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
