/** Makers of keys, and rotation with an overlap. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fromWireId } from "../../src/postgres/ids.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { joinAs, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
let owner: Awaited<ReturnType<typeof signUpFirst>>;
before(async () => {
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
  owner = await signUpFirst(program);
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

type WireKey = {
  id: string;
  name: string;
  test: boolean;
  expiresAt?: string;
  revokedAt?: string;
  rotatedFrom: string;
  allowedRecipients: string[];
  domains: string[];
  maker?: { kind: string; id: string; name: string };
};
type Created = { key: WireKey; secret: string; previous: WireKey; message: string };

const call = async (method: string, request: object, key?: string) => {
  const { status, body } = await program.call(`KeyService/${method}`, request, key === undefined ? {} : { key });
  assert.equal(status, 200, JSON.stringify(body));
  return body as unknown as Created;
};
const create = (request: object = {}, key?: string) =>
  call("CreateKey", { name: "k", permission: "KEY_PERMISSION_FULL", ...request }, key);
const works = async (key: string) => (await program.call("KeyService/ListKeys", {}, { key })).status === 200;
const refusal = async (request: object, key?: string) =>
  (await program.call("KeyService/RotateKey", request, key === undefined ? {} : { key })).body as {
    code: string;
    message: string;
  };
const dayMs = 86_400_000;

test("a key shows the person or the key that created it", async () => {
  const developer = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
  const request = { name: "by a person", permission: "KEY_PERMISSION_SEND" };
  const made = await developer.rpc("KeyService/CreateKey", request, owner.workspace);
  const { maker } = (made.body as unknown as Created).key;
  assert.equal(maker!.kind, "KEY_MAKER_KIND_PERSON");
  assert.ok(fromWireId("person", maker!.id), maker!.id);
  assert.notEqual(maker!.name, "");
  const parent = await create({ name: "parent" });
  const child = await create({}, parent.secret);
  assert.deepEqual(child.key.maker, { kind: "KEY_MAKER_KIND_KEY", id: parent.key.id, name: "parent" });

  await database.sql`delete from members where email = 'dev@there.test'`;
  const { body } = await program.call("KeyService/ListKeys", { pageSize: 100 });
  const keys = body.data as WireKey[];
  const shown = keys.find(({ name }) => name === "by a person")!;
  assert.deepEqual(shown.maker, { ...maker, name: "" }, "a person who left has no name here");
  assert.equal(keys.at(-1)!.maker, undefined, "the first key has no maker");
});

test("rotation makes a key with the same settings, and both work until the overlap ends", async () => {
  const limits = { allowedRecipients: ["*.staging.test"], domains: [] };
  const old = await create({ ...limits, test: true, name: "shop" });
  const rotated = await call("RotateKey", { id: old.key.id });
  const { name, allowedRecipients, test, rotatedFrom } = rotated.key;
  assert.deepEqual([name, allowedRecipients, test, rotatedFrom], ["shop", ["*.staging.test"], true, old.key.id]);
  assert.match(rotated.secret, /^ph_test_/);
  assert.ok((await works(old.secret)) && (await works(rotated.secret)));
  const leftMs = Date.parse(rotated.previous.expiresAt!) - Date.now();
  assert.ok(leftMs > dayMs - 60_000 && leftMs <= dayMs + 1000, `a day by default: ${leftMs}`);
  assert.match(rotated.message, /^Key ph_test_\w+… replaces ph_test_\w+…, which works until /);

  await database.sql`update keys set expires_at = wall_time() where id = ${old.key.id.slice(4)}`;
  assert.ok(!(await works(old.secret)) && (await works(rotated.secret)));
});

test("without an overlap the old key ends at once", async () => {
  const old = await create();
  const rotated = await call("RotateKey", { id: old.key.id, overlapSeconds: 0 });
  assert.ok(rotated.previous.revokedAt);
  assert.ok(!(await works(old.secret)) && (await works(rotated.secret)));
});

test("the new key gets the lifetime of the old one, or the end of the request", async () => {
  const old = await create({ expiresAt: new Date(Date.now() + 90 * dayMs).toISOString() });
  await database.sql`update keys set created_at = created_at - interval '10 days' where id = ${old.key.id.slice(4)}`;
  const first = await call("RotateKey", { id: old.key.id, overlapSeconds: 60 });
  const days = (Date.parse(first.key.expiresAt!) - Date.now()) / dayMs;
  assert.ok(Math.abs(days - 100) < 0.01, String(days));
  const expiresAt = "2099-01-01T00:00:00Z";
  const second = await call("RotateKey", { id: first.key.id, overlapSeconds: 60, expiresAt });
  assert.equal(second.key.expiresAt, expiresAt);
});

test("a key is rotated once: afterwards its successor is", async () => {
  const old = await create();
  const first = await call("RotateKey", { id: old.key.id });
  const again = await refusal({ id: old.key.id });
  assert.equal(again.code, "failed_precondition");
  assert.ok(again.message.includes(`${first.key.id} replaces it`), again.message);
  await program.call("KeyService/RevokeKey", { id: first.key.id });
  await call("RotateKey", { id: old.key.id });
});

test("revoked and expired keys, wrong overlaps and the key of the setting are refused", async () => {
  const { key } = await create();
  for (const overlapSeconds of [-1, 30 * 86_400 + 1])
    assert.match((await refusal({ id: key.id, overlapSeconds })).message, /overlapSeconds: must be from 0 to 2592000/);
  assert.match((await refusal({ id: key.id, expiresAt: "2020-01-01T00:00:00Z" })).message, /expiresAt/);
  await database.sql`update keys set expires_at = wall_time() where id = ${key.id.slice(4)}`;
  assert.match((await refusal({ id: key.id })).message, /has expired/);
  await program.call("KeyService/RevokeKey", { id: key.id });
  assert.match((await refusal({ id: key.id })).message, /is revoked/);
  const update = await program.call("KeyService/UpdateKey", { id: key.id, name: "x" });
  assert.equal(update.body.code, "failed_precondition");

  const configured = await create({ name: "POSTHORN_API_KEY" });
  assert.match((await refusal({ id: configured.key.id })).message, /setting POSTHORN_API_KEY/);
  const renamed = await program.call("KeyService/UpdateKey", { id: configured.key.id, name: "x" });
  assert.match(renamed.body.message as string, /Keep the name/);
});
