/** The suppressions page with more than one page of addresses and of reports without a recipient. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { storeUnattributed } from "../../src/inbound/store/unattributed.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

test("the reports stay within reach below a long list of addresses", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  const { sql } = testbed.database;
  const { workspaceId } = testbed;
  await sql`insert into suppressions (workspace_id, address, reason, created_at)
    select ${workspaceId}, 'gone' || n || '@there.test', 'manual', service_time() from generate_series(1, 120) n`;
  for (let n = 0; n < 45; n++)
    await storeUnattributed(sql, {
      ...{ id: makeUuid(Date.now()), workspaceId, emailId: makeUuid(Date.now()) },
      ...{ kind: n % 2 ? "bounce" : "complaint", reason: "no_token", namedRecipient: `named${n}@there.test` },
    });
  await page.goto("/suppressions");
  await settled(page, /gone\d+@there\.test[\s\S]*Reports without a recipient/);
  const addresses = page.getByRole("list", { name: "Suppressed addresses" }).getByRole("listitem");
  const reports = page.getByRole("list", { name: "Reports without a recipient" }).getByRole("listitem");
  const more = page.getByRole("button", { name: "Show more" });
  await more.first().scrollIntoViewIfNeeded();
  // A page that loads more when it sees the end of the list requests it within two frames.
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))",
  );
  await until("all reports", async () => {
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    return (await reports.count()) === 45;
  });
  assert.equal(await addresses.count(), 50, "the list above did not grow");
  for (const count of [100, 120]) {
    await more.press("Enter");
    await until(`${count} addresses`, async () => (await addresses.count()) === count);
  }
  await settled(page, /120 results[\s\S]*45 results/);
  assert.deepEqual(tab.complaints, []);
});
