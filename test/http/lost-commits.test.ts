/** Every method that writes, over the whole contract: when the connection to PostgreSQL is lost around the commit, the answer is true. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { allMethods, nameOf } from "../harness/contract.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type DatabaseProxy, type Fate, startDatabaseProxy } from "../harness/database-proxy.ts";
import { signUpFirst } from "../harness/people.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let proxy: DatabaseProxy;
let program: RunningProgram;
let call: (method: string, request: unknown) => Promise<Answer>;
let sender: string;

before(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  // Without the loops of the other roles, every receipt belongs to the call of the test.
  program = await startProgram({ databaseUrl: proxy.url, env: { POSTHORN_ROLES: "api,dns" } });
  const { browser, workspace } = await signUpFirst(program);
  call = (method, request) => browser.rpc(method, request, workspace);
  await database.sql`update people set is_operator = true`;
  await database.sql`update people_sessions set has_second_factor = true`;
  sender = (await domain(true)).name;
});
after(async () => {
  await program?.remove();
  await proxy?.close();
  await database?.drop();
});

let made = 0;
const unique = () => `n${++made}`;

async function done(method: string, request: unknown): Promise<Record<string, unknown>> {
  const { status, body } = await call(method, request);
  assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
  return body;
}
const idIn = (body: Record<string, unknown>, name: string) => (body[name] as { id: string }).id;

async function domain(published: boolean): Promise<{ id: string; name: string }> {
  const name = `${unique()}.test`;
  const id = idIn(await done("DomainService/AddDomain", { domain: name }), "domain");
  if (published) await done("DomainService/PublishToLocalDns", { id });
  return { id, name };
}
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const newKey = (id: string) => ({ id, selector: unique(), privateKeyPem });
const email = () => ({ from: `us@${sender}`, to: [`a@${unique()}.test`], subject: unique(), body: "x", async: true });
const scheduled = async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  return { id: (await done("EmailService/SendEmail", { ...email(), scheduledAt })).id };
};
const key = () => ({ name: unique(), permission: "KEY_PERMISSION_SEND" });
const webhook = async () =>
  idIn(await done("WebhookService/CreateWebhook", { url: "http://127.0.0.1:9/hook" }), "webhook");
const queued = async () => {
  const request = email();
  await done("EmailService/SendEmail", request);
  return { destination: request.to[0]!.split("@")[1]! };
};
const paused = async () => {
  const at = await queued();
  await done("QueueService/PauseDestination", at);
  return at;
};
const invited = () => ({ email: `${unique()}@there.test`, role: "MEMBER_ROLE_VIEWER" });
const member = async () => ({ memberId: idIn(await done("WorkspaceService/InviteMember", invited()), "member") });
/** A person without a workspace, with the confirmation that deleting needs. */
const person = async () => {
  const { sql } = database;
  const address = `${unique()}@there.test`;
  const [row] = await sql<{ id: string }[]>`
    insert into people (id, email, name) values (gen_random_uuid(), ${address}, 'P') returning id`;
  return { id: `per_${row!.id}`, email: address };
};
/** A workspace, with the confirmation that deleting needs. */
const workspaceId = async () => {
  const name = unique();
  return { workspaceId: idIn(await done("WorkspaceService/CreateWorkspace", { name }), "workspace"), name };
};
const delivery = async () => {
  const webhookId = await webhook();
  // An event of the workspace: a canceled email.
  await done("EmailService/CancelEmail", await scheduled());
  const { data } = (await done("EmailService/ListEvents", { pageSize: 1 })) as { data: { cursor: string }[] };
  return { webhookId, fromCursor: data[0]!.cursor, toCursor: data[0]!.cursor };
};

/** A request for each method that writes, made anew for each call. */
const writes: Record<string, () => unknown> = {
  "DomainService/AddDomain": () => ({ domain: `${unique()}.test` }),
  "DomainService/VerifyDomain": async () => ({ id: (await domain(false)).id }),
  "DomainService/DeleteDomain": async () => ({ id: (await domain(false)).id }),
  "DomainService/RotateDkim": async () => ({ id: (await domain(true)).id }),
  "DomainService/ImportDkimKey": async () => newKey((await domain(false)).id),
  "DomainService/RemoveDkimKey": async () => {
    const { id } = await domain(false);
    return { id: idIn(await done("DomainService/ImportDkimKey", newKey(id)), "key") };
  },
  "DomainService/CreateDomainLink": async () => ({ id: (await domain(false)).id }),
  "DomainService/RevokeDomainLink": async () => {
    const { id } = await domain(false);
    return { id: idIn(await done("DomainService/CreateDomainLink", { id }), "link") };
  },
  "DomainService/PublishToLocalDns": async () => ({ id: (await domain(false)).id }),
  "EmailService/SendEmail": email,
  "EmailService/SendEmailBatch": () => ({ emails: [email(), email()].map(({ async: _, ...one }) => one) }),
  "EmailService/CancelEmail": scheduled,
  "EmailService/UpdateEmail": async () => ({
    ...(await scheduled()),
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  }),
  "KeyService/CreateKey": key,
  "KeyService/UpdateKey": async () => ({ id: idIn(await done("KeyService/CreateKey", key()), "key"), name: unique() }),
  "KeyService/RotateKey": async () => ({ id: idIn(await done("KeyService/CreateKey", key()), "key") }),
  "KeyService/RevokeKey": async () => ({ id: idIn(await done("KeyService/CreateKey", key()), "key") }),
  "QueueService/RetryDestination": queued,
  "QueueService/PauseDestination": queued,
  "QueueService/ResumeDestination": paused,
  "QueueService/PurgeDestination": queued,
  "SuppressionService/AddSuppression": () => ({ address: `${unique()}@there.test` }),
  "SuppressionService/RemoveSuppression": async () => {
    const at = { address: `${unique()}@there.test` };
    await done("SuppressionService/AddSuppression", at);
    return at;
  },
  "SuppressionService/AddUnsubscribe": () => ({ address: `${unique()}@there.test`, topic: "news" }),
  "SuppressionService/RemoveUnsubscribe": async () => {
    const at = { address: `${unique()}@there.test`, topic: "news" };
    await done("SuppressionService/AddUnsubscribe", at);
    return at;
  },
  "SuppressionService/ImportSuppressions": () => ({ csv: `address\n${unique()}@there.test\n` }),
  "StatsService/UpdateStatsSettings": () => ({ metadataKeys: { keys: [unique()] } }),
  "WebhookService/CreateWebhook": () => ({ url: "http://127.0.0.1:9/hook" }),
  "WebhookService/UpdateWebhook": async () => ({ id: await webhook(), description: unique() }),
  "WebhookService/DeleteWebhook": async () => ({ id: await webhook() }),
  "WebhookService/RotateWebhookSecret": async () => ({ id: await webhook() }),
  "WebhookService/RedeliverWebhook": delivery,
  "WebhookService/SendTestWebhook": async () => ({ id: await webhook() }),
  "OperatorService/DisablePerson": person,
  "OperatorService/EnablePerson": async () => {
    const { id } = await person();
    await done("OperatorService/DisablePerson", { id });
    return { id };
  },
  "OperatorService/DeletePerson": person,
  "OperatorService/SuspendWorkspace": workspaceId,
  "OperatorService/ResumeWorkspace": async () => {
    const at = await workspaceId();
    await done("OperatorService/SuspendWorkspace", at);
    return at;
  },
  "OperatorService/SetQuotas": async () => ({
    ...(await workspaceId()),
    quotas: [{ kind: "QUOTA_KIND_KEYS", limit: 9 }],
  }),
  "OperatorService/DeleteWorkspace": workspaceId,
  "OperatorService/RemoveSystemSuppression": async () => {
    const address = `${unique()}@there.test`;
    await database.sql`insert into suppressions (workspace_id, address, reason)
      select id, ${address}, 'bounce' from workspaces where kind = 'system'`;
    return { address };
  },
  "WorkspaceService/CreateWorkspace": () => ({ name: unique() }),
  "WorkspaceService/UpdateWorkspace": () => ({ name: unique() }),
  "WorkspaceService/InviteMember": invited,
  "WorkspaceService/UpdateMember": async () => ({ ...(await member()), role: "MEMBER_ROLE_DEVELOPER" }),
  "WorkspaceService/RemoveMember": member,
};

const readsOnly = /\/(Get|List|Stream|Export|Count|Check)/;
/** Its lease and its result are for the service: there is nothing for a caller to know or to lose. */
const checksOnly = ["DomainService/VerifyDomain"];

/** The next commit of a write meets its fate. Returns how many did. */
function nextCommit(fate: Fate): () => number {
  let met = 0;
  proxy.fateOf((text) => (met === 0 && text.includes("'stored', '{}'") && ++met === 1 ? fate : "forward"));
  return () => met;
}

const reasonIn = ({ body }: Answer) =>
  (body.details as { debug?: { reason?: string } }[] | undefined)?.find(({ debug }) => debug?.reason)?.debug?.reason;

it("there is a case for every method that writes", async () => {
  const names = (await allMethods()).map(nameOf).filter((name) => !readsOnly.test(name));
  assert.deepEqual(Object.keys(writes).sort(), names.sort());
});

for (const [method, make] of Object.entries(writes)) {
  describe(method, () => {
    it("succeeds when the commit is stored and its answer is lost", async () => {
      const request = await make();
      const met = nextCommit("lose answer");
      const answer = await call(method, request);
      assert.equal(met(), 1, "the write has a receipt");
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    });

    it("says that nothing was stored when the commit never arrived, and a repeat succeeds", async () => {
      const request = await make();
      const met = nextCommit("lose");
      const answer = await call(method, request);
      assert.equal(met(), 1);
      assert.deepEqual([answer.status, reasonIn(answer)], [503, "DATABASE_UNREACHABLE"], JSON.stringify(answer.body));
      assert.match(answer.body.message as string, /nothing was stored/);
      if (checksOnly.includes(method)) return;
      assert.equal((await call(method, request)).status, 200);
    });
  });
}

it("a stored email is stored once", async () => {
  const request = email();
  nextCommit("lose answer");
  const { status, body } = await call("EmailService/SendEmail", request);
  assert.equal(status, 200);
  const { data } = (await done("EmailService/ListEmails", { search: request.subject })) as { data: { id: string }[] };
  assert.deepEqual(
    data.map(({ id }) => id),
    [body.id],
  );
});

it("while the database stays away the outcome is unknown, and the answer says how to find out", async () => {
  const request = email();
  for (const [headers, advice] of [
    [{}, /unknown whether this request was stored.*ListEmails/],
    [{ "idempotency-key": unique() }, /unknown whether this request was stored.*same Idempotency-Key/],
  ] as const) {
    nextCommit("go away");
    const limit = { "connect-timeout-ms": "1500" };
    const answer = await program.call("EmailService/SendEmail", request, { headers: { ...limit, ...headers } });
    assert.deepEqual([answer.status, reasonIn(answer)], [503, "OUTCOME_UNKNOWN"], JSON.stringify(answer.body));
    assert.match(answer.body.message as string, advice);
    proxy.comeBack();
    if (!("idempotency-key" in headers)) continue;
    const again = await program.call("EmailService/SendEmail", request, { headers });
    assert.equal(again.status, 200);
  }
  // Once without a key, once with a key that was repeated: both are stored once.
  const { data } = (await done("EmailService/ListEmails", { search: request.subject })) as { data: unknown[] };
  assert.equal(data.length, 2);
});
