/** Every page with an API that fails and with no data: it shows the error or the empty state, and recovers without a reload. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Route } from "playwright-core";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  await testbed.database.sql`delete from dkim_keys`;
  await testbed.database.sql`delete from domains`;
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const fail = (route: Route) =>
  route.fulfill({
    status: 500,
    contentType: "application/json",
    body: JSON.stringify({ code: "internal", message: "The database is unavailable." }),
  });

/** The page, and the text of its empty state. */
const pages: [name: string, path: string, text: RegExp][] = [
  ["emails", "/emails", /No emails yet/],
  ["send", "/send", /No domain can send yet/],
  ["events", "/events", /No events yet/],
  ["inbound", "/inbound", /No inbound mail yet/],
  ["queue", "/queue", /The queue is empty/],
  ["suppressions", "/suppressions", /No suppressed addresses/],
  ["domains", "/domains", /No domains yet/],
  ["webhooks", "/webhooks", /No webhooks yet/],
  ["audit log", "/audit", /No changes yet/],
  ["an email that does not exist", "/emails/em_01900000-0000-7000-8000-000000000000", /Not found/],
  ["a domain that does not exist", "/domains/dom_01900000-0000-7000-8000-000000000000", /Not found/],
  ["reports of no domain", "/domains/dom_01900000-0000-7000-8000-000000000000/reports", /Not found/],
  ["a webhook that does not exist", "/webhooks/wh_01900000-0000-7000-8000-000000000000", /Not found/],
  ["a message that does not exist", "/inbound/in_01900000-0000-7000-8000-000000000000", /Not found/],
];

for (const [name, path, text] of pages) {
  test(`${name}: shows the error, then the empty state without a reload`, { skip: withoutBrowser }, async () => {
    const { page } = tab;
    await page.route("**/v1.*/*", fail);
    await page.goto(path);
    await settled(page, /The request failed[\s\S]*The database is unavailable/);
    await page.unroute("**/v1.*/*", fail);
    await settled(page, text);
  });
}

test("a failure that the numbers of the navigation do not share ends without a reload", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await page.route("**/ListAuditEntries", fail);
  await page.goto("/audit");
  await settled(page, /The request failed[\s\S]*The database is unavailable/);
  await page.unroute("**/ListAuditEntries", fail);
  await settled(page, /No changes yet/);
});

test("a list is read again at once on request", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  // No repetition helps against this error, so the page makes none.
  const deny = (route: Route) =>
    route.fulfill({
      status: 403,
      contentType: "application/json",
      body: JSON.stringify({ code: "permission_denied", message: "Not with this key." }),
    });
  await page.route("**/ListSuppressions", deny);
  await page.goto("/suppressions");
  await settled(page, /You do not have permission[\s\S]*Not with this key/);
  await page.unroute("**/ListSuppressions", deny);
  await page.getByRole("button", { name: "Try again" }).click();
  await settled(page, /No suppressed addresses/);
});

test("the overview shows an error, then the guide", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.route("**/v1.*/*", fail);
  await page.goto("/");
  await settled(page, /The database is unavailable/);
  await page.unroute("**/v1.*/*", fail);
  // Neither a reload nor a click is needed.
  await settled(page, /First steps[\s\S]*0 of 6 steps are done/);
  await inspect(page, "first-steps");
});

test("an unreachable server is reported", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/suppressions");
  await settled(page, /No suppressed addresses/);
  await page.route("**/v1.*/*", (route) => route.abort());
  await page.getByLabel("Search").fill("x");
  // Each of the two lists says so.
  await settled(
    page,
    /The server cannot be reached[\s\S]*Unsubscribed from a topic[\s\S]*The server cannot be reached/,
  );
  await page.unrouteAll();
});

test("a revoked key leads back to the sign-in page", { skip: withoutBrowser }, async () => {
  const { body } = await testbed.call("KeyService/CreateKey", {
    name: "short-lived",
    permission: "KEY_PERMISSION_FULL",
  });
  const other = await openTab(browser, testbed.program.url, { key: body.secret as string });
  await other.page.goto("/keys");
  await settled(other.page, /short-lived/);
  await testbed.call("KeyService/RevokeKey", { id: (body.key as { id: string }).id });
  await other.page.getByRole("link", { name: "Domains" }).click();
  await other.page.getByText("The server no longer accepts your key").waitFor();
  assert.equal(await other.page.getByText("short-lived").count(), 0, "the page shows no data any more");
  await other.close();
});

test("no page had a script error", { skip: withoutBrowser }, () => assert.deepEqual(tab.complaints, []));
