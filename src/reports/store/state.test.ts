import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { addDomain } from "../../domains/store/domains.ts";
import { storeReport } from "./fold.ts";
import { readReportState } from "./state.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("the state has a domain that has proved control, and the time of the last report", async () => {
  const { sql } = database;
  assert.deepEqual(await readReportState(sql), { domain: undefined, lastAt: undefined });
  const added = newDomain(await makeBareWorkspace(sql), "stated.test");
  await addDomain(sql, added);
  assert.equal((await readReportState(sql)).domain, undefined);
  await sql`update domains set control_proved_at = service_time(), signing_slots = '{2}' where id = ${added.id}`;
  const domain = { workspaceId: added.workspaceId, id: added.id, domain: added.domain };
  const period = { beginMs: Date.now() - 86_400_000, endMs: Date.now() };
  const report = { kind: "dmarc", organization: "", reportId: "1", ...period, domain: added.domain, rows: [] } as const;
  await storeReport(sql, {
    domain,
    via: "mail",
    reporter: "r.test",
    report: { ...report, rows: [] },
    nowMs: Date.now(),
    isOwnAddress: () => false,
  });
  const state = await readReportState(sql);
  assert.equal(state.domain, "stated.test");
  assert.ok(state.lastAt);
});
