/** One click while the database or the program goes away: a mail program hears of success only if the entry is stored. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DatabaseProxy, type Fate, startDatabaseProxy } from "../harness/database-proxy.ts";
import { holdLock } from "../harness/held-lock.ts";
import { eventsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, post, press, publicUrl, request, sendWithLink } from "../harness/unsubscribe.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let proxy: DatabaseProxy;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_PUBLIC_URL: publicUrl },
    reachDatabase: async (url) => {
      proxy = await startDatabaseProxy(url);
      return proxy.url;
    },
  });
});
after(async () => {
  await testbed.stop();
  await proxy.close();
});

/** The commit of the next click of this recipient meets its fate. */
function nextCommit(address: string, fate: Fate): void {
  let clicked: object | undefined;
  proxy.fateOf((text, connection) => {
    if (text.includes(address) && text.includes("UNSUBSCRIBE_METHOD")) clicked = connection;
    if (connection !== clicked || !text.includes("'stored', '{}'")) return "forward";
    proxy.fateOf(() => "forward");
    return fate;
  });
}

async function storedFor(address: string, id: string): Promise<{ entries: number; events: number }> {
  const entries = await entriesOf(testbed, { search: address });
  const events = (await eventsOf(testbed, id)).filter(({ type }) => type === "email.unsubscribed");
  return { entries: entries.length, events: events.length };
}

/** A mail program that repeats its request. */
async function untilStored(path: string): Promise<void> {
  await until("the click to be stored", async () => (await post(testbed, path)).status === 200 || undefined);
}

test("a click whose answer from the database is lost is found to be stored", async () => {
  const { id, path } = await sendWithLink(testbed, "lost@there.test", "news");
  nextCommit("lost@there.test", "lose answer");
  assert.equal((await post(testbed, path)).status, 200);
  assert.deepEqual(await storedFor("lost@there.test", id), { entries: 1, events: 1 });
});

test("a click that never reaches the database is refused, and works when it is repeated", async () => {
  const { id, path } = await sendWithLink(testbed, "never@there.test", "news");
  nextCommit("never@there.test", "lose");
  const answer = await post(testbed, path);
  assert.equal(answer.status, 503, answer.text);
  assert.deepEqual(await storedFor("never@there.test", id), { entries: 0, events: 0 });
  await untilStored(path);
  assert.deepEqual(await storedFor("never@there.test", id), { entries: 1, events: 1 });
});

test("while the database is away, no request succeeds, and each says to try again", async () => {
  const { id, path } = await sendWithLink(testbed, "away@there.test", "news");
  nextCommit("away@there.test", "go away");
  const answers = [
    // It is unknown whether this one is stored.
    await post(testbed, path),
    await post(testbed, path),
    await press(testbed, path, "unsubscribe-all"),
    await request(testbed, path),
  ];
  for (const { status, text, headers } of answers) {
    assert.deepEqual([status, headers.get("retry-after")], [503, "1"], text);
    assert.match(text, /^This service cannot be used at the moment\. Try again in a few minutes\.\n$/);
  }
  proxy.comeBack();
  await untilStored(path);
  assert.deepEqual(await storedFor("away@there.test", id), { entries: 1, events: 1 });
});

test("kill -9 while the entry is written: the mail program gets no answer, and its retry counts once", async () => {
  const { id, path } = await sendWithLink(testbed, "killed@there.test", "news");
  const lock = await holdLock(testbed.database.url, "lock table unsubscribes in share mode");
  const answer = post(testbed, path).then(
    ({ status }) => status,
    () => "no answer",
  );
  await until("the statement", async () => {
    const rows = await testbed.database.sql`
      select 1 from pg_locks where relation = 'unsubscribes'::regclass and not granted`;
    return rows.length > 0 || undefined;
  });
  await testbed.program.kill();
  assert.equal(await answer, "no answer");
  await lock.release();
  const node = await testbed.restartNode(testbed.program);
  const url = `${node.url}${path}`;
  for (const _ of [1, 2])
    assert.equal(
      (await fetch(url, { method: "POST", body: new URLSearchParams({ "List-Unsubscribe": "One-Click" }) })).status,
      200,
    );
  assert.deepEqual(await storedFor("killed@there.test", id), { entries: 1, events: 1 });
});
