/** Every page with data: it can be read by everyone, fits a narrow screen, keeps to its policy, and is photographed in both themes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser, openTab, overflow, seriousFindings, shoot, withoutBrowser } from "../harness/browser.ts";
import { fill, startWebWorld, type WebData } from "../harness/web-data.ts";
import type { WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
let browser: Browser;
let data: WebData;
before(
  async () => {
    if (withoutBrowser) return;
    world = await startWebWorld();
    browser = await openBrowser();
    data = await fill(world);
  },
  { timeout: 60_000 },
);
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
  ["queue", () => "/queue", /./],
  ["suppressions", () => "/suppressions", /gone@there\.test/],
  ["domains", () => "/domains", /shop\.example\.com/],
  ["domain", ({ domainId }) => `/domains/${domainId}`, /ph1\._domainkey/],
  ["webhooks", () => "/webhooks", /The shop's own endpoint/],
  ["webhook", ({ webhookId }) => `/webhooks/${webhookId}`, /HTTP 20/],
  ["keys", () => "/keys", /never used|last used/],
  ["nowhere", () => "/no/such/page", /no such page/],
];

for (const colorScheme of ["light", "dark"] as const) {
  test(`every page in its ${colorScheme} colours`, { skip: withoutBrowser }, async (t) => {
    const wide = await openTab(browser, world.program.url, { key: world.program.key, colorScheme });
    const narrow = await openTab(browser, world.program.url, { key: world.program.key, colorScheme, width: 380 });
    for (const [name, path, shows] of pages) {
      await t.test(name, async () => {
        for (const [size, { page }] of Object.entries({ wide, narrow })) {
          await page.goto(path(data));
          await page.locator("main").filter({ hasText: shows }).waitFor();
          await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
          assert.equal(await overflow(page), 0, `${name} is too wide on a ${size} screen`);
          await shoot(page, `${name}-${colorScheme}-${size}`);
        }
        assert.deepEqual(await seriousFindings(wide.page), []);
        assert.match(await wide.page.title(), / · Posthorn$/);
        assert.equal(await wide.page.locator("h1").count(), 1);
      });
    }
    assert.deepEqual([...wide.complaints, ...narrow.complaints], []);
    await wide.close();
    await narrow.close();
  });
}
