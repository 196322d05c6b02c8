/** Walks every method of the contract: who may call it, what it says to wrong requests, and that workspaces never see each other. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { KeyPermission } from "../../src/gen/v1/options_pb.ts";
import { connectCall, pathOf } from "../harness/connect-call.ts";
import { allMethods, idPaths, misfits, nameOf, placesOf, policyOf, withText } from "../harness/contract.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { createKey, permissions, twoWorkspaces, type World } from "../harness/workspaces.ts";
import { cases } from "./contract-cases.ts";

const methods = await allMethods();
const onWire = { full: KeyPermission.FULL, send: KeyPermission.SEND, read: KeyPermission.READ };
let database: TestDatabase;
let program: RunningProgram;
let world: World;
/** A key that was one. */
let revoked: { id: string; secret: string };

before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  world = await twoWorkspaces(program, database.sql);
  revoked = await createKey(world.program);
  assert.equal((await world.program.call("KeyService/RevokeKey", { id: revoked.id })).status, 200);
});

after(async () => {
  await program?.remove();
  await database?.drop();
});

it("has a case for every method, and no case for a method that is gone", () => {
  const names = methods.map(nameOf);
  const missing = names.filter((name) => !(name in cases));
  assert.deepEqual(missing, [], "add these methods to test/core/contract-cases.ts");
  const gone = Object.keys(cases).filter((name) => !names.includes(name));
  assert.deepEqual(gone, [], "take these out of test/core/contract-cases.ts");
});

for (const method of methods) {
  const name = nameOf(method);
  const allowed = permissions.filter((permission) => policyOf(method).permissions.includes(onWire[permission]));
  const call = (request: unknown, options: Parameters<typeof connectCall>[3] = {}) =>
    connectCall(world.program.url, method, request, options);
  /** A key that may call the method; for a method that is for people only, its refusal is what there is to see. */
  const ours = () => world.ours[allowed[0] ?? "full"];

  describe(name, () => {
    it("asks for a key, and says the same to every key that is none", async () => {
      const good = world.ours.full;
      const authorizations = {
        missing: undefined,
        empty: "Bearer ",
        "too short": "Bearer ph_1",
        "another scheme": `Basic ${Buffer.from(`${good}:`).toString("base64")}`,
        unknown: "Bearer ph_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "of our own form": `Bearer ${"k".repeat(48)}`,
        "a known prefix with another secret": `Bearer ${good.slice(0, -4)}zzzz`,
        "too long": `Bearer ${good}${"x".repeat(600)}`,
        "with a word after it": `Bearer ${good} x`,
        revoked: `Bearer ${revoked.secret}`,
      };
      const said = new Set<string>();
      for (const [which, authorization] of Object.entries(authorizations)) {
        const answer = await call({}, { headers: { authorization } });
        assert.equal(answer.code, "unauthenticated", which);
        assert.equal(answer.status, method.methodKind === "unary" ? 401 : 200, which);
        said.add(JSON.stringify([answer.body, [...answer.headers.keys()].sort()]));
      }
      assert.equal(said.size, 1, [...said].join("\n"));
    });

    it(`lets in keys with the permission ${allowed.join(", ") || "(none)"} and no other`, async () => {
      for (const permission of permissions) {
        const { code, message } = await call({}, { key: world.ours[permission] });
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

    it("answers under /v1/v1.… as under its own path", async () => {
      const direct = await call({}, { key: ours() });
      const alias = await call({}, { key: ours(), path: `/v1${pathOf(method)}` });
      assert.deepEqual([alias.status, alias.code, alias.message], [direct.status, direct.code, direct.message]);
    });

    it("is called with POST only", async () => {
      const answer = await fetch(world.program.url + pathOf(method), { headers: { "connect-protocol-version": "1" } });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.get("allow"), "POST");
      await answer.text();
    });

    it("names every field that has a wrong type", { skip: allowed.length === 0 && "no key may call it" }, async () => {
      const places = placesOf(method.input);
      for (const misfit of places.flatMap(misfits)) {
        const answer = await call(misfit.request, { key: ours() });
        const what = `${JSON.stringify(misfit.request)}: ${answer.message}`;
        assert.equal(answer.code, "invalid_argument", what);
        assert.deepEqual(
          answer.violations.map((v) => v.field),
          [misfit.path],
          what,
        );
      }
      const top = places.filter(({ path }) => !path.includes("."));
      const all = Object.assign({}, ...top.map((place) => misfits(place)[0]!.request));
      const answer = await call(all, { key: ours() });
      assert.deepEqual(
        answer.violations.map((v) => v.field),
        top.map(({ path }) => path),
        "all at once",
      );
      assert.equal((await call("x", { key: ours() })).code, "invalid_argument", "a request that is no object");
    });

    it("ignores fields it does not know, and takes null for unset", async () => {
      const plain = await call({}, { key: ours() });
      const unknown = { noSuchField: { deep: [1, null] }, "[v1.extension]": 5 };
      const nulls = Object.fromEntries(method.input.fields.map((field) => [field.jsonName, null]));
      const answer = await call({ ...unknown, ...nulls }, { key: ours() });
      // The one error that names them is that of a blank email (test/journeys/sending-blank.test.ts).
      const message = answer.message.replace(/\. The request has unknown fields: .*$/, "");
      assert.deepEqual([answer.code, message], [plain.code, plain.message]);
    });

    it("survives any text in any field", async () => {
      for (const place of placesOf(method.input)) {
        for (const text of ["a\u0000b", "\ud800", "'; --", "\u202e\u2028", "x".repeat(100_000)]) {
          const request = withText(place, text);
          if (!request) continue;
          const { code, message } = await call(request, { key: ours() });
          const what = `${place.path} with ${JSON.stringify(text.slice(0, 10))}: ${code} ${message}`;
          assert.ok(!["internal", "unknown", "unavailable", "none"].includes(code), what);
        }
      }
    });

    const known = cases[name];
    if (!known?.built) {
      it("is not built yet", { skip: allowed.length === 0 && "no key may call it" }, async () => {
        const { code } = await call({}, { key: ours() });
        assert.equal(code, "unimplemented", `${name} is built: give it its cases in test/core/contract-cases.ts`);
      });
      return;
    }

    it("is built, and the contract does not call it planned", async () => {
      assert.notEqual((await call({}, { key: ours() })).code, "unimplemented");
      assert.equal(policyOf(method).planned, false, `take planned from ${name} in proto/v1`);
    });

    it("says not_found to ids of another workspace, and to ids of nothing", async () => {
      const paths = idPaths(method.input);
      assert.deepEqual(Object.keys(known.ids).sort(), paths.sort(), `ids of ${name} in test/core/contract-cases.ts`);
      for (const [path, make] of Object.entries(known.ids)) {
        if (typeof make === "string") continue;
        const request = await make(world);
        const answer = await call(request, { key: ours() });
        assert.equal(answer.code, "not_found", `${path} of another workspace: ${answer.message}`);
        // The same request by the owner of the id, or the test would pass for any nonsense.
        const owner = await call(request, { key: world.theirs[allowed[0]!] });
        assert.notEqual(owner.code, "not_found", `${path} of its own workspace: ${owner.message}`);
        for (const id of ["nonsense", "key_", "00000000-0000-0000-0000-000000000000", "em_\u0000"]) {
          const nothing = await call(replaceAt(request, path, id), { key: ours() });
          assert.equal(nothing.code, "not_found", `${path} = ${JSON.stringify(id)}: ${nothing.message}`);
        }
      }
    });
  });
}

/** The same request with another text at `a.b[].c`. */
function replaceAt(request: Record<string, unknown>, path: string, text: string): Record<string, unknown> {
  const copy = structuredClone(request);
  const steps = path.split(/\.|(?=\[\])/);
  let at: Record<string, unknown> = copy;
  for (const step of steps.slice(0, -1)) at = at[step === "[]" ? "0" : step] as Record<string, unknown>;
  at[steps.at(-1) === "[]" ? "0" : steps.at(-1)!] = text;
  return copy;
}
