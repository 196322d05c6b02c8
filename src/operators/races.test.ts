/** Deletions that meet other changes of the same rows. Each test holds one change open in a transaction of its own, starts the other one,
 * and lets the first go on when the second waits: locks in different orders end in a deadlock, which the database reports. Deletions get one
 * try, because a second one would hide the deadlock. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { findLeftovers } from "../../test/harness/leftovers.ts";
import { makeWorkspace, newEmail, settlement } from "../../test/harness/mail.ts";
import { until } from "../../test/harness/wait.ts";
import { commandLine } from "../audit/record.ts";
import { findLanes, leaseDue } from "../delivery/store/lease.ts";
import { settle } from "../delivery/store/settle.ts";
import { createEmailStore } from "../emails/store/emails.ts";
import type { SystemMail } from "../emails/system-mail.ts";
import { revokeKeysMadeBy, systemKeyId, touchKeys } from "../keys/store.ts";
import { silentLog } from "../ops/log.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { createAccountMail } from "../people/account-mail.ts";
import { createInvitations } from "../people/invitations.ts";
import { invitationMail, inviterMetadata } from "../people/links.ts";
import { addPerson, type Person } from "../people/store.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { makeLease, registerWorker } from "../postgres/workers.ts";
import { applyClaimedRole } from "../workspaces/store/claimed-roles.ts";
import { addFirstOwner, createOwnedWorkspace, createWorkspace, invite, joinByInvite } from "../workspaces/store.ts";
import { deletePerson, disablePerson } from "./people.ts";
import { erasePerson, forgetDeletedInviter, forgetReplies } from "./store/person-deletion.ts";
import { deleteWorkspace, readEntry } from "./workspaces.ts";

let database: TestDatabase;
let sql: Sql;
let ann: Person;
let ben: Person;
let workspaceId: string;
beforeEach(async () => {
  database = await createTestDatabase();
  sql = database.sql;
  [ann, ben] = [await addAccount("ann"), await addAccount("ben")];
  workspaceId = await addWorkspace(ben);
});
afterEach(async () => await database?.drop());

const longest = { timeout: 60_000 };
const newId = () => makeUuid(Date.now());
const most = { established: null, fromSignUp: null };

async function addAccount(name: string): Promise<Person> {
  return (await addPerson(sql, { email: `${name}@there.test`, name, passwordHash: "h", nowMs: Date.now() }))!;
}

async function addWorkspace(owner: Person): Promise<string> {
  const { id } = await createWorkspace(sql, { id: newId(), name: "W" });
  await addFirstOwner(sql, { workspaceId: id, id: newId(), personId: owner.id, email: owner.email });
  return id;
}

async function addMember(db: Sql, person: Person, role = "developer", workspace = workspaceId): Promise<void> {
  await db`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${workspace}, ${newId()}, ${person.id}, ${person.email}, ${role}, now())`;
}

/** Two keys of a person. The second in the order of ids is the first on the disk. */
async function addKeys(maker: Person): Promise<[string, string]> {
  const ids = [newId(), newId()].sort() as [string, string];
  for (const id of ids.toReversed())
    await sql`insert into keys (id, workspace_id, name, prefix, secret_hash, permission, maker_person_id)
      values (${id}, ${workspaceId}, 'k', ${id}, 'x', 'full', ${maker.id})`;
  return ids;
}

const remove = (person: Person, options: { revokeKeys?: boolean; tries?: number } = {}) =>
  deletePerson(sql, { personId: person.id, actor: commandLine, revokeKeys: false, tries: 1, ...options });
/** Stores the mail of an invitation. */
async function acceptInvitation(
  workspace: string,
  { id = newId(), from, to }: { id?: string; from: Person; to: Pick<Person, "email"> },
): Promise<void> {
  const names = { inviter: from.name, workspace: "W" };
  const { body } = invitationMail({ ...names, role: "viewer", link: "https://x.test/invitation#token=t" });
  const mail = newEmail(workspace, [to.email], {
    id,
    keyId: systemKeyId,
    metadata: inviterMetadata(from.id),
    parts: [JSON.stringify({ text: body, html: "" })],
  });
  assert.deepEqual(await createEmailStore(sql).accept(mail), { stored: true });
}

const memberships = async (person: Person) => (await sql`select 1 from members where person_id = ${person.id}`).length;

/** The number of connections that wait for a lock. */
async function countWaiting(): Promise<number> {
  const rows = await sql`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return rows.length;
}

/** Runs `first` in a transaction, starts `second`, and runs `rest` in the transaction when `second` waits for a lock. */
async function meeting<T>(parts: {
  first(tx: Sql): Promise<unknown>;
  second(): PromiseLike<T>;
  rest?(tx: Sql): Promise<unknown>;
}): Promise<T> {
  let second: Promise<T> | undefined;
  await sql.begin(async (tx) => {
    await parts.first(tx);
    second = Promise.resolve(parts.second());
    // Awaited below; a failure must not end the process before.
    second.catch(() => {});
    const isWaiting = async () => (await countWaiting()) > 0;
    await until("the second change to wait for a lock", isWaiting, { withinMs: 20_000 });
    await parts.rest?.(tx);
  });
  return await second!;
}

test("replies of sites are forgotten in the order in which nodes report sites", longest, async () => {
  for (const site of ["b.test", "a.test"])
    await sql`insert into sites (site, last_reply) values (${site}, '550 <x@there.test> unknown')`;
  // What reportSites does in one statement.
  const lock = (tx: Sql, site: string) => tx`select 1 from sites where site = ${site} for update`;
  await meeting({
    first: (tx) => lock(tx, "a.test").then(),
    second: () => sql.begin(forgetReplies),
    rest: (tx) => lock(tx, "b.test").then(),
  });
  assert.deepEqual(await sql`select 1 from sites where last_reply is not null`, []);
});

const lockKey = (tx: Sql, id: string) => tx`select 1 from keys where id = ${id} for no key update`.then();

test("keys are touched and revoked in the order of their ids", longest, async () => {
  const [low, high] = await addKeys(ann);
  const uses = [high, low].map((id) => ({ id, address: "192.0.2.1" }));
  for (const second of [
    () => touchKeys(sql, uses),
    () => revokeKeysMadeBy(sql, { workspaceId: undefined, personId: ann.id }),
    () => remove(ann, { revokeKeys: true }),
  ])
    await meeting<unknown>({ first: (tx) => lockKey(tx, low), second, rest: (tx) => lockKey(tx, high) });
  const rows = await sql`select 1 from keys where revoked_at is not null and last_used_address is null`;
  assert.equal(rows.length, 2);
});

test(
  "a key that is used while its maker is deleted keeps no address, nor does a key that it created",
  longest,
  async () => {
    const [key, derived] = await addKeys(ann);
    await sql`update keys set maker_person_id = null, maker_key_id = ${key} where id = ${derived}`;
    const uses = [key, derived].map((id) => ({ id, address: "192.0.2.1" }));
    const addresses = async () =>
      (await sql<{ address: string | null }[]>`select last_used_address as address from keys`).map(
        ({ address }) => address,
      );
    await touchKeys(sql, uses);
    assert.deepEqual(await addresses(), ["192.0.2.1", "192.0.2.1"]);
    await sql`update keys set last_used_at = null, last_used_address = null`;
    await meeting({ first: (tx) => erasePerson(tx, ann), second: () => touchKeys(sql, uses) });
    assert.deepEqual(await addresses(), [null, null]);
    await sql`update keys set last_used_at = null`;
    await touchKeys(sql, uses);
    assert.deepEqual(await addresses(), [null, null], "nor later");
  },
);

test("a person who joins a workspace meanwhile is deleted with the membership", longest, async () => {
  await meeting({ first: (tx) => addMember(tx, ann), second: () => remove(ann, { tries: 2 }) });
  assert.equal(await memberships(ann), 0);
  assert.deepEqual(await sql`select 1 from people where id = ${ann.id}`, []);
});

test("a person who becomes the only owner of a workspace meanwhile is not deleted", longest, async () => {
  const { id } = await createWorkspace(sql, { id: newId(), name: "Orphan" });
  const deletion = meeting({
    first: (tx) => addMember(tx, ann, "owner", id),
    second: () => remove(ann, { tries: 2 }),
  });
  await assert.rejects(deletion, /is the last owner of "Orphan"/);
  assert.equal(await memberships(ann), 1);
});

test("of two last owners who are deleted at the same time, one stays", longest, async () => {
  await addMember(sql, ann, "owner");
  const results = await Promise.allSettled([remove(ann), remove(ben)]);
  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.equal((await sql`select 1 from members where workspace_id = ${workspaceId} and role = 'owner'`).length, 1);
});

test("a member who is removed and deleted at the same time", longest, async () => {
  await addMember(sql, ann);
  await addKeys(ann);
  await meeting({
    // What removeMember does.
    first: async (tx) => {
      await tx`select 1 from workspaces where id = ${workspaceId} for no key update`;
      await tx`delete from members where person_id = ${ann.id}`;
    },
    second: () => remove(ann, { revokeKeys: true }),
    rest: (tx) => revokeKeysMadeBy(tx, { workspaceId, personId: ann.id }),
  });
  assert.deepEqual(await sql`select 1 from people where id = ${ann.id}`, []);
});

test("a person is disabled and deleted at the same time", longest, async () => {
  const [low] = await addKeys(ann);
  const disabled = await meeting({
    first: (tx) => lockKey(tx, low),
    second: () => disablePerson(sql, { personId: ann.id, actor: commandLine, revokeKeys: true, tries: 1 }),
    rest: async (tx) => void (await tx`delete from people where id = ${ann.id}`),
  });
  assert.equal(disabled, undefined);
});

test("a person who is deleted meanwhile neither joins nor creates a workspace", longest, async () => {
  const token = makeToken();
  const invitation = { workspaceId, id: newId(), email: ann.email, role: "viewer", token, forMs: 60_000 } as const;
  const erased = async (tx: Sql) => void (await tx`delete from people where id = ${ann.id}`);
  const again = async () =>
    void (await sql`insert into people (id, email, name) values (${ann.id}, ${ann.email}, 'Ann')`);
  await invite(sql, invitation);
  const join = () => sql.begin((tx) => joinByInvite(tx, { token, person: ann, most }));
  assert.equal(await meeting({ first: erased, second: join }), undefined);
  await again();
  const claim = {
    workspaceId,
    person: ann,
    issuer: "https://idp.test",
    role: "viewer",
    most,
    nowMs: Date.now(),
  } as const;
  const claimed = () => sql.begin((tx) => applyClaimedRole(tx, claim));
  assert.deepEqual(await meeting({ first: erased, second: claimed }), { change: "none" });
  await again();
  const owned = {
    workspace: { id: newId(), name: "Late" },
    member: { id: newId(), personId: ann.id, email: ann.email },
  };
  const create = () => createOwnedWorkspace(sql, { ...owned, signUpIsOpen: false, most });
  await assert.rejects(meeting({ first: erased, second: create }), { code: "unauthenticated" });
  assert.deepEqual(await sql`select 1 from workspaces where name = 'Late'`, []);
});

test(
  "account mail that bounces while its person is deleted leaves no suppression and no event with the address",
  longest,
  async () => {
    const sender = await makeWorkspace(sql);
    const mail = newEmail(sender, [ann.email], { keyId: systemKeyId });
    assert.deepEqual(await createEmailStore(sql).accept(mail), { stored: true });
    const workerId = await registerWorker(sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
    const lanes = (await findLanes(sql, 10)).map((lane) => ({ ...lane, quota: 10 }));
    const [leased] = await leaseDue(sql, makeLease(workerId, 1), lanes);
    const bounce = settlement(leased!, "bounced", { suppress: ann.email, reply: `550 <${ann.email}> unknown` });
    await meeting({ first: (tx) => settle(tx, [bounce]), second: () => remove(ann) });
    assert.deepEqual(await findLeftovers(sql, [ann.email]), []);
    assert.equal((await sql`select 1 from events where type = 'email.bounced'`).length, 1, "the log has no gap");
  },
);

test("account mail is locked in the order in which delivery settles it", longest, async () => {
  const sender = await makeWorkspace(sql);
  await acceptInvitation(sender, { from: ben, to: ann });
  await meeting({
    // What settle does in one statement.
    first: (tx) => tx`select 1 from recipients where workspace_id = ${sender} for update`.then(),
    second: () => remove(ann),
    rest: (tx) => tx`select 1 from emails where workspace_id = ${sender} for update`.then(),
  });
  assert.deepEqual(await sql`select 1 from emails`, []);
});

test("a person who is deleted twice at the same time is deleted once in the audit log", longest, async () => {
  let first: Awaited<ReturnType<typeof remove>>;
  const second = await meeting({
    // Both deletions have found the person when they wait for this lock.
    first: async (tx) => {
      await tx`select 1 from people where id = ${ann.id} for key share`;
    },
    second: async () => {
      const [one, other] = await Promise.all([remove(ann), remove(ann)]);
      first = one;
      return other;
    },
    rest: () => until("both deletions to wait", async () => (await countWaiting()) === 2, { withinMs: 20_000 }),
  });
  assert.deepEqual([first?.email, second?.email].toSorted(), [ann.email, undefined]);
  assert.equal((await sql`select 1 from audit_entries where action = 'person.deleted'`).length, 1);
});

test("an invitation that is accepted while its inviter is deleted loses the name", longest, async () => {
  const gwendolyn = await addAccount("gwendolyn");
  const sender = await makeWorkspace(sql);
  await meeting({
    // The deletion has erased mail before, and waits for the row of the person.
    first: (tx) => tx`select 1 from people where id = ${gwendolyn.id} for key share`.then(),
    second: () => remove(gwendolyn),
    rest: () => acceptInvitation(sender, { from: gwendolyn, to: ann }),
  });
  assert.deepEqual(await findLeftovers(sql, ["gwendolyn"]), []);
  assert.equal((await sql`select 1 from emails`).length, 1);
});

test("an invitation that is accepted after its inviter is deleted loses the name", longest, async () => {
  const gwendolyn = await addAccount("gwendolyn");
  const sender = await makeWorkspace(sql);
  const system: SystemMail = {
    canSend: async () => true,
    problem: async () => undefined,
    async send({ to, body, metadata = {} }) {
      assert.match(body, /^gwendolyn invites you/);
      await remove(gwendolyn);
      const parts = [JSON.stringify({ text: body, html: "" })];
      await createEmailStore(sql).accept(newEmail(sender, [to], { keyId: systemKeyId, metadata, parts }));
    },
  };
  const invitations = createInvitations({
    sql,
    base: () => "https://x.test",
    nowMs: Date.now,
    mode: "first",
    mail: createAccountMail({ sql, log: silentLog(), mail: system, nowMs: Date.now }),
    forgetDeletedInviter: (personId) => forgetDeletedInviter(sql, personId),
  });
  const inviter = { id: gwendolyn.id };
  await invitations.invite({ workspaceId, email: "new@there.test", role: "viewer", inviter, actor: commandLine });
  assert.deepEqual(await findLeftovers(sql, ["gwendolyn"]), []);
  assert.equal((await sql`select 1 from emails`).length, 1);
});

test("two people who invited each other are deleted at the same time", longest, async () => {
  const cat = await addAccount("cat");
  const sender = await makeWorkspace(sql);
  const [low, high] = [newId(), newId()].sort() as [string, string];
  await acceptInvitation(sender, { id: low, from: cat, to: ann });
  await acceptInvitation(sender, { id: high, from: ann, to: cat });
  await meeting({
    // How the deletion of ann begins.
    first: async (tx) => {
      await tx`select 1 from recipients where workspace_id = ${sender} and email_id = ${low} for update`;
      await tx`select 1 from emails where workspace_id = ${sender} and id = ${low} for update`;
    },
    second: () => remove(cat),
    rest: (tx) => erasePerson(tx, ann),
  });
  assert.deepEqual(await findLeftovers(sql, [ann.email, cat.email]), []);
});

test("a person is deleted while a workspace of theirs is", longest, async () => {
  await addMember(sql, ann);
  const [low, high] = await addKeys(ann);
  await sql`insert into settings (name, value) values ('first_workspace', ${newId()})`;
  const workspace = (await readEntry(sql, workspaceId))!;
  const began = await meeting({
    first: (tx) => lockKey(tx, low),
    second: () => deleteWorkspace(sql, { workspace, actor: commandLine, providers: [], tries: 1 }),
    rest: (tx) => lockKey(tx, high),
  });
  assert.equal(began, true);
  await Promise.all([remove(ann, { revokeKeys: true }), remove(ben)]);
  assert.deepEqual(await sql`select 1 from people`, []);
});
