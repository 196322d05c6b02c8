/** How an email is signed and where its bounces go: the domain's findable key, opened and kept for a moment. */
import { createSecretKey } from "node:crypto";
import { makeReturnPath } from "../mail/return-path.ts";
import type { Log } from "../ops/log.ts";
import type { Sql } from "../store/db.ts";
import { toWireId } from "../store/ids.ts";
import type { Secrets } from "../store/secrets.ts";
import { noteSigned, readSigning } from "../store/sending-domains.ts";
import type { PrivateKeySource } from "./compose-pool-keys.ts";

export type Signer = { source: PrivateKeySource; returnPathDomain: string };

/** A change of DNS or of keys is noticed within this time. */
const keptMs = 10_000;
const keptDomains = 1000;

export type SigningDeps = { sql: Sql; log: Log; secrets: Secrets; zone: string };

export function createSigning(deps: SigningDeps) {
  const kept = new Map<string, { untilMs: number; signer: Promise<Signer | undefined> }>();
  const noted = new Map<string, number>();
  const returnPathKey = createSecretKey(deps.secrets.derive("return path v1"));

  async function read(workspaceId: string, domainId: string): Promise<Signer | undefined> {
    const signing = await readSigning(deps.sql, workspaceId, domainId);
    const key = signing?.keys[0];
    if (!signing || !key) return undefined;
    note(workspaceId, key.id);
    return {
      source: {
        domain: signing.domain,
        selector: `ph${key.slot}`,
        privateKeyPem: deps.secrets.open(key.privateKeySealed, `dkim ${key.id}`),
      },
      // Under the sender's own name only while receivers can see that it is ours; else under the service's.
      returnPathDomain:
        signing.mailFromLabel === undefined ? `bounce.${deps.zone}` : `${signing.mailFromLabel}.${signing.domain}`,
    };
  }

  function note(workspaceId: string, keyId: string): void {
    if ((noted.get(keyId) ?? 0) > Date.now() - 3_600_000) return;
    if (noted.size > keptDomains) noted.clear();
    noted.set(keyId, Date.now());
    noteSigned(deps.sql, workspaceId, [keyId]).catch((error) => {
      noted.delete(keyId);
      deps.log.debug({ reason: (error as Error).message }, "last signature not noted");
    });
  }

  return {
    async signerOf(workspaceId: string, domainId: string): Promise<Signer | undefined> {
      const key = `${workspaceId} ${domainId}`;
      const known = kept.get(key);
      if (known && known.untilMs > Date.now()) return await known.signer;
      if (kept.size >= keptDomains) kept.clear();
      const signer = read(workspaceId, domainId);
      kept.set(key, { untilMs: Date.now() + keptMs, signer });
      signer.catch(() => kept.delete(key));
      return await signer;
    },
    returnPath(emailId: string, domain: string): string {
      return makeReturnPath({ emailId: toWireId("email", emailId), domain, key: returnPathKey });
    },
  };
}
