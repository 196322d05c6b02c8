// Holds the contract to the promises that no lint rule knows: who may call what, and how lists and numbers look in JSON.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ScalarType } from "@bufbuild/protobuf";
import { readContract } from "./descriptors.ts";

const contract = await readContract();
const methods = contract.services.flatMap((service) => service.methods);
const policyOf = new Map(methods.map((method) => [`${method.parent.name}.${method.name}`, contract.policy(method)]));
const allowing = (permission: string) =>
  [...policyOf].filter(([, policy]) => policy.permissions.includes(permission)).map(([name]) => name);

// A developer may make keys: one that could touch members would make every developer an owner.
test("only workspaces and their members are closed to every key", () => {
  const closed = [...policyOf].filter(([, policy]) => !policy.permissions.includes("KEY_PERMISSION_FULL"));
  assert.deepEqual(
    closed.map(([name]) => name),
    ["CreateWorkspace", "UpdateWorkspace", "InviteMember", "UpdateMember", "RemoveMember"].map(
      (name) => `WorkspaceService.${name}`,
    ),
  );
});

test("a send key sends and reads what it sent, and nothing else", () => {
  assert.deepEqual(allowing("KEY_PERMISSION_SEND"), [
    "EmailService.SendEmail",
    "EmailService.GetEmail",
    "EmailService.SendEmailBatch",
  ]);
});

test("a read key calls what reads, and nothing that writes or shows a message's content", () => {
  const reads = methods
    .map((method) => `${method.parent.name}.${method.name}`)
    .filter((name) => /\.(Get|List|Stream|Export)/.test(name))
    .filter((name) => !/\.(GetEmailContent|GetInbound\w*)$/.test(name));
  assert.deepEqual(allowing("KEY_PERMISSION_READ"), reads);
});

test("a list is paged by token, but for domains and events, whose paging the interface or the cursor gives", () => {
  for (const method of methods.filter(({ name }) => name.startsWith("List"))) {
    const asked = method.input.fields.map((field) => field.jsonName);
    const answered = method.output.fields.map((field) => field.jsonName);
    assert.ok(asked.includes("pageSize") && answered.includes("data"), method.name);
    if (method.name === "ListDomains" || method.name === "ListEvents") continue;
    assert.ok(asked.includes("pageToken") && answered.includes("nextPageToken"), method.name);
  }
});

test("numbers are numbers in JSON: no field has 64 bits, which protobuf writes as a string", () => {
  const wide = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64];
  for (const type of contract.types) {
    for (const field of type.kind === "message" ? type.fields : []) {
      assert.ok(field.scalar === undefined || !wide.includes(field.scalar), field.toString());
    }
  }
});
