import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import type { Role } from "../http/caller.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { Problem } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import { changeRole, createOwnedWorkspace, invite, joinByInvite } from "./store.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const most = { established: 4, fromSignUp: 2 };
type Person = { personId: string; email: string };

async function addPerson(email: string): Promise<Person> {
  const personId = makeUuid(Date.now());
  await database.sql`insert into people (id, email, name) values (${personId}, ${email}, 'Ann')`;
  return { personId, email };
}

/** Creates a workspace. True: it is new. */
async function create({ personId, email }: Person, signUpIsOpen: boolean): Promise<boolean> {
  const created = await createOwnedWorkspace(database.sql, {
    workspace: { id: makeUuid(Date.now()), name: "test" },
    member: { id: makeUuid(Date.now()), personId, email },
    signUpIsOpen,
    most,
  });
  const [row] = await database.sql<{ fromSignUp: boolean }[]>`
    select from_sign_up as "fromSignUp" from workspaces where id = ${created.id}`;
  return row!.fromSignUp;
}

async function makeNewWorkspace(): Promise<string> {
  const workspaceId = await makeWorkspace(database.sql);
  await database.sql`update workspaces set from_sign_up = true where id = ${workspaceId}`;
  return workspaceId;
}

async function inviteTo(workspaceId: string, email: string, role: Role = "owner") {
  const token = makeToken();
  const invitation = { workspaceId, id: makeUuid(Date.now()), email, role, token, forMs: 3_600_000 };
  const member = await invite(database.sql, invitation);
  return { token, id: member!.id };
}

const join = ({ personId: id, email }: Person, token: string) =>
  database.sql.begin((tx) => joinByInvite(tx, { token, person: { id, email }, most }));

async function ownedBy({ personId }: Person): Promise<number> {
  const [row] = await database.sql<{ owned: number }[]>`
    select count(*)::int as owned from members where person_id = ${personId} and role = 'owner'`;
  return row!.owned;
}

/** The refusal of a person who owns as many workspaces as one person may. */
const refusedAt = (limit: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error));
  assert.deepEqual(
    [error.code, error.reason, error.metadata],
    ["resource_exhausted", "QUOTA_EXCEEDED", { quota: "workspaces", limit: String(limit) }],
  );
  assert.match(error.message, message);
  return true;
};

describe("a workspace", () => {
  it("of a person from open sign-up stays new and limited after sign-up closes", async () => {
    const ann = await addPerson("ann@there.test");
    assert.equal(await create(ann, true), true);
    assert.equal(await create(ann, false), true);
    await assert.rejects(create(ann, false), refusedAt(2, /^You own as many .*limit: 2.*Use one of them/));
  });

  it("of a person who is only a member of a new workspace is new too", async () => {
    const ben = await addPerson("ben@there.test");
    await create(ben, true);
    await database.sql`update members set role = 'viewer' where person_id = ${ben.personId}`;
    assert.equal(await create(ben, false), true);
  });

  it("of an established owner and of an invited person is established", async () => {
    const eve = await addPerson("eve@there.test");
    assert.equal(await create(eve, false), false);
    assert.equal(await create(eve, true), false);
  });
});

describe("the limit of workspaces that a person owns", () => {
  it("refuses an invitation as owner, which stays open and works with another role", async () => {
    const fay = await addPerson("fay@there.test");
    await create(fay, true);
    await create(fay, true);
    const workspaceId = await makeNewWorkspace();
    const { token, id } = await inviteTo(workspaceId, fay.email);
    await assert.rejects(join(fay, token), refusedAt(2, /^You own as many .*limit: 2.*another role/));
    assert.equal(await ownedBy(fay), 2);
    await changeRole(database.sql, { workspaceId, id, role: "developer", most });
    assert.deepEqual(await join(fay, token), { workspaceId, role: "developer" });
  });

  it("of an established workspace applies to a person who is invited to one", async () => {
    const gil = await addPerson("gil@there.test");
    for (let i = 0; i < 4; i++) {
      const { token } = await inviteTo(i < 2 ? await makeNewWorkspace() : await makeWorkspace(database.sql), gil.email);
      assert.equal((await join(gil, token))?.role, "owner");
    }
    const { token } = await inviteTo(await makeWorkspace(database.sql), gil.email);
    await assert.rejects(join(gil, token), refusedAt(4, /limit: 4/));
  });

  it("holds when invitations are accepted at the same time", async () => {
    const ida = await addPerson("ida@there.test");
    await create(ida, true);
    const invitations = await Promise.all(
      [1, 2, 3].map(async () => await inviteTo(await makeNewWorkspace(), ida.email)),
    );
    const results = await Promise.allSettled(invitations.map(({ token }) => join(ida, token)));
    assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected", "rejected"]);
    assert.equal(await ownedBy(ida), 2);
  });

  it("refuses to make a member an owner, and not the member's other roles", async () => {
    const jon = await addPerson("jon@there.test");
    await create(jon, true);
    await create(jon, true);
    const workspaceId = await makeNewWorkspace();
    const { token, id } = await inviteTo(workspaceId, jon.email, "viewer");
    await join(jon, token);
    const change = (role: Role) => changeRole(database.sql, { workspaceId, id, role, most });
    await assert.rejects(change("owner"), refusedAt(2, /^jon@there\.test owns as many .*limit: 2.*another role/));
    assert.equal(await ownedBy(jon), 2);
    assert.equal(((await change("developer")) as { role: Role }).role, "developer");
  });

  it("leaves an owner who has more than the limit an owner", async () => {
    const kim = await addPerson("kim@there.test");
    const workspaceId = await makeNewWorkspace();
    const { token, id } = await inviteTo(workspaceId, kim.email);
    await join(kim, token);
    const none = { established: 0, fromSignUp: 0 };
    const changed = await changeRole(database.sql, { workspaceId, id, role: "owner", most: none });
    assert.equal((changed as { role: Role }).role, "owner");
  });

  it("holds when an invitation is accepted while its role becomes owner", async () => {
    const leo = await addPerson("leo@there.test");
    await create(leo, true);
    await create(leo, true);
    for (let i = 0; i < 10; i++) {
      const workspaceId = await makeNewWorkspace();
      const { token, id } = await inviteTo(workspaceId, leo.email, "viewer");
      const changing = changeRole(database.sql, { workspaceId, id, role: "owner", most });
      await Promise.allSettled([changing, join(leo, token)]);
      assert.equal(await ownedBy(leo), 2);
    }
  });
});
