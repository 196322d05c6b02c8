/** A clock is wrong: signing in, sessions, renewal, password changes and rate limits work as usual. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { createMovedClock, type MovedClock, withoutMovedClock } from "../harness/moved-clock.ts";
import { type Browser, openBrowser, password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { shiftWallTime } from "../harness/time.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let clock: MovedClock | undefined;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase();
  if (!withoutMovedClock) clock = await createMovedClock();
  program = await startProgram({ databaseUrl: database.url, env: clock?.env });
});
after(async () => {
  await program?.remove();
  await clock?.remove();
  await database?.drop();
});

const isSignedIn = async (browser: Browser) => (await browser.get("/auth/state")).body.person !== null;

test("people sign in and stay signed in, whatever the machine's clock shows", { skip: withoutMovedClock }, async () => {
  await clock!.set(-400);
  const email = "owner@there.test";
  const { browser } = await signUpFirst(program, email);
  let current = password;
  for (const days of [-30, 400, 3, -400, 0]) {
    await clock!.set(days);
    assert.ok(await isSignedIn(browser), `${days} days`);
    // A day before the end of the session by the database's clock, so that it is renewed.
    await database.sql`update people_sessions set expires_at = now() + interval '1 day'`;
    assert.ok(await isSignedIn(browser));
    assert.match(browser.lastSet.join(), /session_token=[^;]+;.*Max-Age=2592000/i);
    const other = openBrowser(program);
    assert.equal((await other.post("/auth/sign-in", { email, password: current })).status, 200, `${days} days`);
    const newPassword = `${current}!`;
    const changed = await browser.post("/auth/change-password", { currentPassword: current, newPassword });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    current = newPassword;
    assert.ok(await isSignedIn(browser));
    assert.equal(await isSignedIn(other), false, "a password change ends other sessions");
    const [row] = await database.sql<{ days: number }[]>`
      select extract(epoch from max(expires_at) - now())::float8 / 86400 as days from people_sessions`;
    assert.ok(row!.days > 29 && row!.days < 31, `${days} days: the session ends in ${row!.days} days`);
  }
});

test("a jump of the database's clock opens no limit on wrong passwords", async () => {
  const { sql } = database;
  const browser = openBrowser(program);
  const body = { email: "x@there.test", password: "a wrong one" };
  const guess = async () => (await browser.post("/auth/sign-in", body)).status;
  let answer = await guess();
  for (let i = 0; i < 20 && answer === 401; i++) answer = await guess();
  assert.equal(answer, 429);
  const lastBeat = async () => (await sql<{ at: string }[]>`select max(beat_at)::text as at from workers`)[0]!.at;
  const before = await lastBeat();
  await shiftWallTime(sql, "3 days");
  await until("a heartbeat that sees the jump", async () => (await lastBeat()) !== before);
  assert.equal(await guess(), 429);
});
