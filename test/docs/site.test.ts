/** The built documentation: every link works, every page is reached, and unknown pages are answered with 404. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "vite";
import { createFiles } from "../../src/http/files.ts";
import { dashboardRoutes, readPages } from "../../web/src/docs/build.ts";
import { root } from "../harness/pages.ts";
import { patienceMs } from "../harness/wait.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-docs-"));
  await build({ root: join(root, "web"), logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
});
after(() => rm(folder, { recursive: true, force: true }));

test("every link of the documentation works, and every page is reached from /docs", async (t) => {
  const files = await createFiles(folder);
  // Closing idle connections would reset a request that fetch sends at that moment, after a long pause on a busy machine.
  const options = { keepAliveTimeout: 0 };
  const server = createServer(options, (request, response) => void files(request, response)).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const read = new Map<string, { status: number; text: string }>();
  const open = async (path: string) => {
    if (!read.has(path)) {
      const answer = await fetch(origin + path, { signal: AbortSignal.timeout(patienceMs) });
      read.set(path, { status: answer.status, text: await answer.text() });
    }
    return read.get(path)!;
  };
  const waiting = ["/docs"];
  const reached = new Set(waiting);
  const broken: string[] = [];
  for (const page of waiting) {
    const { text } = await open(page);
    assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)|\son\w+=|%[A-Z]{4,}%/, page);
    for (const [, written] of text.matchAll(/\s(?:href|src|data-index)="([^"]*)"/g)) {
      const target = new URL(written!.replaceAll("&amp;", "&"), origin + page);
      // Another server, or a page that is not a file: test/http has /openapi.json.
      if (target.origin !== origin || target.pathname === "/openapi.json") continue;
      const answer = await open(target.pathname);
      const anchor = decodeURIComponent(target.hash.slice(1));
      if (answer.status !== 200 || (anchor !== "" && !answer.text.includes(` id="${anchor}"`)))
        broken.push(`${page}: ${written}`);
      if (!target.pathname.startsWith("/docs") || /\.\w+$/.test(target.pathname)) continue;
      if (!reached.has(target.pathname)) waiting.push(target.pathname);
      reached.add(target.pathname);
    }
  }
  assert.deepEqual(broken, []);
  assert.deepEqual(
    [...reached].sort(),
    readPages()
      .map(({ address }) => address)
      .sort(),
  );
  assert.equal((await open("/docs/no-such-page")).status, 404);
  assert.match((await open("/docs/no-such-page")).text, /Page not found/);
  for (const path of dashboardRoutes()) assert.equal((await open(path)).status, 200, path);
  assert.ok(dashboardRoutes().length > 20);
});
