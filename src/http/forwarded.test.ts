import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { createForwardedShares, createProxyTrust } from "./forwarded.ts";
import { createHttp, type Response } from "./server.ts";

/** A server behind a proxy in these ranges that answers when `go` is called. */
async function serve(t: TestContext, ranges: string[]) {
  const trust = createProxyTrust(ranges);
  const shares = createForwardedShares(trust, { total: 8, factor: 1 });
  const waiting: Response[] = [];
  const http = createHttp({
    host: "127.0.0.1",
    port: 0,
    log: silentLog(),
    metrics: createMetrics(),
    limits: { connections: 16 },
    isTrustedProxy: trust.isTrusted,
    handle(request, response) {
      if (shares.admit(request, response)) waiting.push(response);
    },
  });
  const { port } = await http.start();
  t.after(() => http.stop(0));
  const get = (client: string, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${port}/`, { headers: { "x-forwarded-for": client }, signal });
  const go = () => {
    for (const response of waiting.splice(0)) response.end("ok");
  };
  return { shares, waiting, get, go };
}

test("behind a trusted proxy the forwarded address has a share of the requests, and the excess is refused", async (t) => {
  const { shares, waiting, get, go } = await serve(t, ["127.0.0.0/8"]);
  const stop = new AbortController();
  // The last entry is the one that the proxy has added.
  const held = [1, 2, 3].map(() => get("192.0.2.99, 192.0.2.1", stop.signal).catch(() => undefined));
  await until("requests in progress", () => waiting.length === 3);
  assert.equal(shares.count(), 3);
  const fourth = get("192.0.2.1", stop.signal).catch(() => undefined);
  await until("the share to be used", () => shares.count() === 4);
  const refused = await get("192.0.2.1");
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "5");
  assert.match(await refused.text(), /"code":"resource_exhausted".*google\.rpc\.RetryInfo/);
  const other = get("192.0.2.2");
  await until("the request of another client", () => waiting.length === 5);
  go();
  assert.equal(await (await other).text(), "ok");
  await Promise.all([...held, fourth]);
  await until("the requests to end", () => shares.count() === 0);
});

test("a peer that is no trusted proxy cannot choose the address that it is counted under", async (t) => {
  const { shares, waiting, get, go } = await serve(t, ["10.0.0.0/8"]);
  const answer = get("192.0.2.1");
  await until("the request", () => waiting.length === 1);
  assert.equal(shares.count(), 0);
  go();
  assert.equal((await answer).status, 200);
});

test("a forwarded address with a port counts, and one that cannot be read counts as the proxy's", async (t) => {
  const { shares, waiting, get, go } = await serve(t, ["127.0.0.0/8"]);
  const stop = new AbortController();
  const held = ["192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.1:4"].map((client) =>
    get(client, stop.signal).catch(() => undefined),
  );
  await until("requests in progress", () => shares.count() === 4);
  assert.equal((await get("192.0.2.1:5")).status, 429);
  const unreadable = get("unknown");
  await until("the request with an unreadable address", () => waiting.length === 5);
  assert.equal(shares.count(), 5);
  go();
  await Promise.all([...held, unreadable]);
});
