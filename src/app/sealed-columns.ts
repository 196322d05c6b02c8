/** Every column with sealed texts. A new one belongs here, or its texts are lost when the secret is replaced; sealed-columns.test.ts compares
 * the list with the schema. Used by replace-secret.ts, open-store.ts and the commands. */

import { keyContext } from "../objects/content-store.ts";
import type { Log } from "../ops/log.ts";
import { totpContext } from "../people/codes.ts";
import type { Sql } from "../postgres/pool.ts";
import { countSealedOtherwise, type SealedColumn } from "../postgres/reseal.ts";
import { SecretError, type Secrets } from "../postgres/sealing.ts";
import { noteReplacement, type Replacement } from "../postgres/secret-state.ts";
import { linkKeyContext } from "../suppressions/unsubscribe/links.ts";
import { secretContext } from "../webhooks/store/webhooks.ts";

const key = ["workspace_id", "id"];
const webhookContext = ([, id]: readonly string[]) => secretContext(id!);

export const sealedColumns: readonly (SealedColumn & { what: string })[] = [
  { what: "DKIM keys", table: "dkim_keys", column: "private_key_sealed", key, context: ([, id]) => `dkim ${id}` },
  {
    what: "imported DKIM keys",
    table: "imported_dkim_keys",
    column: "private_key_sealed",
    key,
    context: ([, id]) => `dkim ${id}`,
  },
  { what: "webhook secrets", table: "webhooks", column: "secret_sealed", key, context: webhookContext },
  {
    what: "earlier webhook secrets",
    table: "webhooks",
    column: "previous_secret_sealed",
    key,
    context: webhookContext,
  },
  {
    what: "secrets of authenticator apps",
    table: "people_totp",
    column: "secret_sealed",
    key: ["person_id"],
    context: ([personId]) => totpContext(personId!),
  },
  {
    what: "keys of unsubscribe links",
    table: "unsubscribe_keys",
    column: "key_sealed",
    key: ["id"],
    context: ([id]) => linkKeyContext(id!),
  },
  {
    what: "keys of objects",
    table: "content_objects",
    column: "key_sealed",
    key: ["id"],
    context: ([id]) => keyContext(id!),
  },
];

/** How many texts are sealed with another secret than the active one. */
export async function countSealedWithOthers(sql: Sql, secrets: Secrets): Promise<number> {
  let count = 0;
  for (const column of sealedColumns) count += await countSealedOtherwise(sql, column, secrets.sealPrefix());
  return count;
}

/** A text that a program sealed with the old secret, but stored after posthorn secret rotate had finished, appears within this time. */
const lateMs = 3_600_000;

/** Refuses to start without the previous secret while texts are sealed with it. Counts until a count after the replacement found none. */
export async function requireResealed(
  sql: Sql,
  { secrets, replacement, log, nowMs }: { secrets: Secrets; replacement: Replacement; log: Log; nowMs: number },
): Promise<void> {
  const { from, to, sealedAt, checkedAt, revokedAt, validUntil, unreadable = 0 } = replacement;
  if (secrets.held().some(({ id }) => id === from)) return;
  if (!revokedAt && validUntil !== undefined && Date.parse(validUntil) > nowMs)
    log.warn(
      { validUntil },
      "tokens of the secret before this one are still in use, and this node does not accept them: set POSTHORN_SECRET_PREVIOUS",
    );
  if (checkedAt !== undefined || sealedAt === undefined || secrets.ids()[0] !== to) return;
  const count = (await countSealedWithOthers(sql, secrets)) - unreadable;
  if (count > 0)
    throw new SecretError(
      `${count} stored secrets are sealed with the secret before this one. Set POSTHORN_SECRET_PREVIOUS to that one, and run posthorn secret rotate once more.`,
    );
  if (nowMs > Date.parse(sealedAt) + lateMs) await noteReplacement(sql, to, "checkedAt");
}
