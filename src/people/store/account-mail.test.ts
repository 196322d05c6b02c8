import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { AccountMailCause, PastMail } from "../rules/account-mail.ts";
import { listAccountMail, takeAccountMail } from "./account-mail.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => await database.drop());

const reset = (email: string, client?: string): AccountMailCause => ({
  kind: "reset",
  email,
  personId: undefined,
  client,
});
const take = (mail: AccountMailCause, judge: (past: readonly PastMail[]) => string | undefined = () => undefined) =>
  takeAccountMail(database.sql, { ...mail, id: makeUuid(Date.now()) }, judge);

test("mail that is refused is not counted", async () => {
  const mail = reset("ann@there.test");
  assert.equal(await take(mail, () => "enough"), "enough");
  assert.deepEqual(await listAccountMail(database.sql, mail), []);
  assert.equal(await take(mail), undefined);
  assert.equal((await listAccountMail(database.sql, mail)).length, 1);
});

test("an error of the judgment counts nothing, and does not keep the lock", async () => {
  const mail = reset("ann@there.test");
  const failing = take(mail, () => {
    throw new Error("broken");
  });
  await assert.rejects(failing, /broken/);
  assert.equal(await take(mail), undefined);
  assert.equal((await listAccountMail(database.sql, mail)).length, 1);
});

test("concurrent requests cannot pass a limit together", async () => {
  const judge = (past: readonly PastMail[]) => (past.length >= 3 ? "enough" : undefined);
  const answers = await Promise.all(Array.from({ length: 10 }, () => take(reset("ann@there.test"), judge)));
  assert.equal(answers.filter((answer) => answer === undefined).length, 3);
});

test("mail with the same recipient, inviter or client is listed, and missing ones match nothing", async () => {
  const personId = makeUuid(Date.now());
  await database.sql`insert into people (id, email, name) values (${personId}, 'inviter@there.test', 'I')`;
  await take(reset("ann@there.test", "192.0.2.0/24"));
  await take({ kind: "invitation", email: "ben@there.test", personId, client: undefined });
  const found = async (mail: AccountMailCause) =>
    (await listAccountMail(database.sql, mail)).map(({ email }) => email).sort();
  assert.deepEqual(await found(reset("ann@there.test")), ["ann@there.test"]);
  assert.deepEqual(await found(reset("new@there.test", "192.0.2.0/24")), ["ann@there.test"]);
  assert.deepEqual(await found(reset("new@there.test")), [], "no client is not the client of an invitation");
  const invitation = { kind: "invitation" as const, email: "new@there.test", personId, client: undefined };
  assert.deepEqual(await found(invitation), ["ben@there.test"]);
  const [past] = await listAccountMail(database.sql, invitation);
  assert.deepEqual([past!.kind, past!.personId, past!.client], ["invitation", personId, null]);
});

test("a day is one of service time, whatever the database's clock shows", async () => {
  const mail = reset("ann@there.test");
  await take(mail);
  await shiftWallTime(database.sql, "30 days");
  await passServiceTime(database.sql, "23 hours");
  const [past] = await listAccountMail(database.sql, mail);
  const hours = past!.ageMs / 3_600_000;
  assert.ok(hours > 22.9 && hours < 23.1, `${hours} hours`);
  await passServiceTime(database.sql, "2 hours");
  assert.deepEqual(await listAccountMail(database.sql, mail), []);
});
