import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { addDomain } from "../../domains/store/domains.ts";
import { dayMs } from "../rules/span.ts";
import { type DomainKey, dmarcSources } from "./dmarc.ts";

let database: TestDatabase;
let key: DomainKey;
/** What a domain gets at most in 20 days. */
const [addresses, days] = [5000, 20];
before(async () => {
  database = await createTestDatabase();
  const { sql } = database;
  const added = newDomain(await makeBareWorkspace(sql), "large.test");
  await addDomain(sql, added);
  key = { workspaceId: added.workspaceId, domainId: added.id };
  await sql`
    insert into dmarc_counts (workspace_id, domain_id, ip, day, header_from, messages, aligned, dkim_aligned, spf_aligned, delivered,
      quarantined, rejected, dkim_domains, spf_domains, reporters, overrides, stored_at)
    select ${added.workspaceId}::uuid, ${added.id}::uuid, '10.0.' || n / 250 || '.' || n % 250, current_date - d, 'large.test', n, 0, 0, 0, n, 0, 0,
      '{signer.test}', '{bounce.test}', '{reporter.test}', '{}', service_time()
    from generate_series(1, ${addresses}::int) n, generate_series(0, ${days - 1}::int) d`;
  await sql`analyze dmarc_counts`;
});
after(async () => await database.drop());

test("a page of sources reads the range once, and then only the rows of its own sources", async () => {
  const toMs = (Math.floor(Date.now() / dayMs) + 2) * dayMs;
  const page = { fromMs: toMs - (days + 5) * dayMs, toMs, unalignedOnly: false, after: undefined, limit: 100 };
  const sources = await countRowsRead(database.sql, "^dmarc_counts", async (sql) => {
    // Details that are searched for in all rows of the range take more than a minute.
    await sql`set local statement_timeout = '10s'`;
    return await dmarcSources(sql, key, page);
  });
  assert.equal(sources.result.length, 100);
  assert.deepEqual(sources.result[0]!.dkimDomains, ["signer.test"]);
  assert.equal(sources.result[0]!.messages, addresses * days);
  const perSource = 7 * days;
  assert.ok(sources.rows <= addresses * days + 100 * perSource, `${sources.rows} rows`);
});
