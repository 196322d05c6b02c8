import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "../../test/harness/mail.ts";
import { until } from "../../test/harness/wait.ts";
import { createTurns } from "../shares/turns.ts";
import { createDigests } from "./compose/digests.ts";
import { createComposer } from "./compose/pool.ts";
import { createRecentMail } from "./compose/recent-mail.ts";
import { createMemory } from "./memory.ts";
import { createMessageSources, type MessageRequest, type MessageSourceDeps, Undeliverable } from "./message-source.ts";
import type { Signer } from "./signing.ts";
import type { LeasedEmail } from "./store/lease.ts";

const pool = createComposer();
const digests = createDigests();

type ContentOf = MessageSourceDeps["contentOf"];
const hello = JSON.stringify({ text: "Hello", html: "" });

/** Sources whose composer counts its messages and waits for `release` before each. */
type Extra = { keepMs?: number; parts?: string[]; contentOf?: ContentOf; signer?: Signer; hasObjects?: boolean };
function setUp(extra: Extra = {}) {
  const gate = Promise.withResolvers<void>();
  const state = { composed: 0, contended: false, reserved: 0 };
  const memory = createMemory({ small: 1e6, large: 1e8 });
  const sources = createMessageSources({
    keepMs: extra.keepMs ?? 0,
    hasObjects: extra.hasObjects,
    contentOf: extra.contentOf ?? (async () => ("parts" in extra ? extra.parts : [hello])),
    signing: {
      signerOf: async () => extra.signer ?? { source: undefined as never, cost: 1, returnPathDomain: "b.test" },
    },
    composer: {
      async compose(request) {
        await gate.promise;
        state.composed += 1;
        return await pool.compose({ email: request.email, smtputf8: request.smtputf8, signal: request.signal });
      },
      outline: pool.outline,
      keyOf: pool.keyOf,
      stop: async () => {},
    },
    digests,
    recentMail: createRecentMail({ composer: pool, digests }),
    memory: {
      async reserve(owner, signal) {
        const reservation = await memory.reserve(owner, signal);
        state.reserved += 1;
        return {
          shrink: reservation.shrink,
          release() {
            state.reserved -= 1;
            reservation.release();
          },
        };
      },
      contended: () => state.contended,
    },
    turns: createTurns(2),
  });
  return { sources, state, release: gate.resolve };
}

function requestFor(recipients: number, extra: Partial<MessageRequest> = {}): MessageRequest {
  const to = Array.from({ length: recipients }, (_, i) => address(`r${i}@there.test`));
  const envelope = { from: address("news@sender.test"), to, cc: [], bcc: [], replyTo: [], headers: [], references: [] };
  const email = {
    id: "01932c5e-7b1a-7abc-8def-0123456789ab",
    workspaceId: "w",
    messageId: "<1@sender.test>",
    subject: "Hello",
    date: new Date(0),
    sizeBytes: 5,
    envelope: { ...envelope, requireTls: false, attachments: [] },
  } as unknown as LeasedEmail;
  return { email, destination: "there.test", smtputf8: false, signal: new AbortController().signal, ...extra };
}

test("recipients that need the message at the same time share one buffer, which is freed after the last", async () => {
  const { sources, state, release } = setUp();
  release();
  const handles = Array.from({ length: 50 }, () => sources.open(requestFor(50)));
  const raws = await Promise.all(handles.map((handle) => handle.load()));
  assert.ok(raws.every((raw) => raw === raws[0]));
  assert.equal(handles[7]!.length, raws[0]!.length);
  for (const handle of handles.slice(1)) handle.close();
  assert.equal(state.reserved, 1);
  handles[0]!.close();
  handles[0]!.close();
  assert.deepEqual([state.composed, state.reserved, sources.size()], [1, 0, 0]);
});

test("recipients at different destinations share a small message, but not a large one, whose memory is the destination's", async () => {
  for (const [sizeBytes, composed] of [
    [5, 1],
    [1024 * 1024, 2],
  ] as const) {
    const { sources, state, release } = setUp();
    release();
    const handles = ["there.test", "slow.test"].map((destination) => {
      const request = requestFor(2, { destination });
      return sources.open({ ...request, email: { ...request.email, sizeBytes } as LeasedEmail });
    });
    await Promise.all(handles.map((handle) => handle.load()));
    assert.equal(state.composed, composed);
    for (const handle of handles) handle.close();
    assert.deepEqual([state.reserved, sources.size()], [0, 0]);
  }
});

test("large messages that wait for a slow store do not hold up small ones", async () => {
  const bytes = 2 * 1024 * 1024;
  let reads = 0;
  const slow = {
    bytes,
    async *read(signal?: AbortSignal): AsyncGenerator<Buffer> {
      reads += 1;
      await new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    },
  };
  const source = { domain: "sender.test", selector: "s", privateKeyPem: "" };
  const { sources, state, release } = setUp({
    contentOf: async ({ emailId }) => (emailId === small.email.id ? [hello] : [hello, slow]),
    signer: { source, cost: 1, returnPathDomain: "b.test" } as Signer,
  });
  release();
  const small = requestFor(1);
  const abort = new AbortController();
  const large = [1, 2, 3].map((n) => {
    const request = requestFor(1, { signal: abort.signal, destination: `d${n}.test` });
    const attachments = [{ filename: "a", contentType: "", sizeBytes: bytes }];
    const envelope = { ...request.email.envelope, attachments };
    const id = `${small.email.id.slice(0, -1)}${n}`;
    return sources.open({ ...request, email: { ...request.email, id, sizeBytes: bytes, envelope } as LeasedEmail });
  });
  const loads = large.map((one) => one.load().catch((error) => error));
  await until("the slow reads", () => reads === 3);
  const handle = sources.open({ ...small, email: { ...small.email, workspaceId: "other" } });
  await handle.load();
  handle.close();
  abort.abort();
  await Promise.all(loads);
  for (const one of large) one.close();
  await until("their memory", () => state.reserved === 0);
});

test("a recipient that is aborted just as the message is composed leaves nothing behind", async () => {
  for (let turns = 0; turns < 12; turns++) {
    const { sources, state, release } = setUp();
    const abort = new AbortController();
    const handle = sources.open(requestFor(1, { signal: abort.signal }));
    const loading = handle.load().catch(() => {});
    release();
    await until("the message", () => state.composed === 1);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    abort.abort();
    await loading;
    handle.close();
    await until("the memory", () => state.reserved === 0);
    assert.equal(sources.size(), 0);
  }
});

test("the message for recipients that need SMTPUTF8 is another one", async () => {
  const { sources, state, release } = setUp();
  release();
  const handles = [false, true].map((smtputf8) => sources.open(requestFor(2, { smtputf8 })));
  const [plain, utf8] = await Promise.all(handles.map((handle) => handle.load()));
  assert.notEqual(plain, utf8);
  for (const handle of handles) handle.close();
  assert.deepEqual([state.composed, state.reserved, sources.size()], [2, 0, 0]);
});

test("a recipient that is aborted leaves the message to the others; the work ends with the last of them", async () => {
  const { sources, state, release } = setUp();
  const aborts = [new AbortController(), new AbortController()];
  const handles = aborts.map(({ signal }) => sources.open(requestFor(2, { signal })));
  const [first, second] = handles.map((handle) => handle.load());
  aborts[0]!.abort(new Error("stopped by the test"));
  await assert.rejects(first!, /stopped by the test/);
  handles[0]!.close();
  const third = sources.open(requestFor(2));
  const joined = third.load();
  aborts[1]!.abort(new Error("stopped by the test"));
  await assert.rejects(second!, /stopped by the test/);
  release();
  assert.ok((await joined).length > 0);
  for (const handle of [...handles, third]) handle.close();
  assert.deepEqual([state.composed, state.reserved, sources.size()], [1, 0, 0]);
});

test("after all recipients of a load are aborted, the next one composes the message anew", async () => {
  const { sources, state, release } = setUp();
  const abort = new AbortController();
  const aborted = sources.open(requestFor(2, { signal: abort.signal }));
  const loading = aborted.load();
  abort.abort(new Error("stopped by the test"));
  await assert.rejects(loading, /stopped by the test/);
  const next = sources.open(requestFor(2));
  const raw = next.load();
  release();
  assert.ok((await raw).length > 0);
  aborted.close();
  next.close();
  await until("no reserved memory", () => state.reserved === 0);
  assert.equal(sources.size(), 0);
});

test("a dropped message is composed again; one that is dropped while it is loaded still arrives", async () => {
  const { sources, state, release } = setUp();
  const handle = sources.open(requestFor(1));
  const loading = handle.load();
  handle.drop();
  release();
  assert.ok((await loading).length > 0);
  assert.equal(state.reserved, 1);
  handle.drop();
  assert.deepEqual([handle.length, state.reserved], [undefined, 0]);
  assert.ok((await handle.load()).length > 0);
  handle.close();
  assert.deepEqual([state.composed, state.reserved, sources.size()], [2, 0, 0]);
});

test("the message of an email with several recipients is kept for those that are leased next, not under pressure", async () => {
  const { sources, state, release } = setUp({ keepMs: 100_000 });
  release();
  const once = async (recipients: number) => {
    const handle = sources.open(requestFor(recipients));
    await handle.load();
    handle.close();
  };
  await once(2);
  assert.equal(state.reserved, 1);
  await once(2);
  assert.equal(state.composed, 1);
  state.contended = true;
  await once(2);
  assert.deepEqual([state.reserved, sources.size()], [0, 0]);
  state.contended = false;
  await once(1);
  assert.deepEqual([state.reserved, sources.size()], [0, 0], "no other recipient follows");
});

test("a kept message is freed after its time", async () => {
  const { sources, state, release } = setUp({ keepMs: 1 });
  release();
  const handle = sources.open(requestFor(2));
  await handle.load();
  handle.close();
  await until("no reserved memory", () => state.reserved === 0 && sources.size() === 0);
});

test("every recipient gets the error that the content is lost, and nothing is kept", async () => {
  const { sources, state, release } = setUp({ parts: undefined });
  release();
  const handles = [sources.open(requestFor(2)), sources.open(requestFor(2))];
  const results = await Promise.allSettled(handles.map((handle) => handle.load()));
  assert.ok(results.every((result) => result.status === "rejected" && result.reason instanceof Undeliverable));
  for (const handle of handles) handle.close();
  assert.deepEqual([state.reserved, sources.size()], [0, 0]);
});

test("small mail does not wait for the content of other mail that a slow object storage holds back", async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const texts = Buffer.from(JSON.stringify({ text: "x".repeat(150_000), html: "" }));
  const part = {
    bytes: texts.length,
    async *read() {
      await answered;
      yield texts;
    },
  };
  const { sources, state, release } = setUp({
    hasObjects: true,
    contentOf: async ({ emailId }) => (emailId === requestFor(1).email.id ? [hello] : [part]),
  });
  release();
  const large = Array.from({ length: 10 }, (_, n) => {
    const { email } = requestFor(1);
    const id = email.id.replace("ab", `a${n}`);
    return sources.open(requestFor(1, { email: { ...email, id, sizeBytes: 150_000 } }));
  });
  const loading = large.map(async (handle) => {
    await handle.load();
    handle.close();
  });
  const small = sources.open(requestFor(1));
  await small.load();
  assert.equal(state.composed, 1);
  answer();
  await Promise.all(loading);
  small.close();
  assert.deepEqual([state.composed, state.reserved, sources.size()], [11, 0, 0]);
});
