/** A key cannot create a key that may do more than itself. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

type Created = { key: { id: string; test: boolean }; secret: string };

const ask = (request: object, key?: string) =>
  program.call(
    "KeyService/CreateKey",
    { name: "k", permission: "KEY_PERMISSION_FULL", ...request },
    key === undefined ? {} : { key },
  );
const create = async (request: object) => (await ask(request)).body as unknown as Created;

test("a test key with full permission creates and revokes test keys only", async () => {
  const trial = await create({ test: true });
  const live = await create({});
  const refused = await ask({}, trial.secret);
  assert.deepEqual([refused.status, refused.body.code], [403, "permission_denied"]);
  assert.match(refused.body.message as string, /A test key can create only test keys\. Set test to true/);
  const created = await ask({ test: true }, trial.secret);
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const second = created.body as unknown as Created;
  assert.equal(second.key.test, true);

  const revoke = (id: string) => program.call("KeyService/RevokeKey", { id }, { key: trial.secret });
  const kept = await revoke(live.key.id);
  assert.equal(kept.body.code, "permission_denied", JSON.stringify(kept.body));
  assert.equal((await program.call("KeyService/ListKeys", {}, { key: live.secret })).status, 200, "still valid");
  assert.equal((await revoke(second.key.id)).status, 200);
  const [row] = await database.sql<{ live: number }[]>`select count(*)::int as live from keys where not test`;
  assert.equal(row!.live, 2, "the key of the test and the live key");
});

test("keys that may only send or read, bound to a domain or not, create and revoke no key", async () => {
  const keys = [
    await create({ permission: "KEY_PERMISSION_SEND" }),
    await create({ permission: "KEY_PERMISSION_SEND", domain: "example.test" }),
    await create({ permission: "KEY_PERMISSION_READ" }),
  ];
  for (const { secret, key } of keys) {
    for (const permission of ["KEY_PERMISSION_FULL", "KEY_PERMISSION_SEND", "KEY_PERMISSION_READ"])
      assert.equal((await ask({ permission }, secret)).body.code, "permission_denied", permission);
    const { body } = await program.call("KeyService/RevokeKey", { id: key.id }, { key: secret });
    assert.equal(body.code, "permission_denied");
  }
});
