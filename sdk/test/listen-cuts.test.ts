/** events.listen while the database loses the end of the log: the listener learns of it, skips nothing of the new log, and a stored cursor
 * of the old log does not skip events either. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { type FailoverServer, startFailoverServer } from "../../test/harness/failover.ts";
import { runCommand } from "../../test/harness/program.ts";
import { addEvents, type StreamTestbed, startStreamTestbed } from "../../test/harness/streams.ts";
import { until } from "../../test/harness/wait.ts";
import { type CursorStore, Posthorn } from "../src/index.ts";
import { fileCursorStore } from "../src/node.ts";

let postgres: FailoverServer;
let testbed: StreamTestbed;
before(async () => {
  postgres = await startFailoverServer();
  testbed = await startStreamTestbed({ POSTHORN_STREAM_HEARTBEAT_MS: "500" }, { server: postgres.server });
});
after(async () => {
  await testbed?.stop();
  await postgres?.stop();
});

const add = (count: number) => addEvents(testbed.database.sql, testbed.workspaceId, count);
const addOnNewServer = (count: number) =>
  until("events on the new server", () =>
    add(count).then(
      () => true,
      () => false,
    ),
  );
const ids = async () => (await testbed.table()).map(({ id }) => id);
const numberOf = (cursor: string) => Number(cursor.split("-")[0]);

interface Listening {
  seen: string[];
  resets: { cursor: string; lastSharedCursor: string; seen: number }[];
  stop(): Promise<void>;
}

function listen(t: TestContext, store: CursorStore): Listening {
  const seen: string[] = [];
  const resets: Listening["resets"] = [];
  const controller = new AbortController();
  const { key, url } = testbed.program;
  const done = new Posthorn({ apiKey: key, baseUrl: url }).events.listen({
    store,
    signal: controller.signal,
    onEvent: ({ id }) => void seen.push(id),
    onError: () => {},
    onLogReset: ({ cursor, lastSharedCursor }) => resets.push({ cursor, lastSharedCursor, seen: seen.length }),
  });
  const stop = async () => {
    controller.abort();
    await done;
  };
  t.after(stop);
  return { seen, resets, stop };
}

async function newStore(t: TestContext): Promise<() => CursorStore> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-listen-cuts-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return () => fileCursorStore(join(folder, "cursor"));
}

/** Listens until the newest event was handled and its cursor is stored. */
async function readAllAndStop(t: TestContext, store: CursorStore): Promise<Listening> {
  const listening = listen(t, store);
  const log = await ids();
  await until("the newest event", () => listening.seen.at(-1) === log.at(-1));
  await until("its cursor to be saved", async () => numberOf((await store.load()) ?? "0") === log.length);
  await listening.stop();
  return listening;
}

test("posthorn log cut while a listener is at the newest event changes only the form of later cursors", async (t) => {
  const makeStore = await newStore(t);
  await add(20);
  const { seen, resets, stop } = listen(t, makeStore());
  await until("the stored events", async () => seen.length === (await ids()).length);
  const { dataDir, key } = testbed.program;
  const env = { POSTHORN_API_KEY: key };
  const { code, stderr } = await runCommand(["log", "cut"], { databaseUrl: testbed.database.url, dataDir, env });
  assert.equal(code, 0, stderr);
  await add(20);
  const log = await ids();
  await until("the events after the cut", () => seen.length >= log.length);
  await until("a cursor of the new log", async () => /^\d+-\w+$/.test((await makeStore().load()) ?? ""));
  await stop();
  assert.deepEqual(seen, log);
  assert.deepEqual(resets, []);
  // The next process resumes from the cursor with the name of the cut.
  await add(5);
  const next = await readAllAndStop(t, makeStore());
  assert.deepEqual([next.seen, next.resets], [(await ids()).slice(-5), []]);
});

for (const loss of ["failOver", "restoreDisk"] as const) {
  test(`${loss} during listen: each listener is reset once, and handles the whole new log after the last shared event`, async (t) => {
    const [liveStore, stoppedStore, behindStore] = [await newStore(t), await newStore(t), await newStore(t)];
    await add(10);
    await readAllAndStop(t, behindStore());
    await add(10);
    const shared = (await ids()).length;
    await postgres.replicate();
    await add(15);
    const oldLog = await ids();
    // One listener runs during the loss, one has stored its cursor and stopped, and one had not read any lost event.
    await readAllAndStop(t, stoppedStore());
    const live = listen(t, liveStore());
    await until("the live listener", () => live.seen.length === oldLog.length);
    await until("its cursor to be saved", async () => numberOf((await liveStore().load()) ?? "0") === oldLog.length);

    await postgres[loss]();
    await addOnNewServer(30);
    const newLog = await ids();
    assert.ok(newLog.length > oldLog.length, "the lost numbers are used again");
    await until("the live listener to read the new log", () => live.seen.at(-1) === newLog.at(-1));
    await live.stop();
    assert.equal(live.resets.length, 1);
    const [reset] = live.resets;
    const from = numberOf(reset!.lastSharedCursor);
    assert.ok(from <= shared, `resumed at ${from}, the logs share ${shared}`);
    assert.deepEqual(live.seen.slice(0, reset!.seen), oldLog, "all of the old log before the reset");
    assert.deepEqual(live.seen.slice(reset!.seen), newLog.slice(from), "all of the new log after it");

    const stopped = await readAllAndStop(t, stoppedStore());
    assert.equal(stopped.resets.length, 1);
    const resumedAt = numberOf(stopped.resets[0]!.lastSharedCursor);
    assert.ok(resumedAt <= shared);
    assert.deepEqual(stopped.seen, newLog.slice(resumedAt));

    const behind = await readAllAndStop(t, behindStore());
    // After a restored disk the server estimates what is shared, with a minute to spare, so this listener may get events again.
    if (loss === "failOver") assert.deepEqual(behind.resets, []);
    const continuedAt = behind.resets[0] ? numberOf(behind.resets[0].lastSharedCursor) : shared - 10;
    assert.ok(continuedAt <= shared - 10);
    assert.deepEqual(behind.seen, newLog.slice(continuedAt));
  });
}
