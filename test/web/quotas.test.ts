/** The quotas on the workspace page, and the banner of a suspended or warned workspace. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { resumptionNotice, suspensionNotice } from "../../src/quotas/notice-text.ts";
import { resume, suspend } from "../../src/quotas/store/standing.ts";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { limit } from "../harness/quotas.ts";
import { accepted } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture", POSTHORN_QUOTA_WEBHOOKS: "unlimited" } });
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

test("the workspace page shows what is used of each quota", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await limit(testbed, "default", { domains: null, keys: null, members: null, streams: null });
  await page.goto("/workspace");
  await settled(page, /This workspace has no limits yet[\s\S]*No limit[\s\S]*Webhooks\s*0 used/);
  await limit(testbed, "default", {
    emailsPerHour: 5,
    emailsPerDay: 1000,
    storedBytes: 1024 * 1024,
    domains: 1,
    keys: 10,
  });
  const to = ["a", "b", "c", "d"].map((name) => `${name}@there.test`);
  await accepted(testbed, { to, async: true });
  await page.reload();
  await settled(page, /Emails per hour[\s\S]*4 of 5 \(80 %\)[\s\S]*resets in[\s\S]*Stored content[\s\S]*of 1 MiB/);
  await page.getByRole("progressbar", { name: "Emails per hour: 80 % used" }).waitFor();
  await page.getByRole("progressbar", { name: "Domains: 100 % used" }).waitFor();
  const quotas = page.getByRole("region", { name: "Quotas" });
  await quotas.getByText("To add another domain, delete one or ask the operator for more.").waitFor();
  await inspect(page, "quotas");
  await page.setViewportSize({ width: 390, height: 900 });
  const leftOf = async (text: string) => (await quotas.getByText(text).boundingBox())!.x;
  await until(
    "amounts below the names",
    async () => (await leftOf("1 of 1 (100 %)")) === (await leftOf("4 of 5 (80 %)")),
  );
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("at 80 % and at 100 % of a quota every page says so, with the figure and what to do", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await limit(testbed, "default", { domains: 100, keys: 100, emailsPerHour: 5, emailsPerDay: 1000 });
  await page.goto("/emails");
  const banner = page.getByRole("status").filter({ hasText: "A quota is" });
  await settled(page, /A quota is almost used up[\s\S]*Emails per hour: 4 of 5 \(80 %\)/);
  await banner.getByText("At 100 % new emails are refused. Send less urgent mail later").waitFor();
  await banner.getByText(/The count resets in/).waitFor();
  await inspect(page, "quota-80");
  await follow(page, "/domains");
  await banner.waitFor();
  await banner.getByRole("button", { name: /Hide/ }).click();
  await banner.waitFor({ state: "detached" });
  await page.reload();
  await settled(page, /sender\.test/);
  assert.equal(await banner.count(), 0, "a hidden notice stays hidden");

  await accepted(testbed, { to: ["e@there.test"], async: true });
  await page.reload();
  await settled(page, /A quota is used up[\s\S]*Emails per hour: 5 of 5 \(100 %\)[\s\S]*New emails are refused/);
  await inspect(page, "quota-100");
  await banner.getByRole("link", { name: "Show quotas" }).click();
  await page.getByRole("progressbar", { name: "Emails per hour: 100 % used" }).waitFor();
  await limit(testbed, "default", { emailsPerHour: null });
  await page.reload();
  await page.getByRole("region", { name: "Quotas" }).getByText("Emails per day").waitFor();
  assert.equal(await banner.count(), 0);
});

test("a suspended workspace has a banner with the reason on every page, until it is resumed", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  const { sql } = testbed.database;
  const named = { workspaceId: testbed.workspaceId, name: "default" };
  const reason = "131 of the last 1000 recipients bounced (13.1 %). The limit is 10 %.";
  // Later outcomes of earlier mail would change the figures.
  await until("all mail to be settled", async () => {
    const open = sql`select 1 from recipients where workspace_id = ${named.workspaceId} and status in ('queued', 'delayed') limit 1`;
    return (await open).length === 0;
  });
  await suspend(sql, { notice: suspensionNotice(named, reason, undefined, Date.now()), reason, automatic: true });
  await page.goto("/emails");
  await settled(page, /This workspace is suspended and cannot send[\s\S]*131 of the last 1000/);
  await inspect(page, "suspended");
  await follow(page, "/events");
  await settled(page, /is suspended and cannot send[\s\S]*Suspended[\s\S]*The workspace cannot send/);
  await resume(sql, resumptionNotice(named, new Date(), Date.now()));
  const warning = JSON.stringify({ figure: "bounces", count: 131, recipients: 1000, message: reason });
  // With the counts behind the warning: the brake judges them again as soon as it has read the events of this test.
  const steps = JSON.stringify([[1000, 131, 0]]);
  await sql`insert into sending_records (workspace_id, steps, warning, events_to)
    select workspace_id, ${steps}::text::jsonb, ${warning}::text::jsonb, last from event_counters where workspace_id = ${testbed.workspaceId}
    on conflict (workspace_id) do update set steps = excluded.steps, warning = excluded.warning, events_to = excluded.events_to`;
  await page.goto("/events");
  await settled(page, /Too many bounces[\s\S]*131 of the last 1000[\s\S]*Resumed/);
  await inspect(page, "warned");
  assert.deepEqual(tab.complaints, []);
});
