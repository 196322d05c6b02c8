import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { makeToken } from "../../ops/one-time-token.ts";
import { deleteExpired } from "../store.ts";
import { addFlow, type Flow, takeFlow } from "./oidc-flows.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => await database.drop());

const flow: Flow = {
  provider: "test",
  issuer: "https://login.example",
  nonce: "nonce",
  codeVerifier: "verifier",
  redirectUri: "https://mail.example/auth/oidc/callback",
  returnPath: "/",
  sessionId: null,
  confirmSessionId: null,
  inviteHash: null,
};

async function started() {
  const key = { state: makeToken(), browser: makeToken() };
  await addFlow(database.sql, key, flow);
  return key;
}

test("a flow is taken once, in its own browser, and its row holds neither the state nor the cookie", async () => {
  const { sql } = database;
  const key = await started();
  const [row] = await sql<{ text: string }[]>`select f::text as text from oidc_flows f`;
  assert.ok(!row!.text.includes(key.state) && !row!.text.includes(key.browser));
  assert.equal(await takeFlow(sql, { ...key, browser: makeToken() }), undefined);
  assert.equal(await takeFlow(sql, { ...key, state: makeToken() }), undefined);
  const taken = await Promise.all([takeFlow(sql, key), takeFlow(sql, key), takeFlow(sql, key)]);
  assert.deepEqual(
    taken.filter((one) => one !== undefined),
    [flow],
  );
});

test("a flow ends after ten minutes of wall time or of service time, and is deleted after both", async () => {
  const { sql } = database;
  const first = await started();
  await shiftWallTime(sql, "601 seconds");
  assert.equal(await takeFlow(sql, first), undefined);
  await deleteExpired(sql);
  await shiftWallTime(sql, "0 seconds");
  assert.deepEqual(await takeFlow(sql, first), flow, "the clock is right again");
  const second = await started();
  await passServiceTime(sql, "601 seconds");
  assert.equal(await takeFlow(sql, second), undefined);
  await shiftWallTime(sql, "601 seconds");
  await deleteExpired(sql);
  assert.equal((await sql`select 1 from oidc_flows`).length, 0);
});
