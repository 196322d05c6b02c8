// Checks the contract where no lint rule does: who may call which method, and the form of lists and numbers in JSON.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ScalarType } from "@bufbuild/protobuf";
import { readContract } from "./descriptors.ts";

const contract = await readContract();
const methods = contract.services.flatMap((service) => service.methods);
const policyOf = new Map(methods.map((method) => [`${method.parent.name}.${method.name}`, contract.policy(method)]));
const allowing = (permission: string) =>
  [...policyOf].filter(([, policy]) => policy.permissions.includes(permission)).map(([name]) => name);

// A developer may create keys: a key that could manage members would give every developer the rights of an owner. A private key must not
// leave by a key that leaked.
test("only methods that manage workspaces and members, the export of private keys, and those of operators, are closed to every key", () => {
  const closed = [...policyOf].filter(
    ([, policy]) => !policy.permissions.includes("KEY_PERMISSION_FULL") && !policy.operatorOnly,
  );
  const names = [
    "DomainService.ExportDkimKey",
    "WorkspaceService.CreateWorkspace",
    "WorkspaceService.UpdateWorkspace",
    "WorkspaceService.InviteMember",
    "WorkspaceService.UpdateMember",
    "WorkspaceService.ListMemberKeys",
    "WorkspaceService.RemoveMember",
  ];
  assert.deepEqual(
    closed.map(([name]) => name),
    names,
  );
});

test("every method of OperatorService, and no other, is for operators only", () => {
  for (const [name, { operatorOnly, permissions }] of policyOf) {
    assert.equal(operatorOnly, name.startsWith("OperatorService."), name);
    if (operatorOnly) assert.deepEqual(permissions, [], name);
  }
});

test("a send key can send and read emails, and nothing else", () => {
  assert.deepEqual(allowing("KEY_PERMISSION_SEND"), [
    "EmailService.SendEmail",
    "EmailService.GetEmail",
    "EmailService.SendEmailBatch",
  ]);
});

test("a read key can call every reading method except those that return message content and the audit log", () => {
  const reads = methods
    .map((method) => `${method.parent.name}.${method.name}`)
    .filter((name) => /\.(Get|List|Stream|Export|Count)/.test(name))
    .filter((name) => !policyOf.get(name)!.operatorOnly)
    .filter((name) => name !== "WorkspaceService.ListMemberKeys" && name !== "DomainService.ExportDkimKey")
    .filter((name) => !/\.(GetEmailContent|GetInbound\w*)$|^AuditService\./.test(name));
  assert.deepEqual(allowing("KEY_PERMISSION_READ"), reads);
});

test("every method that a key may call has a scope, and each service has its own", () => {
  const scopeOf: Record<string, string[]> = {
    AuditService: ["AUDIT"],
    DeliverabilityService: ["DOMAINS"],
    DomainService: ["DOMAINS"],
    InboundService: ["INBOUND"],
    KeyService: ["MANAGE"],
    QueueService: ["MANAGE"],
    ReportService: ["DOMAINS"],
    StatsService: ["STATS"],
    SuppressionService: ["SUPPRESSIONS"],
    WebhookService: ["WEBHOOKS"],
    WorkspaceService: ["MANAGE"],
    "EmailService.SendEmail": ["SEND"],
    "EmailService.SendEmailBatch": ["SEND"],
    "EmailService.GetEmail": ["SEND", "EMAILS"],
    "EmailService.ListEmails": ["EMAILS"],
    "EmailService.CountEmails": ["EMAILS"],
    "EmailService.ExportEmails": ["EMAILS"],
    "EmailService.CancelEmail": ["EMAILS"],
    "EmailService.UpdateEmail": ["EMAILS"],
    "EmailService.GetEmailContent": ["EMAILS"],
    "EmailService.ListEvents": ["EVENTS"],
    "EmailService.StreamEvents": ["EVENTS"],
  };
  for (const [name, { permissions, scopes }] of policyOf) {
    const expected = permissions.length === 0 ? [] : (scopeOf[name] ?? scopeOf[name.split(".")[0]!]);
    assert.deepEqual(
      scopes,
      expected?.map((scope) => `KEY_SCOPE_${scope}`),
      name,
    );
  }
});

test("lists are paged by token, except domains and events", () => {
  for (const method of methods.filter(({ name }) => name.startsWith("List"))) {
    const request = method.input.fields.map((field) => field.jsonName);
    const response = method.output.fields.map((field) => field.jsonName);
    assert.ok(request.includes("pageSize") && response.includes("data"), method.name);
    if (method.name === "ListDomains" || method.name === "ListEvents") continue;
    assert.ok(request.includes("pageToken") && response.includes("nextPageToken"), method.name);
  }
});

test("no field has 64 bits, which protobuf would write as a string in JSON", () => {
  const wide = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64];
  for (const type of contract.types) {
    for (const field of type.kind === "message" ? type.fields : []) {
      assert.ok(field.scalar === undefined || !wide.includes(field.scalar), field.toString());
    }
  }
});
