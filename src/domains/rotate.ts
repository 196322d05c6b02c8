/**
 * Replaces a domain's DKIM key without a change at its DNS provider; called by DomainService and the CLI. The selector
 * that is not signing gets a new key. The key starts to sign once resolvers can no longer have the old one cached. The
 * other selector keeps its key, so that mail in transit can still be verified.
 */
import { type Actor, record } from "../audit/record.ts";
import { ttl } from "../dns/zone.ts";
import { Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import type { KeyMaker } from "./key-pair.ts";
import { readRotation, replaceKey } from "./store/dkim-keys.ts";
import { type DomainRow, getDomain } from "./store/domains.ts";

export type Rotate = (
  domain: { workspaceId: string; id: string; actor: Actor },
  beginWrite?: () => void,
) => Promise<{ row: DomainRow; signsFrom: Date } | undefined>;

export type RotateDeps = { sql: Sql; secrets: Secrets; nowMs: () => number; makeKeys: KeyMaker };

/** Our DNS servers cache a key for a minute (service-zone.ts); the rest allows for clock skew. */
const marginSeconds = 120;

export function createRotate(deps: RotateDeps): Rotate {
  return async ({ workspaceId, id: domainId, actor }, beginWrite = () => {}) => {
    const row = await getDomain(deps.sql, workspaceId, domainId);
    if (!row) return undefined;
    requireAliases(row);
    const [pair] = await deps.makeKeys(workspaceId);
    const id = makeUuid(deps.nowMs());
    const privateKeySealed = deps.secrets.seal(pair.privateKeyPem, `dkim ${id}`);
    beginWrite();
    const signsFrom = await deps.sql.begin(async (tx) => {
      const { waiting, keys } = await readRotation(tx, workspaceId, domainId);
      const idle = keys[1];
      if (waiting || !idle || idle.signedRecently) throw rotationInProgress();
      const { publicKey, primes } = pair;
      const key = { id, slot: idle.slot, label: idle.label, publicKey, privateKeySealed, primes };
      const target = { kind: "domain", id: domainId } as const;
      await record(tx, actor, { action: "domain.dkim_rotated", workspaceId, target });
      return await replaceKey(tx, { workspaceId, domainId, id: idle.id }, key, ttl + marginSeconds);
    });
    return { row, signsFrom };
  };
}

/** We can only replace keys that we serve ourselves, so both selectors must be CNAME records that point to us. */
function requireAliases(row: DomainRow): void {
  for (const key of ["dkim1", "dkim2"] as const) {
    const record = row.records.find((one) => one.key === key);
    const name = `ph${key.at(-1)}._domainkey.${row.domain}`;
    if (record?.status !== "found")
      throw new Problem(
        "failed_precondition",
        `The DKIM record ${name} was not found. A rotation needs both DKIM records: publish it, then call VerifyDomain.`,
      );
    if (/(^|[;\s])p=/.test(record.discoveredValue))
      throw new Problem(
        "failed_precondition",
        `${name} is a TXT record that contains the key. Replace it with the CNAME record from GetDomain; rotations then need no DNS change.`,
      );
  }
}

function rotationInProgress(): Problem {
  return new Problem(
    "failed_precondition",
    "A rotation is still in progress: the new key is not signing yet, or the previous key signed mail within the last 7 days and must stay in DNS. Try again later.",
  );
}
