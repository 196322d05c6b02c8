import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { commandLine } from "../audit/record.ts";
import { revokedAmong } from "../keys/store.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { makeUuid } from "../postgres/ids.ts";
import { findInvite, invite, joinByInvite, listMembers, removeMember } from "../workspaces/store.ts";
import { findSessions } from "./store/sessions.ts";
import {
  addLink,
  addPerson,
  addPersonByInvite,
  addPersonByLink,
  deleteExpired,
  findLink,
  findPerson,
  type Person,
  resetPassword,
  takeLink,
} from "./store.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

const hour = 3_600_000;
const noLimit = { established: null, fromSignUp: null };
const newPerson = async (email: string): Promise<Person> => {
  const person = await addPerson(database.sql, { email, name: "A", passwordHash: "hash", nowMs: Date.now() });
  assert.ok(person);
  return person;
};

async function openSession(personId: string, forMs: number): Promise<{ id: string; token: string }> {
  const session = { id: makeUuid(Date.now()), token: makeToken() };
  await database.sql`insert into people_sessions (id, person_id, token, expires_at, service_expires_at)
    select ${session.id}, ${personId}, ${session.token}, wall_time() + length, service_time() + length
    from (select ${`${forMs} milliseconds`}::interval as length) l`;
  return session;
}

describe("links", () => {
  it("work once, for their kind, until they expire, and are stored as a hash", async () => {
    const { sql } = database;
    const [good, late] = [makeToken(), makeToken()];
    await addLink(sql, { token: good, kind: "reset", email: "a@there.test", forMs: hour });
    await addLink(sql, { token: late, kind: "reset", email: "a@there.test", forMs: -1 });
    const rows = await sql`select * from people_links`;
    assert.ok(!JSON.stringify(rows).includes(good));
    assert.equal(await findLink(sql, late), undefined);
    assert.equal(await takeLink(sql, "sign_up", good), undefined);
    assert.equal(await takeLink(sql, "reset", late), undefined);
    const taken = await Promise.all([takeLink(sql, "reset", good), takeLink(sql, "reset", good)]);
    assert.deepEqual(
      taken.filter((email) => email !== undefined).length,
      1,
      "only one of two concurrent calls gets it",
    );
  });

  it("stay valid when the sign-up fails", async () => {
    const { sql } = database;
    await newPerson("taken@there.test");
    const token = makeToken();
    await addLink(sql, { token, kind: "sign_up", email: "taken@there.test", forMs: hour });
    const person = { name: "B", passwordHash: "other", nowMs: Date.now() };
    assert.equal(await addPersonByLink(sql, person, token), "has account");
    assert.notEqual(await findLink(sql, token), undefined);
  });

  it("that reset a password end every session and every other reset link of the person", async () => {
    const { sql } = database;
    const person = await newPerson("reset@there.test");
    const other = await newPerson("bystander@there.test");
    const [mine, theirs] = [await openSession(person.id, hour), await openSession(other.id, hour)];
    const tokens = [makeToken(), makeToken()];
    for (const token of tokens) await addLink(sql, { token, kind: "reset", email: person.email, forMs: hour });
    assert.deepEqual(await resetPassword(sql, { token: tokens[0]!, passwordHash: "new" }), { person, unlinked: 0 });
    assert.equal(await resetPassword(sql, { token: tokens[1]!, passwordHash: "newer" }), undefined);
    const found = await findSessions(sql, [
      { token: mine.token, workspaceId: undefined },
      { token: theirs.token, workspaceId: undefined },
    ]);
    assert.deepEqual(
      found.map((session) => session?.email),
      [undefined, "bystander@there.test"],
    );
    const passwords = await sql<
      { password: string }[]
    >`select password from people_accounts where person_id = ${person.id}`;
    assert.deepEqual(
      passwords.map(({ password }) => password),
      ["new"],
    );
  });
});

describe("members", () => {
  it("join only by their own invitation, and their sessions then have its role", async () => {
    const { sql } = database;
    const workspaceId = await makeWorkspace(sql);
    const person = await newPerson("joins@there.test");
    const stranger = await newPerson("stranger@there.test");
    const session = await openSession(person.id, hour);
    const token = makeToken();
    const invitation = {
      workspaceId,
      id: makeUuid(Date.now()),
      email: person.email,
      role: "viewer" as const,
      token,
      forMs: hour,
    };
    await invite(sql, invitation);
    assert.equal((await findInvite(sql, token))?.email, person.email);
    const join = (who: Person) => sql.begin((tx) => joinByInvite(tx, { token, person: who, most: noLimit }));
    assert.equal(await join(stranger), undefined);
    assert.deepEqual(await join(person), { workspaceId, role: "viewer" });
    assert.equal(await join(person), undefined);
    assert.equal(await invite(sql, { ...invitation, token: makeToken() }), undefined, "already a member");
    const [live] = await findSessions(sql, [{ token: session.token, workspaceId }]);
    assert.equal(live?.role, "viewer");
    const holder = { id: session.id, workspaceId };
    assert.deepEqual(await revokedAmong(sql, [holder]), []);
    const [member] = await listMembers(sql, { workspaceId, after: "", limit: 9 });
    await removeMember(sql, { workspaceId, id: member!.id, revokeKeys: false, actor: commandLine });
    assert.deepEqual(await revokedAmong(sql, [holder]), [{ ...holder, limitsVersion: 0, changed: false }]);
  });

  it("are listed by address, page after page", async () => {
    const { sql } = database;
    const workspaceId = await makeWorkspace(sql);
    const emails = ["c@x.test", "a@x.test", "b_@x.test", "b@x.test", "b-@x.test"];
    for (const email of emails) {
      const id = makeUuid(Date.now());
      await invite(sql, { workspaceId, id, email, role: "owner", token: makeToken(), forMs: hour });
    }
    const seen: string[] = [];
    for (let after = ""; ; ) {
      const page = await listMembers(sql, { workspaceId, after, limit: 2 });
      if (page.length === 0) break;
      seen.push(...page.map(({ email }) => email));
      after = seen.at(-1)!;
    }
    assert.deepEqual(seen, [...emails].sort());
  });
});

it("deleteExpired removes expired sessions and links only", async () => {
  const { sql } = database;
  const person = await newPerson("old@there.test");
  const [ended, live] = [await openSession(person.id, -1), await openSession(person.id, hour)];
  await deleteExpired(sql);
  const rows = await sql<{ id: string }[]>`select id from people_sessions where person_id = ${person.id}`;
  assert.deepEqual(
    rows.map(({ id }) => id),
    [live.id],
  );
  assert.notEqual(ended.id, live.id);
  assert.equal((await sql`select 1 from people_links where expires_at < now()`).length, 0);
  assert.ok(await findPerson(sql, "old@there.test"));
});

describe("a sign-up by an invitation as owner", () => {
  it("is refused over the limit of owned workspaces, without leaving an account", async () => {
    const { sql } = database;
    const email = "max@there.test";
    const token = makeToken();
    const id = makeUuid(Date.now());
    await invite(sql, { workspaceId: await makeWorkspace(sql), id, email, role: "owner", token, forMs: hour });
    const person = { name: "Max", passwordHash: "hash", nowMs: Date.now() };
    const signUp = (limit: number) =>
      addPersonByInvite(sql, person, { token, email, most: { established: limit, fromSignUp: limit } });
    await assert.rejects(signUp(0), { code: "resource_exhausted", reason: "QUOTA_EXCEEDED" });
    assert.equal(await findPerson(sql, email), undefined);
    assert.equal(((await signUp(1)) as Person).email, email);
  });
});
