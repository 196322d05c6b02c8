import assert from "node:assert/strict";
import { test } from "node:test";
import { createPageCache, type PageCacheOptions } from "./pages.ts";
import type { StoredEvent } from "./store.ts";

const event = (characters: number): StoredEvent => ({
  number: "1",
  id: "",
  type: "domain.updated",
  emailId: null,
  messageId: null,
  metadata: {},
  payload: { domain: "x".repeat(characters) },
  createdAt: new Date(0),
});

function startCache(options: Partial<PageCacheOptions> = {}) {
  const reads: string[] = [];
  const cache = createPageCache({
    maxBytes: 1_000_000,
    maxWorkspaceBytes: 500_000,
    maxAgeMs: 60_000,
    onPage() {},
    ...options,
  });
  const get = (workspaceId: string, key: string, characters = 0) =>
    cache.get(workspaceId, key, async () => {
      reads.push(`${workspaceId} ${key}`);
      return { events: [event(characters)], reached: 1n, cuts: [] };
    });
  return { cache, reads, get };
}

test("readers of the same page share one read, also while it is running", async () => {
  const { reads, get } = startCache();
  const [one, two] = await Promise.all([get("a", "1"), get("a", "1")]);
  assert.equal(one, two);
  assert.equal(await get("a", "1"), one);
  assert.notEqual(await get("b", "1"), one);
  assert.deepEqual(reads, ["a 1", "b 1"]);
});

test("a read that fails is repeated by the next reader", async () => {
  const { cache, get } = startCache();
  const failing = () => cache.get("a", "1", () => Promise.reject(new Error("away")));
  await Promise.all([assert.rejects(failing(), /away/), assert.rejects(failing(), /away/)]);
  assert.equal((await get("a", "1")).reached, 1n);
});

test("a page is read again when it is old", async () => {
  const { reads, get } = startCache({ maxAgeMs: 0 });
  await get("a", "1");
  await get("a", "1");
  assert.equal(reads.length, 2);
});

test("a workspace's pages are bounded, and dropping them does not touch another workspace", async () => {
  const { cache, reads, get } = startCache();
  await get("other", "1", 10_000);
  for (let i = 0; i < 50; i++) await get("flood", String(i), 10_000);
  assert.ok(cache.bytes() <= 500_000 + 50_000, `${cache.bytes()} bytes`);
  const before = reads.length;
  await get("other", "1");
  await get("flood", "49");
  assert.equal(reads.length, before);
  await get("flood", "0");
  assert.equal(reads.length, before + 1);
});

test("all pages together are bounded, encodings included, and the least recently used workspace loses its pages first", async () => {
  const { cache, reads, get } = startCache();
  for (let i = 0; i < 40; i++) await get(`w${i}`, "1", 10_000);
  assert.ok(cache.bytes() <= 1_000_000, `${cache.bytes()} bytes`);
  const page = await get("w39", "1");
  const before = cache.bytes();
  const { bytes } = await page.encoded({ form: "lines", compression: undefined }, { inboundText: true });
  assert.ok(cache.bytes() === before + bytes.length || cache.bytes() < before, "the encoding counts");
  assert.ok(cache.bytes() <= 1_000_000);
  const known = reads.length;
  await get("w39", "1");
  assert.equal(reads.length, known);
  await get("w0", "1");
  assert.equal(reads.length, known + 1);
});

test("a page larger than the limit is sent and not kept", async () => {
  const { cache, get } = startCache();
  const page = await get("a", "1", 400_000);
  assert.equal(page.events.length, 1);
  assert.equal(cache.bytes(), 0);
});
