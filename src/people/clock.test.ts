/** Sessions, links and invitations end by wall time or by service time, whichever comes first. A jump deletes none of them. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../test/harness/time.ts";
import { revokedAmong } from "../keys/store.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { findInvite, invite, joinByInvite } from "../workspaces/store.ts";
import { findSessions, renewSession } from "./store/sessions.ts";
import { addLink, addPerson, deleteExpired, findLink, takeLink } from "./store.ts";

const dayMs = 86_400_000;
let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());
afterEach(() => shiftWallTime(sql, "0 days"));

/** As an earlier release inserts it: without the newer columns. */
async function openSession(email: string) {
  const person = (await addPerson(sql, { email, name: "A", passwordHash: "hash", nowMs: Date.now() }))!;
  const workspaceId = await makeWorkspace(sql);
  await sql`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${workspaceId}, gen_random_uuid(), ${person.id}, ${email}, 'owner', now())`;
  const session = { id: makeUuid(Date.now()), token: makeToken() };
  await sql`insert into people_sessions (id, person_id, token, expires_at)
    values (${session.id}, ${person.id}, ${session.token}, wall_time() + interval '30 days')`;
  const isLive = async () => {
    const [found] = await findSessions(sql, [{ token: session.token, workspaceId }]);
    const revoked = await revokedAmong(sql, [{ id: session.id, workspaceId }]);
    assert.equal(found === undefined, revoked.length > 0, "calls and streams agree");
    return found !== undefined;
  };
  return { ...session, isLive };
}

test("a session ends by either clock, and is back when the database's clock is", async () => {
  const session = await openSession("a@there.test");
  for (const [jump, live] of [
    ["3 days", true],
    ["400 days", false],
    ["-30 days", true],
    ["0 days", true],
  ] as const) {
    await shiftWallTime(sql, jump);
    await deleteExpired(sql);
    assert.equal(await session.isLive(), live, jump);
  }
  await shiftWallTime(sql, "-30 days");
  await passServiceTime(sql, "31 days");
  assert.equal(await session.isLive(), false, "a clock that was set back does not extend a session");
  assert.equal(await renewSession(sql, session.id, 30 * dayMs), false);
  await shiftWallTime(sql, "31 days");
  await deleteExpired(sql);
  assert.equal((await sql`select 1 from people_sessions where id = ${session.id}`).length, 0);
});

test("renewing extends a session by both clocks", async () => {
  const session = await openSession("b@there.test");
  await passServiceTime(sql, "29 days");
  assert.equal(await renewSession(sql, session.id, 30 * dayMs), true);
  await passServiceTime(sql, "29 days");
  await shiftWallTime(sql, "29 days");
  assert.equal(await session.isLive(), true);
  await shiftWallTime(sql, "31 days");
  assert.equal(await session.isLive(), false);
});

test("a link ends by either clock, and a jump does not use it up", async () => {
  const token = makeToken();
  await addLink(sql, { token, kind: "reset", email: "c@there.test", forMs: 2 * dayMs });
  await shiftWallTime(sql, "400 days");
  await deleteExpired(sql);
  assert.equal(await findLink(sql, token), undefined);
  assert.equal(await takeLink(sql, "reset", token), undefined);
  await shiftWallTime(sql, "-30 days");
  assert.ok(await findLink(sql, token));
  await passServiceTime(sql, "3 days");
  assert.equal(await findLink(sql, token), undefined, "a clock that was set back does not extend a link");
  assert.equal(await takeLink(sql, "reset", token), undefined);
});

test("an invitation ends by either clock", async () => {
  const workspaceId = await makeWorkspace(sql);
  const email = "d@there.test";
  const token = makeToken();
  const person = (await addPerson(sql, { email, name: "D", passwordHash: "hash", nowMs: Date.now() }))!;
  const most = { established: null, fromSignUp: null };
  const join = () => sql.begin((tx) => joinByInvite(tx, { token, person, most }));
  await invite(sql, { workspaceId, id: makeUuid(Date.now()), email, role: "viewer", token, forMs: 7 * dayMs });
  await shiftWallTime(sql, "30 days");
  assert.equal(await findInvite(sql, token), undefined);
  assert.equal(await join(), undefined);
  await shiftWallTime(sql, "-30 days");
  assert.ok(await findInvite(sql, token));
  await passServiceTime(sql, "8 days");
  assert.equal(await findInvite(sql, token), undefined);
  assert.equal(await join(), undefined);
});
