import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { makeUuid } from "../postgres/ids.ts";
import { findKeys, insertKey, makeKeySecret, revokeKey } from "./store.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("a key is found only by its complete secret, and not after it was revoked", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const add = async (secret: string) =>
    await insertKey(sql, { id: makeUuid(Date.now()), workspaceId, name: "k", secret, permission: "send", test: false });
  const [one, two, gone] = [1, 2, 3].map(() => makeKeySecret(false).secret) as [string, string, string];
  const own = "an operator's own choice of a key";
  const rows = [await add(one), await add(two), await add(own)];
  await revokeKey(sql, { workspaceId, id: (await add(gone)).id, testOnly: false });
  const forged = `${one.slice(0, -1)}${one.endsWith("x") ? "y" : "x"}`;
  const found = await findKeys(sql, [one, forged, two, one, gone, own, "an unknown key", `${own}.`]);
  const ids = [rows[0], undefined, rows[1], rows[0], undefined, rows[2], undefined, undefined].map((row) => row?.id);
  assert.deepEqual(
    found.map((key) => key?.id),
    ids,
  );
  const plain = { permission: "send", test: false, limitsVersion: 0, expired: false };
  assert.deepEqual(found[0], { id: ids[0], workspaceId, ...plain });
  assert.deepEqual(await findKeys(sql, ["an unknown key"]), [undefined]);
});
