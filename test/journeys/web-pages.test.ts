/** Every page with data: it can be read by everyone, fits a narrow screen, keeps to its policy, and is photographed in both themes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { fill, startWebWorld, type WebData } from "../harness/web-data.ts";
import type { WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
let browser: Browser;
let tab: Tab;
let data: WebData;
before(async () => {
  if (withoutBrowser) return;
  world = await startWebWorld();
  browser = await openBrowser();
  data = await fill(world);
  tab = await openTab(browser, world.program.url, { key: world.program.key });
});
after(async () => {
  await browser?.close();
  await world?.stop();
});

/** The page, and words that it shows once it has its data. */
const pages: [name: string, path: (data: WebData) => string, shows: RegExp][] = [
  ["overview", () => "/", /Your weekly report/],
  ["emails", () => "/emails", /Your order 4711/],
  ["email", ({ emailId }) => `/emails/${emailId}`, /bounced@there\.test[\s\S]*550/],
  ["send", () => "/send", /@sender\.test/],
  ["events", () => "/events", /Delivered/],
  ["inbounds", () => "/inbound", /Ann Smith/],
  ["inbound", ({ inboundId }) => `/inbound/${inboundId}`, /The email it answers[\s\S]*Your order 4711/],
  ["queue", () => "/queue", /there\.test/],
  ["suppressions", () => "/suppressions", /gone@there\.test/],
  ["domains", () => "/domains", /shop\.example\.com/],
  ["domain", ({ domainId }) => `/domains/${domainId}`, /ph1\._domainkey/],
  ["webhooks", () => "/webhooks", /The shop's own endpoint/],
  ["webhook", ({ webhookId }) => `/webhooks/${webhookId}`, /HTTP 20/],
  ["keys", () => "/keys", /never used|last used/],
  ["nowhere", () => "/no/such/page", /no such page/],
];

for (const [name, path, shows] of pages) {
  test(`the page ${name}`, { skip: withoutBrowser }, async () => {
    await tab.page.goto(path(data));
    await settled(tab.page, shows);
    await inspect(tab.page, name);
  });
}

test("no page went against its policy or failed in its script", { skip: withoutBrowser }, () => {
  // A picture from elsewhere that was not asked for is refused, and the browser says so.
  assert.deepEqual(
    tab.complaints.filter((text) => !text.includes("pictures.test")),
    [],
  );
});
