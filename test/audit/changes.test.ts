/** Every change by API leaves one entry in the audit log of its workspace: who, what, which and from where, without personal data. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { isReadOnly } from "../../src/http/errors.ts";
import { allMethods, nameOf } from "../harness/contract.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of many methods
type Body = Record<string, any>;

type Entry = {
  id: string;
  at: string;
  actor: string;
  actorId: string;
  actorName: string;
  action: string;
  targetId: string;
  fields: string[];
  address: string;
};

/** Methods that change nothing that this log is about. */
const notRecorded = new Map([
  ["EmailService/SendEmail", "the log of emails has it, with its key"],
  ["EmailService/SendEmailBatch", "the log of emails has it, with its key"],
  ["DomainService/VerifyDomain", "a check changes only what was found in DNS"],
  ["WebhookService/SendTestWebhook", "the log of deliveries has it"],
]);

let database: TestDatabase;
let program: RunningProgram;
let owner: { browser: Browser; session: { person: { id: string } }; workspace: string };
before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  owner = await signUpFirst(program);
});
after(async () => {
  await program?.stop();
  await database?.drop();
});

async function ok(method: string, request: object): Promise<Body> {
  const { status, body } = await owner.browser.rpc(method, request, owner.workspace);
  assert.equal(status, 200, `${method}: ${JSON.stringify(body)}`);
  return body;
}

const list = async (filter: object = {}) =>
  (await ok("AuditService/ListAuditEntries", { filter, pageSize: 100 })).data as Entry[];

describe("the audit log", () => {
  it("has an entry for every method that changes something", async () => {
    const { domain } = await ok("DomainService/AddDomain", { domain: "audited.test" });
    await ok("DomainService/PublishToLocalDns", { id: domain.id });
    const { link } = await ok("DomainService/CreateDomainLink", { id: domain.id });
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const own = await ok("DomainService/ImportDkimKey", { id: domain.id, selector: "secret", privateKeyPem });
    const { webhook } = await ok("WebhookService/CreateWebhook", { url: "http://127.0.0.1:9/hook" });
    const { key } = await ok("KeyService/CreateKey", { name: "Secret name", permission: "KEY_PERMISSION_SEND" });
    const [scheduledAt, later] = [1, 2].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
    const mail = { from: "a@audited.test", subject: "Secret subject", body: "Text", async: true };
    const { id: emailId } = await ok("EmailService/SendEmail", { ...mail, to: ["x@there.test"], scheduledAt });
    await ok("QueueService/PauseDestination", { destination: "waiting.test" });
    await ok("EmailService/SendEmail", { ...mail, to: ["x@waiting.test"] });
    const { member } = await ok("WorkspaceService/InviteMember", {
      email: "guest@there.test",
      role: "MEMBER_ROLE_VIEWER",
    });
    const { workspace: second } = await ok("WorkspaceService/CreateWorkspace", { name: "Second" });
    const steps: [method: string, request: object, target: string, fields?: string[]][] = [
      ["DomainService/RevokeDomainLink", { id: link.id }, domain.id],
      ["DomainService/RotateDkim", { id: domain.id }, domain.id],
      ["DomainService/ImportDkimKey", { id: domain.id, selector: "other", privateKeyPem }, domain.id],
      ["DomainService/ExportDkimKey", { id: own.key.id }, domain.id],
      ["DomainService/RemoveDkimKey", { id: own.key.id }, domain.id],
      ["DomainService/DeleteDomain", { id: domain.id }, domain.id],
      ["WebhookService/UpdateWebhook", { id: webhook.id, description: "Secret" }, webhook.id, ["description"]],
      ["WebhookService/RotateWebhookSecret", { id: webhook.id }, webhook.id, ["signingSecret"]],
      ["WebhookService/RedeliverWebhook", { webhookId: webhook.id, fromCursor: "1", toCursor: "1" }, webhook.id],
      ["WebhookService/DeleteWebhook", { id: webhook.id }, webhook.id],
      ["KeyService/UpdateKey", { id: key.id, name: "Secret again" }, key.id, ["name"]],
      ["KeyService/RotateKey", { id: key.id }, key.id],
      ["KeyService/RevokeKey", { id: key.id }, key.id],
      ["SuppressionService/AddSuppression", { address: "secret@there.test" }, ""],
      ["SuppressionService/RemoveSuppression", { address: "secret@there.test" }, ""],
      ["SuppressionService/ImportSuppressions", { csv: "address\nother@there.test\n" }, ""],
      ["SuppressionService/AddUnsubscribe", { address: "secret@there.test", topic: "news" }, ""],
      ["SuppressionService/RemoveUnsubscribe", { address: "secret@there.test", topic: "news" }, ""],
      ["QueueService/PauseDestination", { destination: "there.test" }, ""],
      ["QueueService/ResumeDestination", { destination: "there.test" }, ""],
      ["QueueService/RetryDestination", { destination: "waiting.test" }, ""],
      ["QueueService/PurgeDestination", { destination: "waiting.test" }, ""],
      [
        "StatsService/UpdateStatsSettings",
        { metadataKeys: { keys: ["secret"] }, bounceAlert: { disabled: true } },
        owner.workspace,
        ["metadataKeys", "bounceAlert"],
      ],
      ["EmailService/UpdateEmail", { id: emailId, scheduledAt: later }, emailId, ["scheduledAt"]],
      ["EmailService/CancelEmail", { id: emailId }, emailId],
      ["WorkspaceService/UpdateWorkspace", { name: "Secret workspace" }, owner.workspace, ["name"]],
      ["WorkspaceService/UpdateMember", { memberId: member.id, role: "MEMBER_ROLE_DEVELOPER" }, member.id, ["role"]],
      ["WorkspaceService/RemoveMember", { memberId: member.id }, member.id],
    ];
    // What the steps above need was created by these calls.
    const created = [
      ["DomainService/CreateDomainLink", domain.id],
      ["DomainService/PublishToLocalDns", domain.id],
      ["DomainService/AddDomain", domain.id],
      ["WebhookService/CreateWebhook", webhook.id],
      ["KeyService/CreateKey", key.id],
      ["WorkspaceService/InviteMember", member.id],
      ["WorkspaceService/CreateWorkspace", second.id],
    ] as const;
    const covered = new Set([...steps.map(([method]) => method), ...created.map(([method]) => method)]);
    const missing = (await allMethods())
      // test/people/operators.test.ts has those of operators.
      .filter((method) => !isReadOnly(method) && method.parent.name !== "OperatorService")
      .filter((method) => !covered.has(nameOf(method)) && !notRecorded.has(nameOf(method)))
      .map(nameOf);
    assert.deepEqual(missing, [], "a new method that changes something needs an entry here");

    for (const [method, target] of created.slice(0, -1))
      assertEntry(method, (await list({ targetId: target })).at(method.includes("Publish") ? 0 : -1), target);
    for (const [method, request, target, fields] of steps) {
      await ok(method, request);
      assertEntry(method, (await list())[0], target, fields);
    }
    const [creation] = (await owner.browser.rpc("AuditService/ListAuditEntries", {}, second.id)).body.data as Entry[];
    assertEntry("WorkspaceService/CreateWorkspace", creation, second.id);
  });

  function assertEntry(
    method: string,
    entry: Entry | undefined,
    target: string,
    fields: string[] = entry?.fields ?? [],
  ) {
    assert.ok(entry, method);
    assert.deepEqual(
      [entry.actor, entry.actorId, entry.targetId, entry.address],
      ["AUDIT_ACTOR_PERSON", owner.session.person.id, target, "127.0.0.1"],
      `${method}: ${JSON.stringify(entry)}`,
    );
    assert.deepEqual(entry.fields, fields, method);
    assert.match(entry.action, /^[a-z_]+\.[a-z_]+$/, method);
  }

  it("has no entry for a change that was refused or did not happen", async () => {
    const { key } = await ok("KeyService/CreateKey", { name: "Once", permission: "KEY_PERMISSION_SEND" });
    await ok("KeyService/RevokeKey", { id: key.id });
    const before = (await list()).length;
    await ok("KeyService/RevokeKey", { id: key.id });
    for (const [method, request] of [
      ["KeyService/CreateKey", { name: "", permission: "KEY_PERMISSION_SEND" }],
      ["KeyService/RevokeKey", { id: "key_00000000-0000-7000-8000-000000000001" }],
      ["SuppressionService/RemoveSuppression", { address: "nobody@there.test" }],
      ["SuppressionService/RemoveUnsubscribe", { address: "nobody@there.test", topic: "news" }],
      ["QueueService/ResumeDestination", { destination: "nowhere.test" }],
      ["WorkspaceService/UpdateMember", { memberId: "mem_x", role: "MEMBER_ROLE_OWNER" }],
    ] as const)
      assert.notEqual((await owner.browser.rpc(method, request, owner.workspace)).status, 200, method);
    await ok("SuppressionService/ImportSuppressions", { csv: "address\nother@there.test\n" });
    assert.equal((await list()).length, before);
  });

  it("stores ids only: no name, address of mail, subject or secret", async () => {
    const rows = await database.sql<{ text: string }[]>`select e::text as text from audit_entries e`;
    assert.ok(rows.length > 10);
    for (const { text } of rows) assert.doesNotMatch(text, /@|[Ss]ecret |\.test|ph_|Olga/, text);
    await assert.rejects(async () => await database.sql`update audit_entries set action = 'x.y'`, /never changed/);
  });

  it("names the key that made a change, and shows it to no other workspace", async () => {
    const { key } = await ok("KeyService/CreateKey", { name: "CI", permission: "KEY_PERMISSION_FULL" });
    const secret = (await ok("KeyService/CreateKey", { name: "Other", permission: "KEY_PERMISSION_FULL" })).secret;
    const added = await program.call("SuppressionService/AddSuppression", { address: "k@there.test" }, { key: secret });
    assert.equal(added.status, 200);
    const [entry] = await list({ action: "suppression.added" });
    assert.deepEqual([entry!.actor, entry!.actorName], ["AUDIT_ACTOR_KEY", "Other"]);
    assert.deepEqual(await list({ actorId: entry!.actorId, action: "suppression" }), [entry]);
    assert.deepEqual(
      (await list({ targetId: key.id })).map(({ action }) => action),
      ["key.created"],
    );
    const stranger = await makeWorkspace(database.sql, "Another");
    const theirs = await program.call("AuditService/ListAuditEntries", {}, { key: stranger });
    assert.deepEqual(theirs.body.data ?? [], []);
  });

  it("is read in pages and exported as JSON lines, with the same entries", async () => {
    const all = await list();
    const paged: Entry[] = [];
    for (let pageToken = ""; ; ) {
      const body = await ok("AuditService/ListAuditEntries", { pageSize: 3, pageToken });
      paged.push(...body.data);
      if (!body.nextPageToken) break;
      pageToken = body.nextPageToken;
    }
    assert.deepEqual(paged, all);
    const { jsonLines } = await ok("AuditService/ExportAuditEntries", {});
    const lines = (jsonLines as string)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Entry);
    assert.deepEqual(
      lines.map(({ id, action }) => [id, action]),
      all.map(({ id, action }) => [id, action]),
    );
    const [newest] = all;
    const older = await list({ to: newest!.at });
    assert.ok(older.length > 0 && older.every(({ at }) => Date.parse(at) < Date.parse(newest!.at)));
    assert.deepEqual(await list({ from: new Date(Date.now() + 60_000).toISOString() }), []);
  });

  it("refuses filters that cannot match, and names the field", async () => {
    for (const [field, filter] of [
      ["filter.actorId", { actorId: "Olga" }],
      ["filter.targetId", { targetId: "x" }],
      ["filter.action", { action: "key created" }],
      ["filter.to", { from: "2026-02-01T00:00:00Z", to: "2026-01-01T00:00:00Z" }],
    ] as const) {
      const { body } = await owner.browser.rpc("AuditService/ListAuditEntries", { filter }, owner.workspace);
      assert.equal(body.code, "invalid_argument");
      assert.match(body.message as string, new RegExp(`^${field}: `));
    }
    const { body } = await owner.browser.rpc("AuditService/ListAuditEntries", { pageToken: "x" }, owner.workspace);
    assert.match(body.message as string, /^pageToken: /);
  });

  it("is not for send and read keys", async () => {
    for (const permission of ["SEND", "READ"]) {
      const { secret } = await ok("KeyService/CreateKey", { name: "k", permission: `KEY_PERMISSION_${permission}` });
      const { body } = await program.call("AuditService/ListAuditEntries", {}, { key: secret });
      assert.equal(body.code, "permission_denied");
    }
  });
});
