/** Passkeys over HTTP, with a passkey in software that also answers what no browser would: for other sites, without verification, twice. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makePasskey, type Overrides } from "../harness/authenticator.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, openBrowser, password, signUpFirst } from "../harness/people.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";
import { passServiceTime } from "../harness/time.ts";

const email = "owner@there.test";

describe("passkeys", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: Browser;
  let origin: string;
  let passkey: ReturnType<typeof makePasskey>;
  before(async () => {
    database = await createTestDatabase();
    program = await startProgram({ databaseUrl: database.url });
    owner = (await signUpFirst(program)).browser;
    origin = program.url.replace("127.0.0.1", "localhost");
    passkey = makePasskey(origin);
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  const optionsFor = async (browser: Browser, purpose: string) =>
    (await browser.post("/auth/passkey-options", { purpose })).body;

  async function add(overrides: Overrides = {}, one = passkey, name = "Laptop"): Promise<Answer> {
    const credential = one.create(await optionsFor(owner, "add"), overrides);
    return await owner.post("/auth/add-passkey", { name, credential });
  }

  async function signIn(overrides: Overrides = {}): Promise<{ browser: Browser; answer: Answer; credential: object }> {
    const browser = openBrowser(program);
    const credential = passkey.get(await optionsFor(browser, "sign_in"), overrides);
    return { browser, credential, answer: await browser.post("/auth/passkey-sign-in", { credential }) };
  }

  it("belong to localhost on a loopback address, and the page learns where to use them", async () => {
    assert.equal((await owner.get("/auth/state")).body.passkeyOrigin, origin);
    assert.equal((await optionsFor(owner, "anything")).code, "invalid_argument");
    const options = await optionsFor(owner, "add");
    assert.deepEqual((options.rp as { id: string }).id, "localhost");
    assert.deepEqual(options.authenticatorSelection, {
      residentKey: "required",
      requireResidentKey: true,
      userVerification: "required",
    });
  });

  const wrong: Record<string, Overrides> = {
    "of another site": { rpId: "evil.example" },
    "from a page of another site": { origin: "https://evil.example" },
    "from the IP address": { origin: "http://127.0.0.1:8825" },
    "without user verification": { isVerified: false },
    "with an attestation, whose certificate could name a URL to fetch": { fmt: "packed" },
  };
  for (const [name, overrides] of Object.entries(wrong))
    it(`are not added ${name}`, async () => {
      const { status, body } = await add(overrides);
      assert.deepEqual([status, body.code], [401, "unauthenticated"]);
      assert.match(String(body.message), /^This passkey was not accepted/);
      assert.equal((await database.sql`select 1 from people_passkeys`).length, 0);
    });

  it("are not added with a challenge of another session or another purpose", async () => {
    const other = openBrowser(program);
    await other.post("/auth/sign-in", { email, password });
    for (const options of [
      await optionsFor(other, "add"),
      await optionsFor(owner, "confirm"),
      await optionsFor(owner, "sign_in"),
    ]) {
      const credential = passkey.create({ ...options, rp: { id: "localhost" } });
      assert.equal((await owner.post("/auth/add-passkey", { name: "x", credential })).status, 401);
    }
    for (const credential of [undefined, null, 5, "x", {}, { id: "x", response: {} }, { id: 5, response: [] }])
      assert.equal((await owner.post("/auth/add-passkey", { name: "x", credential })).status, 401);
  });

  it("are added with a name, give recovery codes, and make the session one with a second factor", async () => {
    assert.equal((await add({}, passkey, " ")).body.code, "invalid_argument");
    const { status, body } = await add();
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((body.recoveryCodes as string[]).length, 10);
    assert.equal((await add()).body.code, "already_exists");
    const found = (await owner.get("/auth/factors")).body;
    assert.deepEqual([(found.passkeys as { name: string }[])[0]?.name, found.hasSecondFactor], ["Laptop", true]);
    assert.deepEqual(found.confirm, { password: true, code: true, passkey: true, providers: [], signIn: false });
  });

  it("sign in without a password", async () => {
    const { browser, answer } = await signIn();
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((answer.body.person as { email: string }).email, email);
    assert.equal((await browser.get("/auth/factors")).body.hasSecondFactor, true);
    const listed = (await browser.get("/auth/sessions")).body.sessions as { isCurrent: boolean; signedInBy: string }[];
    assert.equal(listed.find(({ isCurrent }) => isCurrent)?.signedInBy, "passkey");
  });

  for (const [name, overrides] of Object.entries(wrong).slice(0, 4))
    it(`do not sign in ${name}`, async () => {
      const { browser, answer } = await signIn(overrides);
      assert.equal(answer.status, 401);
      assert.equal((await browser.get("/auth/state")).body.person, null);
    });

  it("do not sign in with a counter that goes back, which hints at a copy", async () => {
    assert.equal((await signIn({ counter: 100 })).answer.status, 200);
    for (const counter of [99, 100, 0]) assert.equal((await signIn({ counter })).answer.status, 401, String(counter));
    assert.equal((await signIn({ counter: 101 })).answer.status, 200);
  });

  it("do not sign in with an answer that was used, even if the counter grew, or that is older than five minutes", async () => {
    const browser = openBrowser(program);
    const options = await optionsFor(browser, "sign_in");
    const send = async (credential: object) => (await browser.post("/auth/passkey-sign-in", { credential })).status;
    assert.equal(await send(passkey.get(options, { counter: 200 })), 200);
    assert.equal(await send(passkey.get(options, { counter: 201 })), 401);
    const old = await optionsFor(browser, "sign_in");
    await passServiceTime(database.sql, "5 minutes 1 second");
    assert.equal(await send(passkey.get(old, { counter: 202 })), 401);
    const reasons = await database.sql<{ reason: string }[]>`
      select distinct reason from audit_entries where action = 'sign_in.refused'`;
    assert.deepEqual(reasons.map(({ reason }) => reason).sort(), ["reused_passkey", "wrong_passkey"]);
  });

  it("are the second step after a password, bound to that sign-in and that person", async () => {
    const browser = openBrowser(program);
    const first = await browser.post("/auth/sign-in", { email, password });
    assert.deepEqual(first.body, { secondFactor: { methods: ["passkey", "recovery"] } });
    const other = openBrowser(program);
    await other.post("/auth/sign-in", { email, password });
    const options = await optionsFor(browser, "second_factor");
    assert.equal((options.allowCredentials as object[]).length, 1);
    const credential = passkey.get(options, { counter: 300 });
    assert.equal((await other.post("/auth/second-factor", { credential })).status, 401, "another sign-in");
    assert.equal((await browser.post("/auth/second-factor", { credential })).status, 200);
  });

  it("confirm alone who the person is", async () => {
    await passServiceTime(database.sql, "16 minutes");
    const refused = await owner.post("/auth/passkey-options", { purpose: "add" });
    assert.equal(refused.body.reason, "FRESH_AUTHENTICATION_REQUIRED");
    const credential = passkey.get(await optionsFor(owner, "confirm"), { counter: 400 });
    assert.equal((await owner.post("/auth/confirm", { credential })).status, 200);
    assert.equal((await owner.post("/auth/confirm", { credential })).status, 401);
    assert.ok((await owner.post("/auth/passkey-options", { purpose: "add" })).body.challenge);
  });

  it("are at most ten, are renamed, and are removed", async () => {
    for (let i = 2; i <= 10; i++) assert.equal((await add({}, makePasskey(origin), `Key ${i}`)).status, 200);
    assert.equal((await add({}, makePasskey(origin), "Key 11")).body.code, "resource_exhausted");
    const ids = ((await owner.get("/auth/factors")).body.passkeys as { id: string }[]).map(({ id }) => id);
    assert.equal((await owner.post("/auth/rename-passkey", { id: ids[0], name: "Phone" })).status, 200);
    const stranger = openBrowser(program);
    assert.equal((await stranger.post("/auth/remove-passkey", { id: ids[0] })).status, 401);
    for (const id of ids) assert.equal((await owner.post("/auth/remove-passkey", { id })).status, 200);
    assert.equal((await owner.post("/auth/remove-passkey", { id: ids[0] })).status, 404);
    const gone = (await owner.get("/auth/factors")).body;
    assert.deepEqual([gone.passkeys, gone.recoveryCodes, gone.hasSecondFactor], [[], 0, false]);
    assert.equal((await signIn({ counter: 500 })).answer.status, 401);
  });
});
