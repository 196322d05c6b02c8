import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeUuid } from "../postgres/ids.ts";
import { createOwnedWorkspace } from "./store.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function addPerson(email: string): Promise<{ personId: string; email: string }> {
  const personId = makeUuid(Date.now());
  await database.sql`insert into people (id, email, name) values (${personId}, ${email}, 'Ann')`;
  return { personId, email };
}

/** Creates a workspace. True: it is new. A number: the limit that refused it. */
async function create(
  { personId, email }: { personId: string; email: string },
  signUpIsOpen: boolean,
): Promise<boolean | number> {
  const created = await createOwnedWorkspace(database.sql, {
    workspace: { id: makeUuid(Date.now()), name: "test" },
    member: { id: makeUuid(Date.now()), personId, email },
    signUpIsOpen,
    most: { established: 4, fromSignUp: 2 },
  });
  if (typeof created === "number") return created;
  const [row] = await database.sql<{ fromSignUp: boolean }[]>`
    select from_sign_up as "fromSignUp" from workspaces where id = ${created.id}`;
  return row!.fromSignUp;
}

describe("a workspace", () => {
  it("of a person from open sign-up stays new and limited after sign-up closes", async () => {
    const ann = await addPerson("ann@there.test");
    assert.equal(await create(ann, true), true);
    assert.equal(await create(ann, false), true);
    assert.equal(await create(ann, false), 2);
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
