/** Real threads with small limits. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import type { Resolver } from "../dns/resolver.ts";
import type { ThreadLimits, Threads } from "./thread-tasks.ts";
import { createThreads } from "./threads.ts";

const running: Threads[] = [];
after(async () => {
  for (const threads of running) await threads.stop();
});

function start(limits: Partial<ThreadLimits> = {}, lookup: Resolver["lookup"] = async () => noData) {
  const overruns: string[] = [];
  const resolver = { lookup, stop() {} } as unknown as Resolver;
  const threads = createThreads({ resolver, limits, onOverrun: ({ owner }) => void overruns.push(owner) });
  running.push(threads);
  const digest = (owner: string, raw: Buffer, queue: "arrivals" | "reads" = "arrivals") =>
    threads.run({ work: { kind: "digest", sender: "" }, raw, queue, owner });
  const judging = { sender: "a@there.test", client: { ip: "192.0.2.1", helo: "there.test" }, hostname: "mx.test" };
  const verify = (owner: string, raw: Buffer, timeoutMs?: number) =>
    threads.run<"verify">({ work: { kind: "verify", ...judging }, raw, queue: "arrivals", owner, timeoutMs });
  const arrive = (owner: string, raw: Buffer, timeoutMs?: number) =>
    threads.run<"arrival">({ work: { kind: "arrival", ...judging }, raw, queue: "arrivals", owner, timeoutMs });
  return { threads, overruns, digest, verify, arrive };
}

const noData: Awaited<ReturnType<Resolver["lookup"]>> = { kind: "nodata", chain: [], ttlSeconds: 60 } as never;
const small = Buffer.from("From: a@there.test\r\nSubject: small\r\n\r\nHello\r\n");
/** Takes a second. */
const costly = Buffer.from(`Content-Type: text/html\r\n\r\n${"<p>".repeat(4_000_000)}`);
/** Becomes a list of lines that is larger than the heap of the test. */
const wasteful = Buffer.from(`Content-Type: text/html\r\n\r\n${"<br>".repeat(8_000_000)}`);

/** Nested groups in an address cost the most time for their octets: 60 ms for 15 KB on one core. */
const costlySmall = Buffer.from(`From: ${"a:".repeat(7500)}\r\n\r\nx`);

test("a message that uses too much CPU time ends its thread, and the messages of others are read", async () => {
  const { digest, overruns } = start({ cpuMs: 300 });
  const bad = digest("attacker", costly);
  const good = await Promise.all([digest("a", small), digest("b", small), digest("c", small, "reads")]);
  assert.deepEqual(
    good.map((outcome) => outcome.kind),
    ["done", "done", "done"],
  );
  assert.equal((await bad).kind, "overran");
  assert.deepEqual(overruns, ["attacker"]);
  assert.equal((await digest("a", small)).kind, "done");
});

test("a message that needs too much memory ends its thread only", async () => {
  const { digest, overruns } = start({ threads: 1, heapMb: 24 });
  assert.equal((await digest("attacker", wasteful)).kind, "overran");
  assert.equal((await digest("a", small)).kind, "done");
  assert.deepEqual(overruns, ["attacker"]);
});

test("the thread for large messages ends when it has none, and starts again for the next one", async () => {
  const { digest, threads } = start({ idleMs: 50 });
  for (let i = 0; i < 2; i++) {
    const large = Buffer.concat([small, Buffer.alloc(300_000, "x")]);
    const outcomes = await Promise.all([digest("a", large), digest("b", small)]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ["done", "done"],
    );
    await until("the thread to end", () => threads.count() === 1);
  }
});

test("a message over a limit is refused with the reply", async () => {
  const { digest, overruns } = start();
  const outcome = await digest("a", Buffer.from(`X: y\r\n\r\n${"\r\n".repeat(990_000)}`));
  assert.deepEqual(outcome, { kind: "refused", reply: "554 5.6.0 more than 100000 lines" });
  assert.deepEqual(overruns, []);
});

test("owners take turns, and so do mail that arrives and mail that is read", async () => {
  const { digest } = start({ threads: 1 });
  const order: string[] = [];
  const note = (name: string) => () => void order.push(name);
  const all = [
    ...Array.from({ length: 50 }, () => digest("flood", small).then(note("flood"))),
    digest("calm", small).then(note("calm")),
    digest("reader", small, "reads").then(note("reader")),
  ];
  await Promise.all(all);
  assert.ok(order.indexOf("calm") < 10, order.join());
  assert.ok(order.indexOf("reader") < 10, order.join());
});

test("an owner whose messages overran does not get the last thread", async () => {
  const { digest } = start({ cpuMs: 300 });
  assert.equal((await digest("attacker", costly)).kind, "overran");
  const bad = Array.from({ length: 4 }, () => digest("attacker", costly));
  const order: string[] = [];
  for (const [i, one] of bad.entries()) void one.then(() => order.push(`bad ${i}`));
  for (let i = 0; i < 5; i++) assert.equal((await digest(`calm ${i}`, small)).kind, "done");
  assert.deepEqual(order.includes("bad 3"), false, "the attacker's messages run one after the other");
  await Promise.all(bad);
});

test("the large messages of a heavy owner rest after each other, and those of others run meanwhile", async () => {
  const { digest } = start({ threads: 1, cpuMs: 60_000 });
  const order: string[] = [];
  const read = (owner: string, raw: Buffer) => digest(owner, raw).then(() => order.push(owner));
  const first = read("heavy", costly);
  const second = read("heavy", costly);
  await first;
  // Without the rest, the second message would have the thread by now.
  const large = Buffer.concat([small, Buffer.alloc(300_000, "Hello\r\n")]);
  await Promise.all([second, read("calm", large)]);
  assert.deepEqual(order, ["heavy", "calm", "heavy"]);
});

test("a message that waits too long for a thread is late, which is not its fault", async () => {
  const { digest, overruns } = start({ threads: 1, cpuMs: 60_000, queueMs: 200 });
  await until("the thread has started", async () => (await digest("a", small)).kind === "done");
  const bad = digest("attacker", costly);
  assert.equal((await digest("a", small)).kind, "late");
  assert.deepEqual(overruns, []);
  await bad;
});

test("checks that wait for DNS leave the thread to others, and end at their time limit", async () => {
  let asked = 0;
  const { digest, verify } = start({ threads: 1 }, async (_name, _type, options) => {
    asked += 1;
    return await new Promise((_, reject) =>
      options?.signal?.addEventListener("abort", () => reject(new Error("gone"))),
    );
  });
  const waiting = [verify("slow", small, 60_000), verify("slow", small, 60_000)];
  // Long enough for a busy machine to begin it.
  const limited = verify("slow", small, 5_000);
  await until("three lookups", () => asked >= 3);
  assert.equal((await digest("a", small)).kind, "done");
  assert.equal((await limited).kind, "late");
  await running.at(-1)!.stop();
  assert.deepEqual(
    (await Promise.all(waiting)).map(({ kind }) => kind),
    ["late", "late"],
  );
});

test("checks that lost their thread to another message start again", async () => {
  const answers: (() => void)[] = [];
  const { digest, verify } = start({ threads: 1, cpuMs: 500 }, async () => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return noData;
  });
  const checks = verify("calm", small, 60_000);
  await until("the first lookup", () => answers.length === 1);
  assert.equal((await digest("attacker", costly)).kind, "overran");
  await until("the lookup of the second start", () => answers.length === 2);
  const release = setInterval(() => answers.splice(0).map((answer) => answer()), 5);
  const outcome = await checks;
  clearInterval(release);
  assert.equal(outcome.kind, "done");
  assert.equal(outcome.kind === "done" && outcome.result.spf, "none");
});

test("the digest and the verdicts of a small message come together, and DNS is asked once for many", async () => {
  const asked: string[] = [];
  const { arrive } = start({ threads: 1 }, async (name) => {
    asked.push(name);
    return noData;
  });
  for (let i = 0; i < 3; i++) {
    const outcome = await arrive("a", small, 60_000);
    assert.equal(outcome.kind === "done" && outcome.result.digest.subject, "small");
    assert.equal(outcome.kind === "done" && outcome.result.verdicts.spf, "none");
  }
  assert.deepEqual(asked, [...new Set(asked)]);
  assert.ok(asked.includes("there.test"));
});

test("a small message whose checks wait too long for DNS is read without them, and its group goes on", async () => {
  const { arrive, digest } = start({ threads: 1 }, async (_name, _type, options) => {
    return await new Promise((_, reject) =>
      options?.signal?.addEventListener("abort", () => reject(new Error("gone"))),
    );
  });
  const waiting = [arrive("a", small, 300), arrive("b", small, 300)];
  assert.equal((await digest("c", small)).kind, "done");
  for (const outcome of await Promise.all(waiting)) {
    assert.equal(outcome.kind === "done" && outcome.result.digest.subject, "small");
    assert.equal(outcome.kind === "done" && outcome.result.verdicts.spf, "temperror");
  }
});

test("the results of a group do not wait for members that take long", async () => {
  const { digest } = start({ threads: 1 });
  // The first job starts the thread, and those that wait for it form groups.
  await digest("a", small);
  let ended = 0;
  const first = digest("calm", small);
  const costly = Array.from({ length: 7 }, async () => {
    await digest("attacker", costlySmall);
    ended += 1;
  });
  await first;
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(ended < 7, `${ended} have ended`);
  await Promise.all(costly);
});

test("a group that takes too long ends its thread, and the others of the group are read", async () => {
  const { digest, overruns } = start({ threads: 1, cpuMs: 100 });
  const bad = Array.from({ length: 7 }, () => digest("attacker", costlySmall));
  assert.equal((await digest("calm", small)).kind, "done");
  await Promise.all(bad);
  assert.deepEqual(
    overruns.filter((owner) => owner !== "attacker"),
    [],
  );
});
