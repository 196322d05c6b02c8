import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addPerson } from "../store.ts";
import {
  beginTotp,
  confirmTotp,
  findFactors,
  onFactorAdded,
  onLastFactorRemoved,
  removeAllFactors,
  replaceRecoveryCodes,
  useRecoveryCode,
  useTotpStep,
} from "./factors.ts";
import { insertPasskey, serviceTimeMs, useChallenge, usePasskey } from "./passkeys.ts";
import { findSessions, insertSession, type Proof } from "./sessions.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

let people = 0;
async function newPerson(): Promise<string> {
  const email = `p${++people}@there.test`;
  return (await addPerson(database.sql, { email, name: "P", passwordHash: "h", nowMs: Date.now() }))!.id;
}

async function openSession(personId: string, proof: Proof) {
  const userAgent = undefined;
  const session = { personId, proof, userAgent, address: "192.0.2.1", nowMs: Date.now() };
  const { id, token } = (await insertSession(database.sql, session))!;
  return { id, read: async () => (await findSessions(database.sql, [{ token, workspaceId: undefined }]))[0]! };
}

test("an app counts once it is confirmed, and only with the secret that was confirmed", async () => {
  const { sql } = database;
  const personId = await newPerson();
  assert.equal(await beginTotp(sql, { personId, secret: "one" }), true);
  assert.equal(await beginTotp(sql, { personId, secret: "two" }), true);
  assert.equal((await findFactors(sql, personId)).totp, false);
  assert.equal(await useTotpStep(sql, personId, 1), false);
  assert.equal(await confirmTotp(sql, { personId, secret: "one", step: 5 }), false, "it was replaced");
  assert.equal(await confirmTotp(sql, { personId, secret: "two", step: 5 }), true);
  assert.equal(await beginTotp(sql, { personId, secret: "three" }), false);
  assert.equal(await useTotpStep(sql, personId, 5), false, "the code of the confirmation is used up");
});

test("a time step works once among concurrent calls, also after the clock was ahead", async () => {
  const { sql } = database;
  const personId = await newPerson();
  await beginTotp(sql, { personId, secret: "s" });
  await confirmTotp(sql, { personId, secret: "s", step: 0 });
  const tries = await Promise.all(Array.from({ length: 8 }, () => useTotpStep(sql, personId, 1000)));
  assert.equal(tries.filter(Boolean).length, 1);
  // The clock is set back: other codes work, the used one does not.
  for (let step = 10; step < 18; step++) assert.equal(await useTotpStep(sql, personId, step), true);
  assert.equal(await useTotpStep(sql, personId, 1000), false);
  const [row] = await sql<
    { kept: number }[]
  >`select cardinality(used_steps) as kept from people_totp where person_id = ${personId}`;
  assert.equal(row!.kept, 10);
  await useTotpStep(sql, personId, 18);
  const [after] = await sql<
    { kept: number }[]
  >`select cardinality(used_steps) as kept from people_totp where person_id = ${personId}`;
  assert.equal(after!.kept, 10, "the list stays short");
});

test("a recovery code works once among concurrent calls, and only for its person", async () => {
  const { sql } = database;
  const [personId, other] = [await newPerson(), await newPerson()];
  await replaceRecoveryCodes(sql, personId, ["a", "b"]);
  assert.equal(await useRecoveryCode(sql, other, "a"), false);
  const tries = await Promise.all(Array.from({ length: 8 }, () => useRecoveryCode(sql, personId, "a")));
  assert.equal(tries.filter(Boolean).length, 1);
  await replaceRecoveryCodes(sql, personId, ["c"]);
  assert.equal(await useRecoveryCode(sql, personId, "b"), false);
  assert.equal((await findFactors(sql, personId)).recoveryCodes, 1);
});

test("a passkey's counter must grow, unless it always is 0", async () => {
  const { sql } = database;
  const personId = await newPerson();
  const add = async (credentialId: string, counter: number) => {
    const id = makeUuid(Date.now());
    const publicKey = new Uint8Array([1]);
    assert.ok(
      await insertPasskey(sql, { id, personId, credentialId, publicKey, counter, transports: ["usb"], name: "k" }),
    );
    return id;
  };
  const counting = await add("counting", 5);
  for (const [counter, isAccepted] of [
    [6, true],
    [6, false],
    [5, false],
    [0, false],
    [7, true],
  ] as const)
    assert.equal(await usePasskey(sql, counting, counter), isAccepted, String(counter));
  const still = await add("still", 0);
  assert.deepEqual([await usePasskey(sql, still, 0), await usePasskey(sql, still, 0)], [true, true]);
});

test("a challenge works once and before its end", async () => {
  const { sql } = database;
  const now = await serviceTimeMs(sql);
  const tries = await Promise.all(Array.from({ length: 8 }, () => useChallenge(sql, "c", now + 60_000)));
  assert.equal(tries.filter(Boolean).length, 1);
  assert.equal(await useChallenge(sql, "d", now - 1), false);
});

test("a first factor upgrades its session and takes the recent proof from other sessions without one", async () => {
  const { sql } = database;
  const personId = await newPerson();
  const plain: Proof = { by: "password", hasSecondFactor: false };
  const [own, thief, provider] = [
    await openSession(personId, plain),
    await openSession(personId, plain),
    await openSession(personId, { by: "oidc", hasSecondFactor: true }),
  ];
  await onFactorAdded(sql, personId, own.id);
  const facts = async () =>
    await Promise.all(
      [own, thief, provider].map(async (session) => {
        const { hasSecondFactor, provedAgoMs } = await session.read();
        return [hasSecondFactor, provedAgoMs !== null];
      }),
    );
  assert.deepEqual(await facts(), [
    [true, true],
    [false, false],
    [true, true],
  ]);
  await onLastFactorRemoved(sql, personId);
  assert.deepEqual(await facts(), [
    [false, true],
    [false, false],
    [false, true],
  ]);
  assert.deepEqual(await removeAllFactors(sql, personId), { totp: false, passkeys: 0 });
  assert.equal(await own.read(), undefined, "every session has ended");
});
