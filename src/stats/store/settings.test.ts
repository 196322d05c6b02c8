import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { readSettings, updateSettings } from "./settings.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

test("settings have defaults, and a change keeps what it does not name", async () => {
  const { sql } = database;
  const [workspaceId, other] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  const none = { metadataKeys: [], alerts: { bounces: {}, complaints: {} } };
  assert.deepEqual(await readSettings(sql, workspaceId), none);
  await updateSettings(sql, workspaceId, { metadataKeys: ["campaign"], bounces: { rate: 0.02 } });
  const changed = await updateSettings(sql, workspaceId, { complaints: { disabled: true } });
  assert.deepEqual(changed, {
    metadataKeys: ["campaign"],
    alerts: { bounces: { rate: 0.02 }, complaints: { disabled: true } },
  });
  assert.deepEqual(await readSettings(sql, workspaceId), changed);
  assert.deepEqual((await updateSettings(sql, workspaceId, { metadataKeys: [], bounces: {} })).metadataKeys, []);
  assert.deepEqual((await readSettings(sql, workspaceId)).alerts, { bounces: {}, complaints: { disabled: true } });
  assert.deepEqual(await readSettings(sql, other), none);
});
