/** Every page with data: it can be read by everyone, fits a narrow screen, keeps to its policy, and is photographed in both themes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Route } from "playwright-core";
import {
  findings,
  follow,
  inspect,
  openBrowser,
  openTab,
  settled,
  type Tab,
  withoutBrowser,
} from "../harness/browser.ts";
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
  await tab.page.goto("/");
});
after(async () => {
  await browser?.close();
  await world?.stop();
});

/** The page, and words that it shows once it has its data. */
const pages: [name: string, path: (data: WebData) => string, shows: RegExp][] = [
  ["overview", () => "/", /By receiving site[\s\S]*Your weekly report/],
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
    // Each of them opened by its address: web-states.test.ts.
    await follow(tab.page, path(data));
    await settled(tab.page, shows);
    await inspect(tab.page, name);
  });
}

test("figures: failing alone, empty, and over other spans, with a table for who cannot see plots", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  const calls = "**/v1.StatsService/GetStats";
  const answer = (status: number, body: object) => (route: Route) =>
    route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) });
  await page.route(calls, answer(500, { code: "internal", message: "The horn is bent." }));
  await page.goto("/");
  await settled(page, /The horn is bent[\s\S]*Your weekly report/);
  await page.unrouteAll();
  await page.route(calls, answer(200, {}));
  await page.getByRole("button", { name: "Try again" }).click();
  await settled(page, /Nothing was sent in the last 24 hours/);
  await page.unrouteAll();
  await page.getByText("7 d", { exact: true }).click();
  await settled(page, /Accepted 12[\s\S]*Delivered \d+ \([\d.]+%\)/);
  await page.reload();
  assert.match(page.url(), /range=7d/);
  await page
    .getByRole("img", { name: /^Bounced, delayed, complained: Bounced 3, Delayed \d+, Complaints 1/ })
    .waitFor();
  await page.getByText("The same as a table").click();
  const rows = page.getByRole("table", { name: "Mail of the last 7 days" }).getByRole("row");
  assert.equal(await rows.count(), 29);
  assert.match(await rows.nth(1).innerText(), /^\d+ \w{3}, \d\d:00\s+\d+\s/);
  assert.deepEqual(await findings(page), []);
});

test("no page went against its policy or failed in its script", { skip: withoutBrowser }, () => {
  // A picture from elsewhere that was not asked for is refused, and the browser says so.
  assert.deepEqual(
    tab.complaints.filter((text) => !text.includes("pictures.test")),
    [],
  );
});
