/** events.listen against the real program while connections break, the program is killed, and the listener itself is killed: no event is
 * skipped, and only events after the saved cursor come again. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startProgram } from "../../test/harness/program.ts";
import { addEvents, type StreamTestbed, startStreamTestbed } from "../../test/harness/streams.ts";
import { until } from "../../test/harness/wait.ts";
import { type CursorStore, memoryCursorStore, Posthorn } from "../src/index.ts";
import { startCuttingProxy } from "./cutting-proxy.ts";

let testbed: StreamTestbed;
before(async () => {
  testbed = await startStreamTestbed();
});
after(async () => {
  await testbed?.program.remove();
  await testbed?.stop();
});

const add = (count: number) => addEvents(testbed.database.sql, testbed.workspaceId, count);
const ids = async () => (await testbed.table()).map(({ id }) => id);

/** Fails when a cursor is saved before its event was handled, or when cursors go back. */
function checkedStore(seen: readonly string[], start: number): { store: CursorStore; saved(): string | undefined } {
  const inner = memoryCursorStore(String(start));
  let newest = start;
  return {
    saved: () => inner.load() as string | undefined,
    store: {
      load: () => inner.load(),
      loadEventId: () => inner.loadEventId?.(),
      save(cursor, eventId) {
        assert.ok(Number(cursor) <= start + seen.length, `saved ${cursor} after ${seen.length} events from ${start}`);
        assert.ok(Number(cursor) >= newest, `saved ${cursor} after ${newest}`);
        newest = Number(cursor);
        return inner.save(cursor, eventId);
      },
    },
  };
}

interface Listening {
  seen: string[];
  reconnects: string[];
  saved(): string | undefined;
  stop(): Promise<void>;
}

function listen(t: TestContext, url: string, start: number): Listening {
  const seen: string[] = [];
  const reconnects: string[] = [];
  const { store, saved } = checkedStore(seen, start);
  const controller = new AbortController();
  const posthorn = new Posthorn({ apiKey: testbed.program.key, baseUrl: url });
  const done = posthorn.events.listen({
    store,
    signal: controller.signal,
    async onEvent({ id }) {
      // Handlers that take a while let messages pile up in the connection that is about to break.
      if (seen.length % 7 === 0) await new Promise(setImmediate);
      seen.push(id);
    },
    onReconnect: ({ error }) => reconnects.push(error.code),
    onError: () => {},
  });
  const stop = async () => {
    controller.abort();
    await done;
  };
  t.after(stop);
  return { seen, reconnects, saved, stop };
}

test("connections that break in the middle of messages neither skip nor repeat an event", async (t) => {
  await add(50);
  const start = (await ids()).length - 50;
  // A fixed sequence of limits, from within the response's head to several messages.
  let n = 0;
  const limits = [3, 400, 900, 1500, 700, 2500, 5000, 1200, 450, 3300];
  const proxy = await startCuttingProxy(testbed.program.url, () => limits[n++ % limits.length]!);
  t.after(() => proxy.close());
  const { seen, reconnects, saved, stop } = listen(t, proxy.url, start);
  for (let i = 0; i < 10; i++) {
    await add(5);
    const count = proxy.cuts();
    await until("another cut", () => proxy.cuts() > count || proxy.cuts() >= 12);
  }
  proxy.calm();
  const expected = (await ids()).slice(start);
  await until("all events", () => seen.length >= expected.length);
  await stop();
  assert.deepEqual(seen, expected);
  assert.ok(proxy.cuts() >= 10, `${proxy.cuts()} cuts`);
  assert.ok(reconnects.length >= 10 && reconnects.every((code) => code === "unavailable"), String(reconnects));
  assert.equal(saved(), String(start + expected.length));
});

test("a program that is killed or stopped while it streams neither skips nor repeats an event", async (t) => {
  const start = (await ids()).length;
  let { program } = testbed;
  const env = { POSTHORN_API_KEY: program.key, POSTHORN_HTTP: `127.0.0.1:${program.ports.http}` };
  const { dataDir, url } = program;
  const { seen, saved, stop, reconnects } = listen(t, url, start);
  for (const end of ["kill", "stop", "kill"] as const) {
    await add(20);
    const sending = testbed.send("delivered").catch(() => "");
    await until("some of the events", () => seen.length > 0);
    // Also in the middle of a batch that is on its way.
    const adding = add(100);
    await program[end]();
    await adding;
    await sending;
    // While no program runs, the log grows too.
    await add(10);
    program = await startProgram({ databaseUrl: testbed.database.url, dataDir, env });
    testbed.program = program;
    const count = (await ids()).length - start;
    await until("the events of this round", () => seen.length >= count);
  }
  const expected = (await ids()).slice(start);
  await until("all events", () => seen.length >= expected.length);
  await stop();
  assert.deepEqual(seen, expected);
  assert.ok(reconnects.length >= 3);
  assert.equal(saved(), String(start + expected.length));
});

const listenerFile = fileURLToPath(new URL("listener-process.ts", import.meta.url));

function startListener(cursorFile: string): { child: ChildProcess; lines(): string[]; ended: Promise<unknown> } {
  const env = { ...process.env, POSTHORN_KEY: testbed.program.key, POSTHORN_URL: testbed.program.url };
  const child = spawn(process.execPath, [listenerFile, cursorFile], { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  return {
    child,
    // A line without its end is not counted: the process was killed in the middle.
    lines: () => output.split("\n").slice(0, -1),
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
}

const savedIn = async (file: string) => await readFile(file, "utf8").then(Number, () => 0);

test("a listener that is killed resumes after its saved cursor, and handles every event at least once", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-listen-"));
  const listeners: ReturnType<typeof startListener>[] = [];
  // One hook: the folder cannot be removed while a listener writes its cursor to it.
  t.after(async () => {
    for (const { child } of listeners) child.kill("SIGKILL");
    await Promise.all(listeners.map(({ ended }) => ended));
    await rm(folder, { recursive: true, force: true });
  });
  const file = join(folder, "cursor");
  await add(200);
  const handled = new Set<string>();
  let repeated = 0;
  const starts: number[] = [];
  for (let round = 0; round < 6; round++) {
    const savedBefore = await savedIn(file);
    starts.push(savedBefore);
    const listener = startListener(file);
    listeners.push(listener);
    const { child, lines, ended } = listener;
    const before = handled.size;
    const adding = add(100);
    // Killed at different places: while it reads stored events, and while it waits for new ones.
    await until("events", () => lines().length > (round % 3) * 40);
    if (round % 2 === 1) await until("a save", async () => (await savedIn(file)) > savedBefore);
    child.kill("SIGKILL");
    await ended;
    await adding;
    const log = await ids();
    const seen = lines();
    assert.deepEqual(
      seen,
      log.slice(savedBefore, savedBefore + seen.length),
      `round ${round} begins after cursor ${savedBefore}`,
    );
    const saved = await savedIn(file);
    assert.ok(saved <= savedBefore + seen.length, "the saved cursor is never ahead of the handled events");
    assert.ok(saved >= savedBefore, "the saved cursor does not go back");
    for (const id of seen) handled.add(id);
    repeated += seen.length - (handled.size - before);
  }
  await add(1);
  const last = startListener(file);
  listeners.push(last);
  const log = await ids();
  await until("the newest event", () => last.lines().at(-1) === log.at(-1));
  for (const id of last.lines()) handled.add(id);
  assert.deepEqual([...handled], log, "all events, first handled in the order of the log");
  assert.ok(new Set(starts).size >= 3, "several rounds resumed from a saved cursor");
  t.diagnostic(`resumed after ${starts.join(", ")}; ${repeated} events came again`);
});
