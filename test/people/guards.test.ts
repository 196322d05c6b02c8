/** Attacks on sessions and sign-in: cross-site requests, planted cookies, password guessing, account enumeration. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, joinAs, openBrowser, password, signUpFirst } from "../harness/people.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

describe("sessions and sign-in", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  before(async () => {
    database = await createTestDatabase();
    program = await startProgram({
      databaseUrl: database.url,
      env: { POSTHORN_TRUSTED_PROXIES: "127.0.0.1/32", POSTHORN_CORS_ORIGINS: "https://other.example" },
    });
    owner = await signUpFirst(program);
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  const foreign: Record<string, Record<string, string>> = {
    "another site": { origin: "https://evil.example" },
    "an origin that is allowed to use keys": { origin: "https://other.example" },
    "another port of this machine": { origin: "http://127.0.0.1:1" },
    "a sandboxed frame": { origin: "null" },
    "a page of the same site but another origin": { "sec-fetch-site": "same-site" },
    "another site, according to Sec-Fetch-Site": { "sec-fetch-site": "cross-site" },
    "a client without an Origin header": { origin: "" },
  };

  for (const [sender, headers] of Object.entries(foreign)) {
    it(`a request by ${sender} with the person's cookie is rejected`, async () => {
      const request = { name: "forged", permission: "KEY_PERMISSION_FULL" };
      const rpc = await owner.browser.rpc("KeyService/CreateKey", request, owner.workspace, headers);
      assert.equal(rpc.body.code, "permission_denied");
      const throughConnect = { ...headers, "content-encoding": "identity" };
      const long = await owner.browser.rpc("KeyService/CreateKey", request, owner.workspace, throughConnect);
      assert.equal(long.body.code, "permission_denied");
      for (const path of ["sign-out", "sign-in", "sign-up", "change-password", "accept-invitation"]) {
        const { status, body } = await owner.browser.post(`/auth/${path}`, {}, headers);
        assert.deepEqual([status, body.code], [403, "permission_denied"], path);
      }
      assert.notEqual((await owner.browser.get("/auth/state")).body.person, null, "still signed in");
      const names = await database.sql`select 1 from keys where name = 'forged'`;
      assert.equal(names.length, 0);
    });
  }

  it("Sec-Fetch-Site: same-origin is accepted without an Origin header", async () => {
    const headers = { origin: "", "sec-fetch-site": "same-origin" };
    for (const more of [{}, { "content-encoding": "identity" }] as Record<string, string>[]) {
      const extra = { ...headers, ...more };
      assert.equal((await owner.browser.rpc("KeyService/ListKeys", {}, owner.workspace, extra)).status, 200);
    }
  });

  it("/auth rejects form bodies, invalid JSON and wrong HTTP methods", async () => {
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) {
      const { status } = await owner.browser.post("/auth/sign-out", "{}", { "content-type": type });
      assert.equal(status, 400, type);
    }
    for (const body of ["", "[]", "5", "{", '"x"', "x".repeat(20_000)])
      assert.ok((await owner.browser.post("/auth/sign-in", body)).status >= 400);
    const read = await fetch(`${program.url}/auth/sign-in`);
    assert.deepEqual([read.status, read.headers.get("allow")], [405, "POST"]);
    await read.text();
    const odd = await owner.browser.post("/auth/sign-in", { email: ["a"], password: { $ne: "" } });
    assert.equal(odd.status, 401);
  });

  it("a key takes precedence over a cookie, so a wrong key is rejected despite a valid cookie", async () => {
    const headers = { authorization: "Bearer ph_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
    const { body } = await owner.browser.rpc("KeyService/ListKeys", {}, owner.workspace, headers);
    assert.equal(body.code, "unauthenticated");
  });

  it("a planted cookie never becomes a session: signing in creates a new one and ends the previous one", async () => {
    const name = "posthorn.session_token";
    const victim = openBrowser(program);
    victim.cookies.set(name, `planted.${"A".repeat(43)}%3D`);
    await victim.post("/auth/sign-in", { email: "owner@there.test", password });
    const first = victim.cookies.get(name)!;
    assert.doesNotMatch(first, /planted/);
    await victim.post("/auth/sign-in", { email: "owner@there.test", password });
    const second = victim.cookies.get(name)!;
    assert.notEqual(second, first);
    const attacker = openBrowser(program);
    attacker.cookies.set(name, first);
    assert.equal((await attacker.get("/auth/state")).body.person, null, "the previous session has ended");
    // A host of the same site could plant a second cookie with the same name. Then no session is accepted.
    const two = openBrowser(program);
    two.cookies.set("x", `1; ${name}=planted`);
    two.cookies.set(name, second);
    assert.equal((await two.get("/auth/state")).body.person, null);
  });

  it("a cookie with another person's token or signature is rejected", async () => {
    const dev = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
    const [name, mine] = [...dev.cookies][0]!;
    const theirs = owner.browser.cookies.get(name)!;
    const mixed = openBrowser(program);
    mixed.cookies.set(name, `${decodeURIComponent(theirs).split(".")[0]}.${decodeURIComponent(mine).split(".")[1]}`);
    assert.equal((await mixed.get("/auth/state")).body.person, null);
  });

  it("an expired session is rejected, and one that is about to expire is extended", async () => {
    const browser = openBrowser(program);
    await browser.post("/auth/sign-in", { email: "owner@there.test", password });
    const newest = database.sql`(select id from people_sessions order by id desc limit 1)`;
    await database.sql`update people_sessions set expires_at = now() + interval '3 days' where id = ${newest}`;
    assert.notEqual((await browser.get("/auth/state")).body.person, null);
    assert.match(browser.lastSet.join(), /session_token=[^;]+;.*Max-Age=2592000/i);
    const [row] = await database.sql<{ days: number }[]>`
      select extract(day from expires_at - now())::int as days from people_sessions where id = ${newest}`;
    assert.ok(row!.days >= 29, String(row!.days));
    await database.sql`update people_sessions set expires_at = now() - interval '1 second' where id = ${newest}`;
    assert.equal((await browser.get("/auth/state")).body.person, null);
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, owner.workspace)).body.code, "unauthenticated");
  });

  it("responses do not reveal whether an address has an account", async () => {
    const distinctResponses = async (path: string, bodies: object[]) => {
      const answers = new Set<string>();
      for (const [i, body] of bodies.entries()) {
        // Each from a different address, so that rate limits do not make a difference.
        const visitor = openBrowser(program);
        const headers = { "x-forwarded-for": `198.51.100.${i + 1}` };
        const answer = await visitor.post(path, body, headers);
        answers.add(JSON.stringify([answer.status, answer.body, [...answer.headers.keys()].sort()]));
      }
      return answers;
    };
    const wrong = "not the password at all";
    const signIn = await distinctResponses("/auth/sign-in", [
      { email: "owner@there.test", password: wrong },
      { email: "nobody@there.test", password: wrong },
      { email: "nobody@there.test", password: "" },
      { email: "no address", password: wrong },
    ]);
    assert.equal(signIn.size, 1, [...signIn].join("\n"));
    const resets = await distinctResponses("/auth/request-password-reset", [
      { email: "owner@there.test" },
      { email: "nobody@there.test" },
    ]);
    assert.equal(resets.size, 1, [...resets].join("\n"));
    const signUps = await distinctResponses("/auth/sign-up", [
      { email: "owner@there.test", name: "X", password },
      { email: "nobody@there.test", name: "X", password },
    ]);
    assert.equal(signUps.size, 1, [...signUps].join("\n"));
  });

  it("password guessing is rate limited for existing and unknown accounts, and other clients can still sign in", async () => {
    const guess = (email: string) =>
      openBrowser(program).post(
        "/auth/sign-in",
        { email, password: "a guess" },
        { "x-forwarded-for": `203.0.113.${email.length}` },
      );
    const guesses: Promise<{ status: number }>[] = [];
    for (const email of ["nobody@there.test", "owner@there.test"]) {
      // In parallel, because checking a guess is slow on a busy machine and one attempt is restored each minute.
      guesses.push(...Array.from({ length: 8 }, () => guess(email)));
      const last = await until(`guesses at ${email} to be rejected`, async () => {
        const answer = await guess(email);
        return answer.status === 401 ? undefined : answer;
      });
      assert.equal(last.status, 429, email);
      assert.equal(last.body.code, "resource_exhausted");
      assert.ok(Number(last.headers.get("retry-after")) > 0);
    }
    // The right password is rejected, too, while the guesser is limited. Otherwise the limit would reveal a correct guess.
    const guesser = { "x-forwarded-for": "203.0.113.16" };
    const right = { email: "owner@there.test", password };
    assert.equal((await openBrowser(program).post("/auth/sign-in", right, guesser)).status, 429);
    const otherAddress = { "x-forwarded-for": "192.0.2.1" };
    assert.equal((await openBrowser(program).post("/auth/sign-in", right, otherAddress)).status, 200);
    const statuses = new Set((await Promise.all(guesses)).map(({ status }) => status));
    assert.ok(statuses.delete(401), "the first guesses were checked");
    assert.deepEqual(
      [...statuses].filter((status) => status !== 429),
      [],
    );
  });

  it("parallel guesses do not bypass the rate limit", async () => {
    const from = { "x-forwarded-for": "203.0.113.99" };
    const guess = () =>
      openBrowser(program).post("/auth/sign-in", { email: "dev@there.test", password: "a guess" }, from);
    const answers = await Promise.all(Array.from({ length: 30 }, guess));
    const tried = answers.filter(({ status }) => status === 401).length;
    assert.ok(tried <= 10, `${tried} guesses were checked`);
  });

  it("X-Forwarded-For entries before the one of the trusted proxy are ignored", async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        openBrowser(program).post(
          "/auth/sign-in",
          { email: "liar@there.test", password: "a guess" },
          { "x-forwarded-for": `10.0.0.${i}, 203.0.113.200` },
        ),
      ),
    );
    const tried = answers.filter(({ status }) => status === 401).length;
    assert.ok(tried > 0 && tried <= 10, `${tried} of 12 guesses were checked`);
    assert.ok(answers.every(({ status }) => status === 401 || status === 429));
  });

  it("a site that changes its IPv6 address for every guess is limited like one client", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        openBrowser(program).post(
          "/auth/sign-in",
          { email: "hopper@there.test", password: "a guess" },
          { "x-forwarded-for": `2001:db8:0:${(0x300 + i).toString(16)}::${i + 1}` },
        ),
      ),
    );
    const tried = answers.filter(({ status }) => status === 401).length;
    assert.ok(tried > 0 && tried <= 10, `${tried} of 30 guesses were checked`);
    assert.ok(answers.every(({ status }) => status === 401 || status === 429));
  });

  it("clients that flood the sign-in are refused beyond their share, and another person signs in", async () => {
    const answers: Answer[] = [];
    const flood = Array.from({ length: 120 }, async (_, i) => {
      const from = { "x-forwarded-for": `198.51.100.${200 + (i % 3)}` };
      const guess = { email: `guess${i}@there.test`, password: "a guess" };
      answers.push(await openBrowser(program).post("/auth/sign-in", guess, from));
    });
    await until("a refusal", () => answers.some(({ status }) => status === 429));
    const owner = { email: "owner@there.test", password };
    const right = await openBrowser(program).post("/auth/sign-in", owner, { "x-forwarded-for": "192.0.2.77" });
    assert.equal(right.status, 200, JSON.stringify(right.body));
    await Promise.all(flood);
    for (const { status, headers } of answers) {
      assert.ok(status === 401 || status === 429, String(status));
      if (status === 429) assert.ok(Number(headers.get("retry-after")) > 0);
    }
  });

  it("a person keeps the newest fifty sessions", async () => {
    const { sql } = database;
    await sql`insert into people_sessions (id, person_id, token, expires_at, service_expires_at)
      select ('ffff0000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, p.id, 'old' || n, now() + interval '1 day',
        service_time() + interval '1 day' from generate_series(1, 60) n, people p where p.email = 'owner@there.test'`;
    // Their ids are from a time when the database's clock was ahead.
    const browser = openBrowser(program);
    const from = { "x-forwarded-for": "192.0.2.78" };
    await browser.post("/auth/sign-in", { email: "owner@there.test", password }, from);
    const rows = await sql<
      { token: string }[]
    >`select s.token from people_sessions s join people p on p.id = s.person_id
      where p.email = 'owner@there.test'`;
    assert.equal(rows.length, 50);
    assert.ok(!rows.some(({ token }) => token === "old1"), "the oldest ended");
    assert.notEqual((await browser.get("/auth/state")).body.person, null);
  });

  it("a client that asks without end is refused, and others are served", async () => {
    const ask = async (address: string) => {
      const response = await fetch(`${program.url}/auth/state`, { headers: { "x-forwarded-for": address } });
      await response.text();
      return response;
    };
    const refused = await until("a refusal", async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => ask("203.0.113.150")));
      return answers.find(({ status }) => status === 429);
    });
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    assert.equal((await ask("203.0.113.151")).status, 200);
  });
});
