/** domains.*: registering a domain, and waiting until it is verified. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { DomainService, DomainStatus } from "../../src/gen/v1/domain_pb.ts";
import type { PosthornError } from "../src/index.ts";
import { rejection, startPeer } from "./peer.ts";

async function peer(t: TestContext, service: Partial<ServiceImpl<typeof DomainService>>) {
  const started = await startPeer({ routes: (router) => router.service(DomainService, service) });
  t.after(() => started.close());
  return started.client.domains;
}

const summary = { message: "Publish ph1._domainkey.example.com.", canSend: false };

test("a domain is added by its name or by a request", async (t) => {
  const domains = await peer(t, {
    addDomain: ({ domain, mailFromLabel }) => ({ domain: { id: "dom_1", domain }, message: `label ${mailFromLabel}` }),
  });
  assert.equal((await domains.add("example.com")).domain.domain, "example.com");
  const other = await domains.add({ domain: "example.com", mailFromLabel: "returns" });
  assert.equal(other.message, "label returns");
});

test("waitUntilReady checks at the server's interval until the domain is ready", async (t) => {
  const states = [DomainStatus.PENDING, DomainStatus.VERIFYING, DomainStatus.READY];
  let checks = 0;
  const domains = await peer(t, {
    verifyDomain: () => ({
      domain: { id: "dom_1", domain: "example.com", status: states[checks++]!, summary },
      wasRefreshed: false,
      nextRetryAt: timestampFromMs(Date.now() + 10),
    }),
  });
  const seen: string[] = [];
  const domain = await domains.waitUntilReady("dom_1", { onProgress: ({ status }) => seen.push(status) });
  assert.equal(domain.status, "DOMAIN_STATUS_READY");
  assert.deepEqual(seen, ["DOMAIN_STATUS_PENDING", "DOMAIN_STATUS_VERIFYING", "DOMAIN_STATUS_READY"]);
});

test("with untilCanSend, waitUntilReady returns as soon as the domain can send", async (t) => {
  const domains = await peer(t, {
    verifyDomain: () => ({
      domain: { id: "dom_1", status: DomainStatus.VERIFYING, summary: { ...summary, canSend: true } },
    }),
  });
  assert.equal((await domains.waitUntilReady("dom_1", { untilCanSend: true })).status, "DOMAIN_STATUS_VERIFYING");
});

test("waitUntilReady throws the missing record after the time limit, and canceled after an abort", async (t) => {
  const domains = await peer(t, {
    verifyDomain: () => ({ domain: { id: "dom_1", domain: "example.com", status: DomainStatus.PENDING, summary } }),
  });
  const late = await rejection<PosthornError>(domains.waitUntilReady("dom_1", { timeoutMs: 1 }));
  assert.equal(late.code, "deadline_exceeded");
  assert.match(late.message, /example\.com is not ready .* Publish ph1\._domainkey/);
  const controller = new AbortController();
  const waiting = domains.waitUntilReady("dom_1", {
    signal: controller.signal,
    onProgress: () => controller.abort(),
  });
  assert.equal((await rejection<PosthornError>(waiting)).code, "canceled");
});
