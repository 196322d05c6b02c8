import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { addDomain, deleteDomain } from "./domains.ts";
import { areReported, listReported } from "./report-names.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("names with a registration whose DKIM record is found are reported, each once", async () => {
  const { sql } = database;
  const add = async (name: string, proved: boolean) => {
    const domain = newDomain(await makeBareWorkspace(sql), name);
    await addDomain(sql, domain);
    if (proved)
      await sql`update domains set control_proved_at = service_time(), signing_slots = '{1}' where id = ${domain.id}`;
    return domain;
  };
  await add("b.test", true);
  await add("b.test", true);
  await add("a.test", true);
  await add("waiting.test", false);
  const gone = await add("gone.test", true);
  const lost = await add("lost.test", true);
  await deleteDomain(sql, gone.workspaceId, gone.id);
  await sql`update domains set signing_slots = '{}' where id = ${lost.id}`;
  assert.deepEqual(await listReported(sql), ["a.test", "b.test"]);
  assert.deepEqual(await listReported(sql, 1), ["a.test"]);
  const names = ["b.test", "waiting.test", "gone.test", "lost.test", "unknown.test", "a.test"];
  assert.deepEqual(await areReported(sql, names), [true, undefined, undefined, undefined, undefined, true]);
});
