/** Removing a member: access and streams end at once, and the keys that they created are listed and revoked on request. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, joinAs, signUpFirst } from "../harness/people.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
let owner: { browser: Browser; workspace: string };
before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  owner = await signUpFirst(program);
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

function ok(answer: Answer): Record<string, unknown> {
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

async function memberId(email: string): Promise<string> {
  const { data } = ok(await owner.browser.rpc("WorkspaceService/ListMembers", {}, owner.workspace));
  return (data as { id: string; email: string }[]).find((one) => one.email === email)!.id;
}

const create = async (by: Browser, name: string) => {
  const request = { name, permission: "KEY_PERMISSION_FULL" };
  return ok(await by.rpc("KeyService/CreateKey", request, owner.workspace)) as { secret: string; key: { id: string } };
};
const works = async (key: string) => (await program.call("KeyService/ListKeys", {}, { key })).status === 200;

test("the keys of a removed member stay valid, unless the owner revokes them", async () => {
  const dev = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
  const first = await create(dev, "first");
  const own = await create(owner.browser, "the owner's");
  // A key that is created with a key of the member is one of theirs, too.
  const made = await program.call(
    "KeyService/CreateKey",
    { name: "by a key", permission: "KEY_PERMISSION_READ" },
    { key: first.secret },
  );
  const byKey = ok(made) as { secret: string };
  const id = await memberId("dev@there.test");
  const listed = ok(await owner.browser.rpc("WorkspaceService/ListMemberKeys", { memberId: id }, owner.workspace));
  assert.deepEqual(
    (listed.data as { name: string }[]).map(({ name }) => name),
    ["by a key", "first"],
  );
  const notOwner = await dev.rpc("WorkspaceService/ListMemberKeys", { memberId: id }, owner.workspace);
  assert.equal(notOwner.body.code, "permission_denied");
  const unknown = await owner.browser.rpc(
    "WorkspaceService/ListMemberKeys",
    { memberId: id.replace(/.$/, id.endsWith("0") ? "1" : "0") },
    owner.workspace,
  );
  assert.equal(unknown.body.code, "not_found");

  const stream = await dev.stream(owner.workspace);
  assert.equal(stream.status, 200);
  const ends = stream.text();
  const removed = ok(await owner.browser.rpc("WorkspaceService/RemoveMember", { memberId: id }, owner.workspace));
  assert.deepEqual([removed.validKeys, removed.revokedKeys], [2, 0]);
  assert.match(removed.message as string, /still valid: 2\./);
  const after = await dev.rpc("KeyService/ListKeys", {}, owner.workspace);
  assert.equal(after.status, 404, "their session, at once");
  assert.match(await ends, /unauthenticated|permission_denied/, "their stream");
  assert.ok(await works(first.secret));

  const again = await joinAs(owner, program, { email: "dev2@there.test", role: "developer" });
  const second = await create(again, "second");
  const request = { memberId: await memberId("dev2@there.test"), revokeKeys: true };
  const gone = ok(await owner.browser.rpc("WorkspaceService/RemoveMember", request, owner.workspace));
  assert.deepEqual([gone.validKeys, gone.revokedKeys], [0, 1]);
  assert.equal(await works(second.secret), false);
  assert.ok((await works(byKey.secret)) && (await works(own.secret)), "keys of others");
  const entries = await database.sql<{ action: string; target_id: string }[]>`
    select action, target_id from audit_entries where action in ('member.removed', 'key.revoked') order by id`;
  assert.deepEqual(
    entries.map(({ action }) => action),
    ["member.removed", "member.removed", "key.revoked"],
  );
  assert.equal(`key_${entries[2]!.target_id}`, second.key.id);
});

test("an open invitation has no keys, and is revoked as before", async () => {
  const invite = { email: "later@there.test", role: "MEMBER_ROLE_OWNER" };
  ok(await owner.browser.rpc("WorkspaceService/InviteMember", invite, owner.workspace));
  const id = await memberId("later@there.test");
  const listed = ok(await owner.browser.rpc("WorkspaceService/ListMemberKeys", { memberId: id }, owner.workspace));
  assert.deepEqual(listed.data, []);
  const request = { memberId: id, revokeKeys: true };
  const removed = ok(await owner.browser.rpc("WorkspaceService/RemoveMember", request, owner.workspace));
  assert.equal(removed.message, "Invitation to later@there.test withdrawn.");
});
