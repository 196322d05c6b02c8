/** Every page with data: accessibility, narrow screens, Content-Security-Policy, and screenshots in both color schemes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { fill, startWebTestbed, type WebData } from "../harness/web-data.ts";
import type { WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
let browser: Browser;
let tab: Tab;
let data: WebData;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startWebTestbed();
  browser = await openBrowser();
  data = await fill(testbed);
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  await tab.page.goto("/");
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

/** The page, and text that it shows when its data is loaded. */
const pages: [name: string, path: (data: WebData) => string, shows: RegExp][] = [
  ["overview", () => "/", /Bounce rate[\s\S]*Needs your attention[\s\S]*shop\.example\.com/],
  ["emails", () => "/emails", /Your order 4711/],
  ["email", ({ emailId }) => `/emails/${emailId}`, /bounced@there\.test[\s\S]*550/],
  ["send", () => "/send", /@sender\.test/],
  ["events", () => "/events", /Delivered/],
  ["inbounds", () => "/inbound", /Ann Smith/],
  ["inbound", ({ inboundId }) => `/inbound/${inboundId}`, /Original email[\s\S]*Your order 4711/],
  ["queue", () => "/queue", /there\.test/],
  ["suppressions", () => "/suppressions", /gone@there\.test[\s\S]*Reports without a recipient[\s\S]*it names/],
  ["domains", () => "/domains", /shop\.example\.com/],
  ["domain", ({ domainId }) => `/domains/${domainId}`, /ph1\._domainkey/],
  ["deliverability-page", ({ domainId }) => `/domains/${domainId}/deliverability`, /No check yet/],
  [
    "domain-reports",
    ({ domainId }) => `/domains/${domainId}/reports`,
    /Who sends as[\s\S]*192\.0\.2\.1[\s\S]*Google Inc/,
  ],
  ["webhooks", () => "/webhooks", /The shop's own endpoint/],
  ["webhook", ({ webhookId }) => `/webhooks/${webhookId}`, /HTTP 20/],
  ["keys", () => "/keys", /never used|last used/],
  ["audit", () => "/audit", /suppressed an address[\s\S]*created a webhook/],
  ["nowhere", () => "/no/such/page", /Page not found/],
];

for (const [name, path, shows] of pages) {
  test(`the page ${name} is accessible and fits a narrow screen`, { skip: withoutBrowser }, async () => {
    // states.test.ts opens each page by its URL.
    await follow(tab.page, path(data));
    await settled(tab.page, shows);
    await inspect(tab.page, name);
  });
}

test("no page violated its Content-Security-Policy or had a script error", { skip: withoutBrowser }, () => {
  // Blocked remote images appear in the console and are expected.
  assert.deepEqual(
    tab.complaints.filter((text) => !text.includes("pictures.test")),
    [],
  );
});
