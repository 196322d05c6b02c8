/** Replaces a domain's DKIM key without a change at its DNS provider: the selector that does not sign gets a new key, is served for as long
 * as resolvers may still hold the old one, and signs from then on. The selector that signed before stays as it is for the mail on its way. */
import { ttl } from "../dns/zone.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { readRotation, replaceKey } from "../store/dkim-keys.ts";
import { type DomainRow, getDomain } from "../store/domains.ts";
import { makeUuid } from "../store/ids.ts";
import type { Secrets } from "../store/secrets.ts";
import type { KeyPair } from "./key-pair.ts";

export type Rotate = (
  workspaceId: string,
  domainId: string,
  beginWrite?: () => void,
) => Promise<{ row: DomainRow; signsFrom: Date } | undefined>;

export type RotateDeps = { sql: Sql; secrets: Secrets; nowMs: () => number; makeKeys(): Promise<[KeyPair, KeyPair]> };

/** Our DNS servers keep a key for a minute (served-keys.ts), other clocks may be a little off. */
const marginSeconds = 120;

export function createRotate(deps: RotateDeps): Rotate {
  return async (workspaceId, domainId, beginWrite = () => {}) => {
    const row = await getDomain(deps.sql, workspaceId, domainId);
    if (!row) return undefined;
    requireAliases(row);
    const [pair] = await deps.makeKeys();
    const id = makeUuid(deps.nowMs());
    const privateKeySealed = deps.secrets.seal(pair.privateKeyPem, `dkim ${id}`);
    beginWrite();
    const signsFrom = await deps.sql.begin(async (tx) => {
      const { waiting, keys } = await readRotation(tx, workspaceId, domainId);
      const idle = keys[1];
      if (waiting || !idle || idle.signedLately) throw underWay();
      const key = { id, slot: idle.slot, label: idle.label, publicKey: pair.publicKey, privateKeySealed };
      return await replaceKey(tx, { workspaceId, domainId, id: idle.id }, key, ttl + marginSeconds);
    });
    return { row, signsFrom };
  };
}

/** Only what is served by us can be changed by us. */
function requireAliases(row: DomainRow): void {
  for (const key of ["dkim1", "dkim2"] as const) {
    const record = row.records.find((one) => one.key === key);
    const name = `ph${key.at(-1)}._domainkey.${row.domain}`;
    if (record?.status !== "found")
      throw new Problem(
        "failed_precondition",
        `The DKIM record ${name} was not found. Both must be there before a key is replaced: publish it, then call VerifyDomain.`,
      );
    if (/(^|[;\s])p=/.test(record.discoveredValue))
      throw new Problem(
        "failed_precondition",
        `${name} holds the key itself. Replace it by the CNAME record that GetDomain shows; from then on keys change without you.`,
      );
  }
}

function underWay(): Problem {
  return new Problem(
    "failed_precondition",
    "A rotation is still under way: a new key does not sign yet, or the one before it signed mail within the last 7 days and must stay in DNS for it.",
  );
}
