import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../http/caller.ts";
import { Problem } from "../ops/problem.ts";
import { createLogins } from "./logins.ts";

const client = { ip: "192.0.2.1", helo: "x", tls: undefined };
const caller: Caller = { workspaceId: "w", keyId: "k", permission: "send", test: false };

/** Stands in for the keys of a database: one key is valid. */
function logins(found: Partial<Caller> = {}) {
  let checked = 0;
  const made = createLogins({
    refusalMs: 0,
    authenticator: {
      async authenticate(authorization) {
        checked += 1;
        if (authorization !== "Bearer ph_right_key") throw new Problem("unauthenticated", "no");
        return { ...caller, ...found };
      },
    },
  });
  return { ...made, checked: () => checked };
}

const right = { user: "posthorn", password: "ph_right_key" };

test("a key that may send logs in, and every other login gets the same reply", async () => {
  assert.deepEqual(await logins().logIn(right, client), caller);
  assert.deepEqual(await logins({ permission: "full" }).logIn(right, client), { ...caller, permission: "full" });
  const scoped = { permission: "scoped" as const, limits: { scopes: ["send" as const] } };
  assert.ok("workspaceId" in (await logins(scoped).logIn(right, client)));
  const refusals = await Promise.all([
    logins().logIn({ ...right, user: "root" }, client),
    logins().logIn({ ...right, password: "ph_wrong_key" }, client),
    logins({ permission: "read" }).logIn(right, client),
    logins({ permission: "scoped", limits: { scopes: ["stats"] } }).logIn(right, client),
  ]);
  for (const refusal of refusals) assert.deepEqual(refusal, refusals[0]);
  assert.match((refusals[0] as { reply: string }).reply, /^535 5\.7\.8 .*the user name is posthorn/);
});

test("guessing is limited, and other keys of the same client still log in", async () => {
  const { logIn, checked } = logins();
  const replies = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const answer = await logIn({ user: "posthorn", password: `ph_guessed_key_${i}` }, client);
    replies.add((answer as { reply: string }).reply.slice(0, 3));
  }
  assert.deepEqual([...replies], ["535", "454"]);
  assert.equal(checked(), 8);
  assert.deepEqual(await logIn(right, client), caller);
});

test("many sessions of a pool log in at once", async () => {
  const { logIn } = logins();
  const answers = await Promise.all(Array.from({ length: 60 }, () => logIn(right, client)));
  for (const answer of answers) assert.deepEqual(answer, caller);
});

test("guesses from an address do not shut out a key that has logged in before", async () => {
  const { logIn } = logins();
  await logIn(right, client);
  const guess = (i: number) => logIn({ user: "posthorn", password: `ph_${i}_guessed_key` }, client);
  for (let i = 0; i < 60; i++) await guess(i);
  assert.match(((await guess(60)) as { reply: string }).reply, /^454/);
  assert.deepEqual(await logIn(right, client), caller);
});

test("a key that was revoked after a login gets the refusal of other wrong keys, and counts", async () => {
  let isRevoked = false;
  const { logIn } = createLogins({
    refusalMs: 0,
    authenticator: {
      async authenticate() {
        if (isRevoked) throw new Problem("unauthenticated", "no");
        return caller;
      },
    },
  });
  await logIn(right, client);
  isRevoked = true;
  assert.match(((await logIn(right, client)) as { reply: string }).reply, /^535/);
});

test("a fault of the database is not a wrong password", async () => {
  const { logIn } = createLogins({
    refusalMs: 0,
    authenticator: { authenticate: () => Promise.reject(new Error("away")) },
  });
  for (let i = 0; i < 10; i++) await assert.rejects(logIn(right, client), /away/);
});
