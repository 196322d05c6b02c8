/** Every page with nothing on it, and with an API that fails: it says what is wrong and what to do, and recovers without a reload. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Route } from "playwright-core";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  world = await startWorld({ env: { POSTHORN_DELIVERY: "capture" } });
  await world.database.sql`delete from dkim_keys`;
  await world.database.sql`delete from domains`;
  browser = await openBrowser();
  tab = await openTab(browser, world.program.url, { key: world.program.key });
});
after(async () => {
  await browser?.close();
  await world?.stop();
});

const fail = (route: Route) =>
  route.fulfill({
    status: 500,
    contentType: "application/json",
    body: JSON.stringify({ code: "internal", message: "The horn is bent." }),
  });

/** The page, and what it says when there is nothing to show. */
const pages: [name: string, path: string, says: RegExp][] = [
  ["emails", "/emails", /No email has been sent yet/],
  ["send", "/send", /No domain can send yet/],
  ["events", "/events", /Nothing has happened yet/],
  ["inbound", "/inbound", /Nothing has arrived yet/],
  ["queue", "/queue", /Nothing waits/],
  ["suppressions", "/suppressions", /No address is suppressed/],
  ["domains", "/domains", /There is no domain yet/],
  ["webhooks", "/webhooks", /There is no webhook yet/],
  ["an email that is not there", "/emails/em_01900000-0000-7000-8000-000000000000", /It is not there/],
  ["a domain that is not there", "/domains/dom_01900000-0000-7000-8000-000000000000", /It is not there/],
  ["a webhook that is not there", "/webhooks/wh_01900000-0000-7000-8000-000000000000", /It is not there/],
  ["a message that is not there", "/inbound/in_01900000-0000-7000-8000-000000000000", /It is not there/],
];

for (const [name, path, says] of pages) {
  test(`${name}: failing, then empty`, { skip: withoutBrowser }, async () => {
    const { page } = tab;
    await page.route("**/v1.*/*", fail);
    await page.goto(path);
    await settled(page, /That did not work[\s\S]*The horn is bent/);
    await page.unroute("**/v1.*/*", fail);
    await page.getByRole("button", { name: "Try again" }).first().click();
    await settled(page, says);
  });
}

test("the overview leads through the first steps, and says when it cannot", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.route("**/v1.*/*", fail);
  await page.goto("/");
  await settled(page, /The horn is bent/);
  await page.unroute("**/v1.*/*", fail);
  await page.getByRole("button", { name: "Try again" }).first().click();
  await settled(page, /Add a domain that you send from/);
  await inspect(page, "first-steps");
});

test("a server that cannot be reached is said in plain words", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/suppressions");
  await settled(page, /No address is suppressed/);
  await page.route("**/v1.*/*", (route) => route.abort());
  await page.getByLabel("Search").fill("x");
  await page.getByText("The server cannot be reached").waitFor();
  await page.unrouteAll();
});

test("a key that was revoked meanwhile leads back to the way in", { skip: withoutBrowser }, async () => {
  const { body } = await world.call("KeyService/CreateKey", { name: "short-lived", permission: "KEY_PERMISSION_FULL" });
  const other = await openTab(browser, world.program.url, { key: body.secret as string });
  await other.page.goto("/keys");
  await settled(other.page, /short-lived/);
  await world.call("KeyService/RevokeKey", { id: (body.key as { id: string }).id });
  await other.page.getByRole("link", { name: "Domains" }).click();
  await other.page.getByText("The server no longer accepts your key").waitFor();
  assert.equal(await other.page.getByText("short-lived").count(), 0, "nothing of before is left on the page");
  await other.close();
});

test("no page failed in its script", { skip: withoutBrowser }, () => assert.deepEqual(tab.complaints, []));
