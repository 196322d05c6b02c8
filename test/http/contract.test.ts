/** Tests every method of the contract: who may call it, its errors for wrong requests, and the isolation of workspaces. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KeyPermission } from "../../src/gen/v1/options_pb.ts";
import { connectCall, pathOf } from "../harness/connect-call.ts";
import {
  allMethods,
  idPaths,
  nameOf,
  policyOf,
  requestFields,
  withText,
  wrongTypeRequests,
} from "../harness/contract.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { createKey, permissions, type TwoWorkspaces, twoWorkspaces } from "../harness/workspaces.ts";
import { cases } from "./contract-cases.ts";

const methods = await allMethods();
const onWire = { full: KeyPermission.FULL, send: KeyPermission.SEND, read: KeyPermission.READ };
let database: TestDatabase;
let program: RunningProgram;
let workspaces: TwoWorkspaces;
/** A revoked key. */
let revoked: { id: string; secret: string };

before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  workspaces = await twoWorkspaces(program, database.sql);
  revoked = await createKey(workspaces.program);
  assert.equal((await workspaces.program.call("KeyService/RevokeKey", { id: revoked.id })).status, 200);
});

after(async () => {
  await program?.remove();
  await database?.drop();
});

it("there is a case for every method, and none for a removed method", () => {
  const names = methods.map(nameOf);
  const missing = names.filter((name) => !(name in cases));
  assert.deepEqual(missing, [], "add these methods to test/http/contract-cases.ts");
  const gone = Object.keys(cases).filter((name) => !names.includes(name));
  assert.deepEqual(gone, [], "remove these methods from test/http/contract-cases.ts");
});

for (const method of methods) {
  const name = nameOf(method);
  const allowed = permissions.filter((permission) => policyOf(method).permissions.includes(onWire[permission]));
  const call = (request: unknown, options: Parameters<typeof connectCall>[3] = {}) =>
    connectCall(workspaces.program.url, method, request, options);
  /** A key that may call the method. For a method that only people may call, the test sees its rejection. */
  const ours = () => workspaces.ours[allowed[0] ?? "full"];

  describe(name, () => {
    it("needs a key, and gives the same response to every invalid key", async () => {
      const good = workspaces.ours.full;
      const authorizations = {
        missing: undefined,
        empty: "Bearer ",
        "too short": "Bearer ph_1",
        "another scheme": `Basic ${Buffer.from(`${good}:`).toString("base64")}`,
        unknown: "Bearer ph_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "in the form of a key that an operator chose": `Bearer ${"k".repeat(48)}`,
        "a known prefix with another secret": `Bearer ${good.slice(0, -4)}zzzz`,
        "too long": `Bearer ${good}${"x".repeat(600)}`,
        "with a word after it": `Bearer ${good} x`,
        revoked: `Bearer ${revoked.secret}`,
      };
      const responses = new Set<string>();
      for (const [name, authorization] of Object.entries(authorizations)) {
        const answer = await call({}, { headers: { authorization } });
        assert.equal(answer.code, "unauthenticated", name);
        assert.equal(answer.status, method.methodKind === "unary" ? 401 : 200, name);
        responses.add(JSON.stringify([answer.body, [...answer.headers.keys()].sort()]));
      }
      assert.equal(responses.size, 1, [...responses].join("\n"));
    });

    it(`accepts only keys with the permission ${allowed.join(", ") || "(none)"}`, async () => {
      for (const permission of permissions) {
        const { code, message } = await call({}, { key: workspaces.ours[permission] });
        if (allowed.includes(permission)) assert.notEqual(code, "permission_denied", `${permission}: ${message}`);
        else assert.equal(code, "permission_denied", `${permission}: ${message}`);
      }
    });

    it("needs Connect-Protocol-Version: 1", async () => {
      for (const version of [undefined, "2", "", "1.0", "one"]) {
        const answer = await call({}, { key: ours(), headers: { "connect-protocol-version": version } });
        assert.equal(answer.code, "invalid_argument", `version ${version}`);
        assert.equal(answer.status, method.methodKind === "unary" ? 400 : 200);
        assert.deepEqual(
          answer.violations.map((v) => v.field),
          ["Connect-Protocol-Version"],
        );
      }
    });

    it("gives the same response under /v1/v1.… as under its own path", async () => {
      const direct = await call({}, { key: ours() });
      const alias = await call({}, { key: ours(), path: `/v1${pathOf(method)}` });
      assert.deepEqual([alias.status, alias.code, alias.message], [direct.status, direct.code, direct.message]);
    });

    it("accepts only POST", async () => {
      const answer = await fetch(workspaces.program.url + pathOf(method), {
        headers: { "connect-protocol-version": "1" },
      });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.get("allow"), "POST");
      await answer.text();
    });

    it("names every field that has a wrong type", { skip: allowed.length === 0 && "no key may call it" }, async () => {
      const fields = requestFields(method.input);
      for (const wrong of fields.flatMap(wrongTypeRequests)) {
        const answer = await call(wrong.request, { key: ours() });
        const what = `${JSON.stringify(wrong.request)}: ${answer.message}`;
        assert.equal(answer.code, "invalid_argument", what);
        assert.deepEqual(
          answer.violations.map((v) => v.field),
          [wrong.path],
          what,
        );
      }
      const top = fields.filter(({ path }) => !path.includes("."));
      const all = Object.assign({}, ...top.map((field) => wrongTypeRequests(field)[0]!.request));
      const answer = await call(all, { key: ours() });
      assert.deepEqual(
        answer.violations.map((v) => v.field),
        top.map(({ path }) => path),
        "all at once",
      );
      assert.equal((await call("x", { key: ours() })).code, "invalid_argument", "a request that is not an object");
    });

    it("ignores unknown fields and treats null as unset", async () => {
      const plain = await call({}, { key: ours() });
      const unknown = { noSuchField: { deep: [1, null] }, "[v1.extension]": 5 };
      const nulls = Object.fromEntries(method.input.fields.map((field) => [field.jsonName, null]));
      const answer = await call({ ...unknown, ...nulls }, { key: ours() });
      // Only the error for a blank email names unknown fields (test/emails/blank.test.ts).
      const message = answer.message.replace(/\. The request has unknown fields: .*$/, "");
      assert.deepEqual([answer.code, message], [plain.code, plain.message]);
    });

    it("handles any text in any field", async () => {
      for (const field of requestFields(method.input)) {
        for (const text of ["a\u0000b", "\ud800", "'; --", "\u202e\u2028", "x".repeat(100_000)]) {
          const request = withText(field, text);
          if (!request) continue;
          const { code, message } = await call(request, { key: ours() });
          const what = `${field.path} with ${JSON.stringify(text.slice(0, 10))}: ${code} ${message}`;
          assert.ok(!["internal", "unknown", "unavailable", "none"].includes(code), what);
        }
      }
    });

    const known = cases[name];
    if (!known?.built) {
      it("is not built yet", { skip: allowed.length === 0 && "no key may call it" }, async () => {
        const { code } = await call({}, { key: ours() });
        assert.equal(code, "unimplemented", `${name} is built: add its cases to test/http/contract-cases.ts`);
      });
      return;
    }

    it("is built and not marked as planned in the contract", async () => {
      assert.notEqual((await call({}, { key: ours() })).code, "unimplemented");
      assert.equal(policyOf(method).planned, false, `remove planned from ${name} in proto/v1`);
    });

    it("returns not_found for ids of another workspace and for unknown ids", async () => {
      const paths = idPaths(method.input);
      assert.deepEqual(Object.keys(known.ids).sort(), paths.sort(), `ids of ${name} in test/http/contract-cases.ts`);
      for (const [path, make] of Object.entries(known.ids)) {
        if (typeof make === "string") continue;
        const request = await make(workspaces);
        const answer = await call(request, { key: ours() });
        assert.equal(answer.code, "not_found", `${path} of another workspace: ${answer.message}`);
        // The owner of the id makes the same request, because otherwise any invalid request would pass.
        const owner = await call(request, { key: workspaces.theirs[allowed[0]!] });
        assert.notEqual(owner.code, "not_found", `${path} of its own workspace: ${owner.message}`);
        for (const id of ["nonsense", "key_", "00000000-0000-0000-0000-000000000000", "em_\u0000"]) {
          const nothing = await call(replaceAt(request, path, id), { key: ours() });
          assert.equal(nothing.code, "not_found", `${path} = ${JSON.stringify(id)}: ${nothing.message}`);
        }
      }
    });
  });
}

/** The same request with another text at a path like `a.b[].c`. */
function replaceAt(request: Record<string, unknown>, path: string, text: string): Record<string, unknown> {
  const copy = structuredClone(request);
  const steps = path.split(/\.|(?=\[\])/);
  let at: Record<string, unknown> = copy;
  for (const step of steps.slice(0, -1)) at = at[step === "[]" ? "0" : step] as Record<string, unknown>;
  at[steps.at(-1) === "[]" ? "0" : steps.at(-1)!] = text;
  return copy;
}
