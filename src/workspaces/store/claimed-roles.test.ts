import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import type { Role } from "../../http/caller.ts";
import { makeToken } from "../../ops/one-time-token.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { findInvite, invite } from "../store.ts";
import { applyClaimedRole } from "./claimed-roles.ts";

let database: TestDatabase;
let workspaceId: string;
const person = { id: makeUuid(Date.now()), email: "ann@corp.example" };
beforeEach(async () => {
  database = await createTestDatabase();
  await database.sql`insert into people (id, email, name) values (${person.id}, ${person.email}, 'Ann')`;
  workspaceId = await makeWorkspace(database.sql);
});
afterEach(async () => await database.drop());

const issuer = "https://login.example";
async function apply(role: Role | undefined, more: { issuer?: string; most?: number } = {}) {
  const most = { established: more.most ?? 10, fromSignUp: 1 };
  const claimed = {
    workspaceId,
    person,
    issuer: "issuer" in more ? more.issuer : issuer,
    role,
    most,
    nowMs: Date.now(),
  };
  return (await database.sql.begin((tx) => applyClaimedRole(tx, claimed))).change;
}
const roleNow = async () =>
  (await database.sql<{ role: Role }[]>`select role from members where person_id = ${person.id}`)[0]?.role;

test("a claim owns the membership that it gave, and another issuer does not touch it", async () => {
  assert.equal(await apply(undefined), "none");
  assert.equal(await apply("developer"), "added");
  assert.equal(await apply("developer"), "none");
  for (const role of ["viewer", undefined] as const)
    assert.equal(await apply(role, { issuer: "https://other.example" }), "none");
  assert.equal(await roleNow(), "developer");
  assert.equal(await apply("viewer"), "changed");
  assert.equal(await apply(undefined), "removed");
  assert.equal(await roleNow(), undefined);
});

test("a role that the sign-up gave is not the claim's", async () => {
  assert.equal(await apply("viewer", { issuer: undefined }), "added");
  for (const role of ["owner", undefined] as const) assert.equal(await apply(role), "none");
  assert.equal(await roleNow(), "viewer");
});

test("an open invitation to the address becomes the membership", async () => {
  const token = makeToken();
  const id = makeUuid(Date.now());
  await invite(database.sql, { workspaceId, id, email: person.email, role: "owner", token, forMs: 60_000 });
  assert.equal(await apply("viewer"), "added");
  assert.deepEqual([await roleNow(), await findInvite(database.sql, token)], ["viewer", undefined]);
});

test("a claim respects the limit of owned workspaces, and the last owner stays one", async () => {
  assert.equal(await apply("owner", { most: 0 }), "too many owned");
  assert.equal(await roleNow(), undefined);
  assert.equal(await apply("viewer", { most: 0 }), "added");
  assert.equal(await apply("owner", { most: 0 }), "too many owned");
  assert.equal(await roleNow(), "viewer");
  assert.equal(await apply("owner"), "changed");
  for (const role of ["viewer", undefined] as const) assert.equal(await apply(role), "last owner");
  assert.equal(await roleNow(), "owner");
});
