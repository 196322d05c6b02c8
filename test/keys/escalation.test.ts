/** A key cannot create, change, rotate or revoke a key that may do more than itself. */
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

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const manage = { permission: undefined, scopes: ["KEY_SCOPE_MANAGE", "KEY_SCOPE_SEND", "KEY_SCOPE_STATS"] };
const refused = async (method: string, request: object, key: string) => {
  const { status, body } = await program.call(`KeyService/${method}`, request, { key });
  const what = `${method} ${JSON.stringify(request)}: ${JSON.stringify(body)}`;
  assert.deepEqual([status, body.code], [403, "permission_denied"], what);
  return body.message as string;
};
const allowed = async (method: string, request: object, key: string) => {
  const { status, body } = await program.call(`KeyService/${method}`, request, { key });
  assert.equal(status, 200, `${method} ${JSON.stringify(request)}: ${JSON.stringify(body)}`);
  return body as unknown as Created;
};

test("a key with scopes creates keys with its scopes only, and no full or read key", async () => {
  const { secret } = await create(manage);
  const wrong = [
    { permission: "KEY_PERMISSION_FULL" },
    { permission: "KEY_PERMISSION_READ" },
    { scopes: ["KEY_SCOPE_MANAGE", "KEY_SCOPE_EVENTS"] },
    { scopes: ["KEY_SCOPE_WEBHOOKS"] },
  ];
  for (const request of wrong) await refused("CreateKey", { name: "k", ...request }, secret);
  await allowed("CreateKey", { name: "k", scopes: ["KEY_SCOPE_STATS"] }, secret);
  await allowed("CreateKey", { name: "k", permission: "KEY_PERMISSION_SEND" }, secret);
  const onlyManage = await create({ permission: undefined, scopes: ["KEY_SCOPE_MANAGE"] });
  await refused("CreateKey", { name: "k", permission: "KEY_PERMISSION_SEND" }, onlyManage.secret);
});

test("every limit of a key is a limit of the keys that it creates", async () => {
  const limits = {
    domains: ["example.test"],
    allowedRecipients: ["qa@there.test", "*.staging.test"],
    allowedAddresses: ["127.0.0.0/8"],
    expiresAt: inHours(5),
  };
  for (const kind of [{}, manage]) {
    const { secret } = await create({ ...kind, ...limits });
    const base = { name: "k", permission: "KEY_PERMISSION_SEND" };
    await allowed("CreateKey", { ...base, ...limits }, secret);
    await allowed("CreateKey", { ...base, ...limits, allowedAddresses: ["127.0.0.1"], expiresAt: inHours(1) }, secret);
    const wider = [
      { ...base },
      { domains: [] },
      { domains: ["*"] },
      { allowedRecipients: [] },
      { allowedRecipients: ["there.test"] },
      { allowedRecipients: ["qa@there.test", "staging.test"] },
      { allowedAddresses: [] },
      { allowedAddresses: ["127.0.0.0/7"] },
      { allowedAddresses: ["127.0.0.1", "::1"] },
      { expiresAt: undefined },
      { expiresAt: inHours(6) },
    ];
    for (const change of wider)
      await refused("CreateKey", change === wider[0] ? base : { ...base, ...limits, ...change }, secret);
  }
});

test("a limited key cannot widen itself or another key, nor rotate, change or revoke a stronger one", async () => {
  const limits = { allowedAddresses: ["127.0.0.1"], expiresAt: inHours(5) };
  const own = await create({ ...manage, ...limits });
  const victim = await create({});
  const id = own.key.id;
  const widen = [
    { neverExpires: true },
    { expiresAt: inHours(6) },
    { allowedAddresses: ["*"] },
    { allowedAddresses: ["0.0.0.0/0"] },
    { scopes: ["KEY_SCOPE_MANAGE", "KEY_SCOPE_EMAILS"] },
  ];
  for (const change of widen) await refused("UpdateKey", { id, ...change }, own.secret);
  await refused("RotateKey", { id, expiresAt: inHours(6) }, own.secret);
  for (const method of ["UpdateKey", "RotateKey", "RevokeKey"]) {
    const message = await refused(method, { id: victim.key.id, name: "mine now" }, own.secret);
    assert.match(message, /with more rights than it has: it has the permission full/);
  }
  assert.equal((await program.call("KeyService/ListKeys", {}, { key: victim.secret })).status, 200);
  // A key with the same scopes and no end may do more, too.
  const endless = await create({ ...manage, allowedAddresses: ["127.0.0.1"] });
  await refused("UpdateKey", { id: endless.key.id, name: "x" }, own.secret);
  await refused("RotateKey", { id: endless.key.id }, own.secret);

  await allowed("UpdateKey", { id, name: "renamed", expiresAt: inHours(4) }, own.secret);
  const rotated = (await allowed("RotateKey", { id, overlapSeconds: 60 }, own.secret)) as Created & {
    key: { expiresAt: string };
  };
  assert.ok(Date.parse(rotated.key.expiresAt) <= Date.parse(inHours(4)), "rotation does not extend a key's own end");
  await refused("UpdateKey", { id, neverExpires: true }, own.secret);
  await allowed("RevokeKey", { id }, own.secret);
});

test("a test key changes and rotates test keys only", async () => {
  const [trial, live] = [await create({ test: true }), await create({})];
  for (const method of ["UpdateKey", "RotateKey"]) {
    const message = await refused(method, { id: live.key.id, name: "x" }, trial.secret);
    assert.match(message, /A test key can (update|rotate) only test keys/);
  }
  const other = await create({ test: true });
  const rotated = await allowed("RotateKey", { id: other.key.id, overlapSeconds: 0 }, trial.secret);
  assert.equal(rotated.key.test, true);
});

test("a key without the scope manage cannot touch keys", async () => {
  const { secret, key } = await create({ permission: undefined, scopes: ["KEY_SCOPE_SEND", "KEY_SCOPE_EMAILS"] });
  for (const method of ["CreateKey", "ListKeys", "UpdateKey", "RotateKey", "RevokeKey"])
    await refused(method, { id: key.id, name: "k", permission: "KEY_PERMISSION_SEND" }, secret);
});
