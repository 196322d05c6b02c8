import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { makeToken } from "../../ops/one-time-token.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addFirstOwner, invite } from "../../workspaces/store.ts";
import { addPerson, type Person } from "../store.ts";
import { isInvited, isMemberOrOperator, mayFoundService } from "./access.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => await database.drop());

async function newPerson(email: string): Promise<Person> {
  return (await addPerson(database.sql, { email, name: "A", passwordHash: "hash", nowMs: Date.now() }))!;
}

async function inviteTo(workspaceId: string, email: string): Promise<void> {
  const token = makeToken();
  const id = makeUuid(Date.now());
  await invite(database.sql, { workspaceId, id, email, role: "owner", token, forMs: 3_600_000 });
}

const own = (workspaceId: string, { id, email }: Person) =>
  addFirstOwner(database.sql, { workspaceId, id: makeUuid(Date.now()), personId: id, email });

test("a person is a member while a workspace has them, and an invitation is not a membership", async () => {
  const { sql } = database;
  const ann = await newPerson("ann@there.test");
  const workspaceId = await makeWorkspace(sql);
  await inviteTo(workspaceId, ann.email);
  assert.equal(await isMemberOrOperator(sql, ann.id), false);
  await own(workspaceId, ann);
  assert.equal(await isMemberOrOperator(sql, ann.id), true);
  await sql`delete from members where person_id = ${ann.id}`;
  assert.equal(await isMemberOrOperator(sql, ann.id), false);
});

test("an address is invited while an invitation is open by both clocks and not accepted", async () => {
  const { sql } = database;
  const email = "ben@there.test";
  assert.equal(await isInvited(sql, email), false);
  await inviteTo(await makeWorkspace(sql), email);
  assert.equal(await isInvited(sql, email), true);
  assert.equal(await isInvited(sql, "other@there.test"), false);
  await shiftWallTime(sql, "2 hours");
  assert.equal(await isInvited(sql, email), false, "ended by wall time");
  await shiftWallTime(sql, "0 hours");
  assert.equal(await isInvited(sql, email), true);
  await passServiceTime(sql, "2 hours");
  assert.equal(await isInvited(sql, email), false, "ended by service time");
  const workspaceId = await makeWorkspace(sql);
  await inviteTo(workspaceId, email);
  assert.equal(await isInvited(sql, email), true);
  await own(workspaceId, await newPerson(email));
  assert.equal(await isInvited(sql, email), false, "accepted");
});

test("only the first person may found the service, and only while no workspace has an owner", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const first = await newPerson("first@there.test");
  const second = await newPerson("second@there.test");
  await inviteTo(workspaceId, "invited@there.test");
  assert.deepEqual([await mayFoundService(sql, first.id), await mayFoundService(sql, second.id)], [true, false]);
  await own(workspaceId, second);
  assert.equal(await mayFoundService(sql, first.id), false);
  await sql`update members set role = 'developer' where person_id = ${second.id}`;
  assert.deepEqual([await mayFoundService(sql, first.id), await mayFoundService(sql, second.id)], [true, false]);
});
