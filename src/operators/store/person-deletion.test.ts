import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { systemHtml } from "../../emails/rules/system-html.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { indexEmails } from "../../emails/store/terms.ts";
import { systemKeyId } from "../../keys/store.ts";
import { invitationMail, inviterMetadata } from "../../people/links.ts";
import { addLink, addPerson } from "../../people/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addFirstOwner, createWorkspace } from "../../workspaces/store.ts";
import { erasePerson, leaveWorkspaces } from "./person-deletion.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

const newId = () => makeUuid(Date.now());

test("the workspaces that would lose their last owner are named, and no others", async () => {
  const { sql } = database;
  const [ann, ben] = await Promise.all(
    ["ann", "ben"].map(
      async (name) =>
        (await addPerson(sql, { email: `${name}@there.test`, name, passwordHash: "h", nowMs: Date.now() }))!,
    ),
  );
  const own = async (name: string, owners: (typeof ann)[]) => {
    const { id } = await createWorkspace(sql, { id: newId(), name });
    for (const owner of owners)
      await addFirstOwner(sql, { workspaceId: id, id: newId(), personId: owner!.id, email: owner!.email });
  };
  await own("Shared", [ann, ben]);
  await own("Alone", [ann]);
  const names = async (person: typeof ann) =>
    (await sql.begin((tx) => leaveWorkspaces(tx, person!))).map(({ name }) => name);
  assert.deepEqual([await names(ann), await names(ben)], [["Alone"], []]);
  assert.deepEqual(await names(ann), ["Shared", "Alone"], "ben has left");
});

test("an erased person leaves no account, link, membership, invitation or address of their keys' clients", async () => {
  const { sql } = database;
  const email = "gone@there.test";
  const { id } = (await addPerson(sql, { email, name: "Gone", passwordHash: "h", nowMs: Date.now() }))!;
  const { id: workspaceId } = await createWorkspace(sql, { id: newId(), name: "W" });
  await sql`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${workspaceId}, ${newId()}, ${id}, ${email}, 'viewer', now())`;
  await addLink(sql, { token: "token", kind: "reset", email, forMs: 60_000 });
  const [direct, derived] = [newId(), newId()];
  await sql`insert into keys (id, workspace_id, name, prefix, secret_hash, permission, maker_person_id, maker_key_id, last_used_address)
    values (${direct}, ${workspaceId}, 'a', 'gone a', 'x', 'full', ${id}, null, '192.0.2.1'),
      (${derived}, ${workspaceId}, 'b', 'gone b', 'x', 'full', null, ${direct}, '192.0.2.2')`;
  await sql.begin(async (tx) => {
    await leaveWorkspaces(tx, { id, email });
    await erasePerson(tx, { id, email });
  });
  for (const table of ["people", "people_links", "members"]) {
    const rows = await sql`select 1 from ${sql.unsafe(table)} t where t.email = ${email}`;
    assert.equal(rows.length, 0, table);
  }
  const addresses = await sql`select 1 from keys where workspace_id = ${workspaceId} and last_used_address is not null`;
  assert.equal(addresses.length, 0, "also of keys that were created with a key");
});

test("mail to an erased person leaves neither an outcome to count nor hashes of the address", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const person = (await addPerson(sql, {
    email: "hashed@there.test",
    name: "H",
    passwordHash: "h",
    nowMs: Date.now(),
  }))!;
  const mail = newEmail(workspaceId, [person.email], { keyId: systemKeyId });
  assert.deepEqual(await createEmailStore(sql).accept(mail), { stored: true });
  await sql.begin((tx) => indexEmails(tx, [mail]));
  const left = async () =>
    await sql`select email_id from email_outcomes where email_id = ${mail.id} union all select email_id from email_terms where email_id = ${mail.id}`;
  assert.ok((await left()).length > 1);
  await sql.begin((tx) => erasePerson(tx, person));
  assert.equal((await left()).length, 0);
});

test("invitations that wait to be sent lose the name of the inviter, and nothing else", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const people = await Promise.all(
    ["Gwen invites you", "Ann"].map((name, n) =>
      addPerson(sql, { email: `inviter${n}@there.test`, name, passwordHash: "h", nowMs: Date.now() }),
    ),
  );
  const texts = new Map<string, object>();
  for (const person of people) {
    const names = { inviter: person!.name, workspace: "Gwen's invites you" };
    const mailText = invitationMail({ ...names, role: "owner", link: "https://x.test/invitation#token=t" });
    const text = { text: mailText.body, html: systemHtml(mailText) };
    const mail = newEmail(workspaceId, ["new@there.test"], {
      keyId: systemKeyId,
      metadata: inviterMetadata(person!.id),
      parts: [JSON.stringify(text)],
    });
    assert.deepEqual(await createEmailStore(sql).accept(mail), { stored: true });
    const erased = (part: string) => part.replace("Gwen invites you invites", "An owner invites");
    assert.match(text.html, /Gwen invites you invites|Ann invites/);
    texts.set(mail.id, person!.name === "Ann" ? text : { text: erased(text.text), html: erased(text.html) });
  }
  await sql.begin((tx) => erasePerson(tx, people[0]!));
  const rows = await sql<{ id: string; data: string }[]>`
    select email_id as id, data from email_contents where workspace_id = ${workspaceId}`;
  assert.deepEqual(new Map(rows.map(({ id, data }) => [id, JSON.parse(data)])), texts);
  const open = await sql`select 1 from recipients where workspace_id = ${workspaceId} and status = 'queued'`;
  assert.equal(open.length, 2, "the mail is still sent");
});

test("an invitation whose text is stored as octets does not keep its inviter from being deleted", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const inviter = { email: "large@there.test", name: "L", passwordHash: "h", nowMs: Date.now() };
  const person = (await addPerson(sql, inviter))!;
  const mail = newEmail(workspaceId, ["new@there.test"], {
    keyId: systemKeyId,
    metadata: inviterMetadata(person.id),
    parts: [{ bytes: Buffer.from(JSON.stringify({ text: "x".repeat(70_000), html: "" })) }],
  });
  assert.deepEqual(await createEmailStore(sql).accept(mail), { stored: true });
  assert.equal(await sql.begin((tx) => erasePerson(tx, person)), true);
});
