import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { patienceMs } from "../../test/harness/wait.ts";
import { createFiles } from "./files.ts";

let folder: string;
let url: string;
const server = createServer({ keepAliveTimeout: 0 });
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-brotli-"));
  await writeFile(join(folder, "a.js"), "both");
  await writeFile(join(folder, "a.js.br"), brotliCompressSync("both"));
  await writeFile(join(folder, "b.js"), "gzip only");
  const files = await createFiles(folder);
  server.on("request", (request, response) => void files(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function fetchFile(path: string, accepted: string): Promise<{ encoding: string | undefined; body: Buffer }> {
  const request = get(url + path, {
    headers: { "accept-encoding": accepted },
    signal: AbortSignal.timeout(patienceMs),
  });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return { encoding: answer.headers["content-encoding"], body: await buffer(answer) };
}

test("a client that accepts brotli gets the copy of the build", async () => {
  const { encoding, body } = await fetchFile("/a.js", "gzip, deflate, br");
  assert.equal(encoding, "br");
  assert.equal(brotliDecompressSync(body).toString(), "both");
});

test("other clients and files without a copy get gzip or the file itself", async () => {
  for (const [path, accepted, text] of [
    ["/a.js", "gzip", "both"],
    ["/b.js", "gzip, br", "gzip only"],
  ] as const) {
    const { encoding, body } = await fetchFile(path, accepted);
    assert.equal(encoding, "gzip");
    assert.equal(gunzipSync(body).toString(), text);
  }
  const plain = await fetchFile("/a.js", "identity");
  assert.equal(plain.encoding, undefined);
  assert.equal(plain.body.toString(), "both");
});

test("the compressed copy is not a file of its own", async () => {
  const { body } = await fetchFile("/a.js.br", "identity");
  assert.equal(body.toString(), "Not found.\n");
});
