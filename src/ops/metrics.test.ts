import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./metrics.ts";

const sitesIn = (text: string) =>
  new Set(
    [...text.matchAll(/^posthorn_delivery_site_attempts_total\{site="([^"]*)",outcome="\w+"\} \d+$/gm)].map(
      ([, site]) => site,
    ),
  );

test("the number of site labels is bounded, however many receivers get mail", async () => {
  const metrics = createMetrics();
  for (let i = 0; i < 5_000; i++) metrics.countSite(`${i}.example`, "bounced", i);
  const text = await metrics.registry.metrics();
  assert.equal(sitesIn(text).size, 41);
  assert.match(text, /^posthorn_delivery_site_attempts_total\{site="other",outcome="bounced"\} 4960$/m);
});

test("a site that loses its label is removed from the metrics", async () => {
  const metrics = createMetrics();
  for (let i = 0; i < 40; i++) metrics.countSite(`${i}.example`, "accepted", 0);
  for (let i = 0; i < 100; i++) metrics.countSite("busy.example", "deferred", 1);
  metrics.countSite("busy.example", "deferred", 600_000);
  const sites = sitesIn(await metrics.registry.metrics());
  assert.ok(sites.has("busy.example"));
  assert.equal(sites.size, 41, "40 sites and other");
});

test("a site name cannot inject lines into the metrics", async () => {
  const metrics = createMetrics();
  metrics.countSite('a"} 1\nevil 1\n\\', "accepted", 0);
  const text = await metrics.registry.metrics();
  assert.doesNotMatch(text, /^evil/m);
});

test("all outcomes of a site and of webhooks have a series from the first attempt on", async () => {
  const metrics = createMetrics();
  metrics.countSite("there.test", "deferred", 0);
  const text = await metrics.registry.metrics();
  for (const [outcome, count] of Object.entries({ accepted: 0, deferred: 1, bounced: 0, failed: 0 }))
    assert.ok(
      text.includes(`posthorn_delivery_site_attempts_total{site="there.test",outcome="${outcome}"} ${count}\n`),
    );
  assert.match(text, /^posthorn_webhook_attempts_total\{outcome="retry"\} 0$/m);
});
