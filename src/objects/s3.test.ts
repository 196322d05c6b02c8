import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { startObjectStore, type TestStore } from "../../test/harness/object-store.ts";
import type { S3 } from "./s3.ts";
import { ObjectLost, type StoreError } from "./store-error.ts";

let store: TestStore;
let s3: S3;
before(async () => {
  store = await startObjectStore();
  s3 = store.s3({ retryPausesMs: [1] });
});
beforeEach(() => store.mode("serve"));
after(async () => {
  s3?.close();
  await store?.stop();
});

const content = (text: string) => ({ bytes: text.length, chunks: () => [Buffer.from(text)] });
const kindOf = (kind: string) => (error: StoreError) => error.kind === kind;

test("an object is put, read in ranges, found, listed and deleted", async () => {
  assert.equal(await s3.put("objects/a", { bytes: 6, chunks: () => [Buffer.from("abc"), Buffer.from("def")] }), true);
  assert.equal(String(await s3.get("objects/a", { start: 2, end: 5 })), "cde");
  assert.equal(String(await s3.find("objects/a")), "abcdef");
  assert.equal(await s3.find("objects/b"), undefined);
  await s3.put("objects/c", content("c"));
  const listed = await s3.list({ under: "objects/", limit: 10 });
  assert.deepEqual(
    listed.map(({ name, bytes }) => [name, bytes]),
    [
      ["objects/a", 6],
      ["objects/c", 1],
    ],
  );
  assert.deepEqual(
    (await s3.list({ under: "objects/", after: "objects/a", limit: 1 })).map(({ name }) => name),
    ["objects/c"],
  );
  assert.deepEqual(await s3.list({ under: "objects/", after: "objects/c", limit: 1 }), []);
  for (const name of ["objects/a", "objects/a", "objects/c"]) await s3.delete(name);
  assert.deepEqual(await s3.list({ under: "objects/", limit: 10 }), []);
});

test("the age of an object comes from the store's own clock", async () => {
  await s3.put("aged", content("x"));
  store.ahead(3_600_000);
  const [aged] = await s3.list({ under: "aged", limit: 1 });
  store.ahead(0);
  const [now] = await s3.list({ under: "aged", limit: 1 });
  assert.ok(aged!.ageMs - now!.ageMs >= 3_500_000);
});

test("an object that does not exist, or is shorter than it was, is lost", async () => {
  await assert.rejects(s3.get("absent", { start: 0, end: 5 }), ObjectLost);
  await s3.put("short", content("abc"));
  await assert.rejects(s3.get("short", { start: 0, end: 5 }), ObjectLost);
  await assert.rejects(s3.get("short", { start: 10, end: 15 }), ObjectLost);
});

test("each failure of the store has its kind", async () => {
  for (const [status, code, kind] of [
    [503, "SlowDown", "busy"],
    [500, "InternalError", "busy"],
    [403, "AccessDenied", "denied"],
    [403, "QuotaExceeded", "full"],
    [507, "InsufficientStorage", "full"],
    [404, "NoSuchBucket", "noBucket"],
    [400, "InvalidRequest", "rejected"],
  ] as const) {
    store.mode({ status, code });
    await assert.rejects(s3.put("x", content("x")), kindOf(kind), code);
  }
  store.mode({ status: 404, code: "NoSuchBucket" });
  await assert.rejects(s3.find("x"), kindOf("noBucket"));
  await assert.rejects(s3.delete("x"), kindOf("noBucket"));
  store.mode("refuse");
  await assert.rejects(s3.put("x", content("x")), kindOf("unreachable"));
});

test("wrong credentials are denied", async () => {
  const stranger = store.s3({ credentials: { accessKeyId: store.credentials.accessKeyId, secretAccessKey: "wrong" } });
  await assert.rejects(stranger.put("x", content("x")), kindOf("denied"));
  stranger.close();
});

test("a request is repeated after an answer of 503, with the whole content", async () => {
  let requests = 0;
  store.onRequest(() => {
    requests++;
    store.mode(requests === 1 ? { status: 503, code: "SlowDown" } : "serve");
  });
  await s3.put("repeated", content("the whole content"));
  store.onRequest(() => {});
  assert.equal(requests, 2);
  assert.equal(String(await s3.find("repeated")), "the whole content");
});

test("a store that does not answer ends in a time-out, and the caller can give up earlier", async () => {
  store.mode("hang");
  const limits = { firstByteMs: 50, idleMs: 50, totalMs: 1000 };
  const hasty = store.s3({ limits, retryPausesMs: [] });
  await assert.rejects(hasty.find("x"), kindOf("timeout"));
  hasty.close();
  await assert.rejects(s3.find("x", AbortSignal.timeout(20)), { name: "TimeoutError" });
});

test("an address that accepts connections and says nothing, and one that refuses them, are reported", async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as AddressInfo;
  const at = (endpoint: string) =>
    store.s3({
      address: { ...store.address, endpoint },
      limits: { connectMs: 50, firstByteMs: 50 },
      retryPausesMs: [],
    });
  const first = at(`http://127.0.0.1:${port}`);
  await assert.rejects(first.put("x", content("x")), kindOf("timeout"));
  // Over TLS, the connection is open only after the handshake.
  const second = at(`https://127.0.0.1:${port}`);
  await assert.rejects(second.put("x", content("x")), kindOf("unreachable"));
  first.close();
  second.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  const third = at(`http://127.0.0.1:${port}`);
  await assert.rejects(third.put("x", content("x")), kindOf("unreachable"));
  third.close();
});

test("content of another length than announced is an error", async () => {
  const wrong = { bytes: 5, chunks: () => [Buffer.from("abcdefgh")] };
  await assert.rejects(s3.put("wrong", wrong));
  assert.equal(await s3.find("wrong"), undefined);
});
