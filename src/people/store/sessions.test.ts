import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { until } from "../../../test/harness/wait.ts";
import { hashToken, makeToken } from "../../ops/one-time-token.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { addLink, addPerson, replacePassword, resetPassword } from "../store.ts";
import { addIdentity, listIdentities, removeIdentity } from "./identities.ts";
import { deletePasskey, insertPasskey } from "./passkeys.ts";
import { endAllSessions, endOldSessions, findSessions, insertSession, lockPerson, type Proof } from "./sessions.ts";
import { findSignIn, insertSignIn } from "./sign-ins.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database?.drop());

let people = 0;
async function newPerson() {
  const email = `p${++people}@there.test`;
  return (await addPerson(sql, { email, name: "P", passwordHash: "old", nowMs: Date.now() }))!;
}

const byPassword: Proof = { by: "password", hasSecondFactor: false, passwordHash: "old" };
const open = (tx: Sql, personId: string, proof: Proof) =>
  insertSession(tx, { personId, proof, userAgent: "x", address: "192.0.2.1", nowMs: Date.now() });
const isLive = async (token: string) => (await findSessions(sql, [{ token, workspaceId: undefined }]))[0] !== undefined;

/** Whether a statement waits for the lock of a transaction, which itself sees one state of this view only. */
const isWaiting = async () =>
  (await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`).length >
  0;

test("a password that was replaced while it was checked opens nothing", async () => {
  const { id } = await newPerson();
  assert.ok(await sql.begin((tx) => replacePassword(tx, { personId: id, from: "old", to: "new" })));
  assert.equal(await open(sql, id, byPassword), undefined);
  const signIn = { token: makeToken(), personId: id, proof: byPassword, forMs: 60_000 };
  assert.equal(await insertSignIn(sql, signIn), false);
  assert.equal(await findSignIn(sql, signIn.token, 5), undefined);
  assert.ok(await open(sql, id, { ...byPassword, passwordHash: "new" }));
  assert.ok(await open(sql, id, { by: "passkey", hasSecondFactor: true }), "a passkey does not depend on it");
  const late = await sql.begin((tx) => replacePassword(tx, { personId: id, from: "old", to: "of a thief" }));
  assert.equal(late, false, "a change that was checked against the old one changes nothing");
});

test("a new password waits for sessions that are being opened with the old one, and ends them", async () => {
  const { id, email } = await newPerson();
  const token = makeToken();
  await addLink(sql, { token, kind: "reset", email, forMs: 60_000 });
  for (const change of [
    () => sql.begin((tx) => replacePassword(tx, { personId: id, from: "old", to: "old" })),
    () => resetPassword(sql, { token, passwordHash: "new" }),
  ]) {
    let changing: Promise<unknown> | undefined;
    const opened = await sql.begin(async (tx) => {
      const session = await open(tx, id, byPassword);
      changing = change();
      await until("the change to wait", isWaiting);
      return session;
    });
    assert.ok(await changing);
    assert.equal(await isLive(opened!.token), false);
  }
});

test("an identity or a passkey that was removed while it was checked opens nothing", async () => {
  const { id } = await newPerson();
  const nowMs = Date.now();
  const identity = { issuer: "https://login.example", subject: id };
  await addIdentity(sql, { personId: id, identity, nowMs });
  const [linked] = await listIdentities(sql, id);
  const passkey = { id: makeUuid(nowMs), personId: id, credentialId: id, publicKey: new Uint8Array([1]), counter: 0 };
  await insertPasskey(sql, { ...passkey, transports: [], name: "Key" });
  const proofs: Proof[] = [
    { by: "oidc", hasSecondFactor: false, identity },
    { by: "passkey", hasSecondFactor: true, passkeyId: passkey.id },
  ];
  const removals = [(tx: Sql) => removeIdentity(tx, id, linked!.id), (tx: Sql) => deletePasskey(tx, id, passkey.id)];
  const waiting = { token: makeToken(), personId: id, proof: proofs[0]!, forMs: 60_000 };
  assert.equal(await insertSignIn(sql, waiting), true);
  for (const [i, proof] of proofs.entries()) {
    assert.ok(await open(sql, id, proof));
    let opening: ReturnType<typeof open> | undefined;
    await sql.begin(async (tx) => {
      await lockPerson(tx, id);
      opening = open(sql, id, proof);
      await until("the session to wait", isWaiting);
      assert.equal(await removals[i]!(tx), true);
    });
    assert.equal(await opening, undefined, proof.by);
    const signIn = { token: makeToken(), personId: id, proof, forMs: 60_000 };
    assert.equal(await insertSignIn(sql, signIn), false, proof.by);
  }
  assert.equal(await findSignIn(sql, waiting.token, 5), undefined, "a sign-in by the provider waits no longer");
});

test("a disabled person gets no session", async () => {
  const { id } = await newPerson();
  await sql`update people set disabled_at = wall_time() where id = ${id}`;
  assert.equal(await open(sql, id, byPassword), undefined);
  assert.equal(await open(sql, id, { by: "passkey", hasSecondFactor: true }), undefined);
});

test("a person keeps the newest sessions and the present one, and all end together with waiting sign-ins", async () => {
  const { id } = await newPerson();
  const tokens: string[] = [];
  for (let i = 0; i < 4; i++) tokens.push((await open(sql, id, byPassword))!.token);
  await endOldSessions(sql, { personId: id, keptToken: tokens[0]!, others: 1 });
  assert.deepEqual(await Promise.all(tokens.map(isLive)), [true, false, false, true]);
  const signIn = { token: makeToken(), personId: id, proof: byPassword, forMs: 60_000 };
  assert.equal(await insertSignIn(sql, signIn), true);
  await endAllSessions(sql);
  assert.equal(await isLive(tokens[0]!), false);
  const left = await sql`select 1 from people_sign_ins where token_hash = ${hashToken(signIn.token)}`;
  assert.equal(left.length, 0);
});
