import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { newDomain } from "../../../test/harness/domains.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { readDmarcState } from "./dmarc-state.ts";
import { addDomain, deleteDomain } from "./domains.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("domains that can send are counted, and those without a valid policy apart", async () => {
  const { sql } = database;
  assert.deepEqual(await readDmarcState(sql), { sending: 0, without: 0, example: null });
  const add = async (name: string, canSend: boolean, status: string) => {
    const domain = newDomain(await makeBareWorkspace(sql), name);
    await addDomain(sql, domain);
    const records = [
      { key: "dmarc", status, value: "", note: "" },
      { key: "spf", status: "found", value: "", note: "" },
    ];
    await sql`update domains set can_send = ${canSend}, records = ${JSON.stringify(records)}::jsonb where id = ${domain.id}`;
    return domain;
  };
  await add("a.test", true, "found");
  await add("c.test", true, "missing");
  await add("b.test", true, "mismatch");
  await add("waiting.test", false, "missing");
  const gone = await add("gone.test", true, "missing");
  await deleteDomain(sql, gone.workspaceId, gone.id);
  assert.deepEqual(await readDmarcState(sql), { sending: 3, without: 2, example: "b.test" });
});
