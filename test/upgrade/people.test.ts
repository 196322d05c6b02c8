/** People, sessions and keys of the last release with better-auth go on working: on the new program, and on both during an upgrade. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { checkOut, type OlderCheckout } from "../harness/older-checkout.ts";
import { type Browser, openBrowser, password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

const olderCommit = "62674455d265fe32c2ec12e3ff2d66be236f81ff";
const checkoutOrReason = await checkOut(olderCommit);
const skip = typeof checkoutOrReason === "string" ? checkoutOrReason : false;
after(async () => {
  if (typeof checkoutOrReason !== "string") await checkoutOrReason.remove();
});

describe("people of an older release", { skip }, () => {
  const email = "owner@there.test";
  let database: TestDatabase;
  let older: RunningProgram;
  let newer: RunningProgram;
  let workspace: string;
  let session: Map<string, string>;
  before(async () => {
    database = await createTestDatabase();
    older = await startProgram({ databaseUrl: database.url, checkout: checkoutOrReason as OlderCheckout });
    const first = await signUpFirst(older, email);
    workspace = first.workspace;
    session = first.browser.cookies;
    newer = await startProgram({ databaseUrl: database.url });
  });
  after(async () => {
    await newer?.stop();
    await older?.stop();
    await database?.drop();
  });

  /** A browser at another node, with the same cookies. */
  function at(node: RunningProgram, cookies: Map<string, string>): Browser {
    const browser = openBrowser(node);
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    return browser;
  }
  const reads = async (browser: Browser) => (await browser.rpc("KeyService/ListKeys", {}, workspace)).status;

  it("keep their sessions on the new program, and get the same cookies from both", async () => {
    assert.equal(await reads(at(newer, session)), 200);
    const signedIn = openBrowser(newer);
    assert.equal((await signedIn.post("/auth/sign-in", { email, password })).status, 200);
    assert.deepEqual([...signedIn.cookies.keys()], [...session.keys()]);
    assert.equal(await reads(at(older, signedIn.cookies)), 200, "the older program takes a session of the new one");
    await signedIn.post("/auth/sign-out");
    assert.equal(await reads(at(older, session)), 200, "other sessions go on");
  });

  it("change their password on one program and sign in on the other", async () => {
    const next = `${password} two`;
    const browser = at(newer, session);
    const changed = await browser.post("/auth/change-password", { currentPassword: password, newPassword: next });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    for (const node of [older, newer]) {
      assert.equal((await openBrowser(node).post("/auth/sign-in", { email, password: next })).status, 200);
      assert.equal((await openBrowser(node).post("/auth/sign-in", { email, password })).status, 401);
    }
  });

  it("keep their keys", async () => {
    assert.equal((await newer.call("KeyService/ListKeys", {}, { key: older.key })).status, 200);
  });
});
