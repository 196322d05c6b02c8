import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { patienceMs } from "../../test/harness/wait.ts";
import { createFiles } from "./files.ts";

const contents: Record<string, string> = {
  "index.html": "dashboard",
  "docs/index.html": "contents",
  "docs/keys.html": "keys",
  "docs/reference.html": "reference",
  "docs/reference/email.html": "emails",
  "docs/404.html": "no such page",
  "assets/a.js": "script",
  "routes.json": JSON.stringify(["/", "/emails", "/emails/$id", "/a.b"]),
};

let folder: string;
let url: string;
const server = createServer({ keepAliveTimeout: 0 });
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-files-"));
  for (const [name, text] of Object.entries(contents)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const files = await createFiles(folder);
  server.on("request", (request, response) => void files(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

const get = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url + path, { headers, signal: AbortSignal.timeout(patienceMs) });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};

const answers: [path: string, status: number, text: string][] = [
  ["/", 200, "dashboard"],
  ["/?page=2", 200, "dashboard"],
  ["/emails", 200, "dashboard"],
  ["/emails/", 200, "dashboard"],
  ["/emails/em_1?x=%2F", 200, "dashboard"],
  ["/emails/em_1/more", 404, "dashboard"],
  ["/no/such/page", 404, "dashboard"],
  ["/emailsx", 404, "dashboard"],
  ["/missing.js", 404, "Not found.\n"],
  ["/assets/a.js", 200, "script"],
  ["/assets/b.js", 404, "Not found.\n"],
  ["/docs", 200, "contents"],
  ["/docs/", 200, "contents"],
  ["/docs/keys", 200, "keys"],
  ["/docs/keys/", 200, "keys"],
  ["/docs/reference", 200, "reference"],
  ["/docs/reference/email", 200, "emails"],
  ["/docs/reference/none", 404, "no such page"],
  ["/docs/keys.md", 404, "no such page"],
  ["/docsx", 404, "dashboard"],
];
for (const [path, status, text] of answers)
  test(`GET ${path} answers with ${status}`, async () => {
    const answer = await get(path);
    assert.deepEqual([answer.status, answer.text], [status, text]);
  });

test("a page is revalidated, and an unknown path is never answered with 304", async () => {
  const etag = (await get("/docs/keys")).headers.get("etag")!;
  assert.equal((await get("/docs/keys", { "if-none-match": etag })).status, 304);
  const ofDashboard = (await get("/")).headers.get("etag")!;
  const unknown = await get("/no/such/page", { "if-none-match": ofDashboard });
  assert.deepEqual([unknown.status, unknown.headers.get("etag")], [404, null]);
  assert.equal((await get("/assets/b.js")).headers.get("cache-control"), null);
});

test("without routes.json every path without an extension is a page of the dashboard", async (t) => {
  const bare = await mkdtemp(join(tmpdir(), "posthorn-files-"));
  t.after(() => rm(bare, { recursive: true, force: true }));
  await writeFile(join(bare, "index.html"), "dashboard");
  const files = await createFiles(bare);
  let status = 0;
  const response = {
    setHeader() {},
    end() {},
    set statusCode(code: number) {
      status = code;
    },
  };
  await files({ url: "/anything", method: "GET", headers: {} } as never, response as never);
  assert.equal(status, 200);
});
