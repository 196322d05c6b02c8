import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addPerson } from "../store.ts";
import { deletePasskey, findPasskey, insertPasskey, listPasskeys, renamePasskey, usePasskey } from "./passkeys.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

test("a passkey is stored once, found by its credential, and changed by its person only", async () => {
  const { sql } = database;
  const nowMs = Date.now();
  const ann = (await addPerson(sql, { email: "ann@there.test", name: "Ann", passwordHash: "h", nowMs }))!;
  const ben = (await addPerson(sql, { email: "ben@there.test", name: "Ben", passwordHash: "h", nowMs }))!;
  const publicKey = new Uint8Array([1, 2, 255]);
  const passkey = { id: makeUuid(nowMs), credentialId: "abc", publicKey, counter: 0, transports: ["usb"], name: "Key" };
  assert.equal((await insertPasskey(sql, { ...passkey, personId: ann.id }))?.name, "Key");
  assert.equal(await insertPasskey(sql, { ...passkey, id: makeUuid(nowMs), personId: ben.id }), undefined);
  assert.deepEqual(await findPasskey(sql, "abc"), { id: passkey.id, person: ann, publicKey, counter: 0 });
  assert.equal(await findPasskey(sql, "abcd"), undefined);
  assert.equal(await usePasskey(sql, passkey.id, 7), true);
  assert.equal(await usePasskey(sql, passkey.id, 7), false, "a counter that does not grow");
  assert.equal(await renamePasskey(sql, { personId: ben.id, id: passkey.id, name: "Mine" }), false);
  assert.equal(await renamePasskey(sql, { personId: ann.id, id: passkey.id, name: "Laptop" }), true);
  const [listed] = await listPasskeys(sql, ann.id);
  assert.deepEqual([listed!.name, listed!.transports, listed!.lastUsedAt !== null], ["Laptop", ["usb"], true]);
  assert.equal(await deletePasskey(sql, ben.id, passkey.id), false);
  assert.equal(await deletePasskey(sql, ann.id, passkey.id), true);
  assert.deepEqual(await listPasskeys(sql, ann.id), []);
});
