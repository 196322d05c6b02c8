/** Bytes that arrive in chunks. A sender chooses the size of its chunks, so their number must not decide how much memory they take. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { fetchWebhookHandler, Posthorn } from "./index.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const size = 100_000;

async function* singleBytes(): AsyncGenerator<Uint8Array> {
  const block = new Uint8Array(1000).map((_, i) => i);
  for (let i = 0; i < size; i++) yield block.subarray(i % 1000, (i % 1000) + 1);
}

/** The most memory that was in use at once while `work` ran, in bytes above the start. */
async function peakOf(work: (chunks: AsyncGenerator<Uint8Array>) => Promise<unknown>): Promise<number> {
  const { heapUsed: start } = process.memoryUsage();
  let atEnd = 0;
  async function* measured() {
    yield* singleBytes();
    collect();
    atEnd = process.memoryUsage().heapUsed;
  }
  await work(measured());
  return atEnd - start;
}

test("a body or an attachment in chunks of one byte takes no more memory than in large ones", {
  timeout: 60_000,
}, async () => {
  let sent = "";
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    sent = String(init?.body);
    return new Response('{"id":"em_1"}');
  };
  const { emails } = new Posthorn({ apiKey: "ph_x", fetch, timeoutMs: 60_000 });
  const email = { from: "shop@example.com", to: "ada@example.net", subject: "Hello" };
  const attached = await peakOf((content) => emails.send({ ...email, attachments: [{ content, filename: "a" }] }));
  const { attachments } = JSON.parse(sent) as { attachments: [{ base64Content: string }] };
  const bytes = Buffer.from(attachments[0].base64Content, "base64");
  assert.equal(bytes.length, size);
  assert.ok(bytes.every((byte, i) => byte === (i % 1000) % 256));
  const posted = await peakOf(async (chunks) => {
    const init = {
      method: "POST",
      body: Readable.toWeb(Readable.from(chunks)),
      duplex: "half",
    } as unknown as RequestInit;
    const handle = fetchWebhookHandler({ secret: "whsec_AAAA", onEvent: () => {} });
    assert.equal((await handle(new Request("http://app.test/", init))).status, 401);
  });
  // An object of V8 for each byte would take more than 10 MB.
  for (const peak of [attached, posted]) assert.ok(peak < 5_000_000, `${Math.round(peak / 1e6)} MB`);
});
