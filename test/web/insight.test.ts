/** The overview: figures next to their limits, the chart by pointer and by keyboard, insight tables, attention, alerts, and links to the emails. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Route } from "playwright-core";
import { findings, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  await testbed.call("StatsService/UpdateStatsSettings", { metadataKeys: { keys: ["campaign"] } });
  await testbed.call("DomainService/AddDomain", { domain: "shop.example.com" });
  for (const [i, name] of ["delivered", "delivered", "bounced", "delivered"].entries()) {
    const metadata = { campaign: i < 2 ? "spring" : "winter" };
    await untilFinished(
      testbed,
      await accepted(testbed, { to: [`${name}@there${i}.test`], subject: `Number ${i}`, metadata }),
    );
  }
  await until("the mail to be counted", async () => {
    const { body } = await testbed.call("StatsService/GetStats", {});
    const totals = body.totals as Record<string, number>;
    return totals.delivered === 3 && totals.bounced === 1 && totals.accepted === 4;
  });
  await addHistory();
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key, width: 1440 });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

/** Mail of the last 30 days, as the count loop would have stored it, and an alert. */
async function addHistory(): Promise<void> {
  const { sql } = testbed.database;
  const { workspaceId } = testbed;
  await sql`
    insert into stats (workspace_id, hour, site, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed, failed, canceled, times)
    select ${workspaceId}, date_trunc('day', now()) - n * interval '1 day', s.site, 100, 100, 900 + n * 13 % 170, 0, 10 + n % 7, 20 + n % 9, n % 2, 0, 0, 0,
      '{0,0,400,300,100,20}'
    from generate_series(2, 28) n, unnest('{"", google.com, outlook.com, icloud.com, other}'::text[]) as s(site)`;
  await sql`
    insert into rate_alerts (workspace_id, figure, rate, threshold, count, recipients, message, raised_at, is_raised, reported_at)
    values (${workspaceId}, 'complaints', 0.0041, 0.003, 21, 5120,
      '21 complaints about 5,120 delivered recipients in the last 24 hours (0.41 %). The threshold is 0.3 %.', now(), true, service_time())`;
  // The program would end the alert, because there were no complaints.
  await sql`
    insert into rate_alert_marks (workspace_id, events_to, judged_at) values (${workspaceId}, 0, 'infinity')
    on conflict (workspace_id) do update set judged_at = excluded.judged_at`;
}

const bars = () => tab.page.getByRole("list", { name: "Recipients by outcome" }).getByRole("link");

test("the overview shows rates next to their limits, in both schemes and on narrow screens", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await page.goto("/?range=30d");
  await settled(page, /Bounce rate[\s\S]*Limit 5 %[\s\S]*Gmail and Yahoo: limit 0\.3 %[\s\S]*google\.com/);
  await settled(page, /Needs your attention[\s\S]*Complaint rate: 21 complaints[\s\S]*shop\.example\.com cannot send/);
  await settled(page, /as of \d\d:\d\d:\d\d/);
  await inspect(page, "insight");
  await page.setViewportSize({ width: 820, height: 1100 });
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(await findings(page), []);
  await page.screenshot({ path: "web/screenshots/insight-tablet.png", fullPage: true });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: "web/screenshots/insight-dark.png", fullPage: true });
});

test("a bar shows its values by pointer and by keyboard, and leads to its emails", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/?range=24h");
  await settled(page, /Recipients by outcome/);
  assert.equal(await bars().count(), 24);
  const tip = page.locator(".chart-tip");
  await bars().last().hover();
  await tip.getByText("Bounced").waitFor();
  await page.screenshot({ path: "web/screenshots/insight-hover.png" });
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: "detached" });
  // The bars are one stop of the Tab key.
  await page
    .getByRole("link", { name: /^Complaints/ })
    .first()
    .focus();
  await page.keyboard.press("Tab");
  await tip.waitFor();
  assert.match(
    (await page.evaluate<string>("document.activeElement.ariaLabel")) ?? "",
    /Delivered \d+, Delays \d+, Bounced/,
  );
  await page.keyboard.press("Home");
  assert.equal(
    await bars()
      .first()
      .evaluate((bar) => bar.matches(":focus")),
    true,
  );
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Escape");
  await tip.waitFor({ state: "detached" });
  // The mail may be of the previous hour by now.
  await page.getByRole("link", { name: /Bounced 1,.*Show emails/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/emails\?from=/);
  await settled(page, /Number \d/);
});

test("numbers lead to the emails behind them, by outcome and by metadata", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/");
  await settled(page, /Recipients by outcome/);
  await page.getByRole("link", { name: /^Bounce rate/ }).click();
  await page.waitForURL(/outcome=bounced/);
  await settled(page, /Number 2/);
  assert.doesNotMatch(await page.locator("main").innerText(), /Number 0/);
  await page.goto("/");
  await page.getByRole("button", { name: "campaign" }).click();
  await settled(page, /spring[\s\S]*winter/);
  assert.match(page.url(), /by=metadata/);
  const row = page.getByRole("row", { name: /^spring/ });
  assert.match(await row.innerText(), /spring\s+2\s+0 %\s+0 %/);
  assert.match(await page.getByRole("row", { name: /^winter/ }).innerText(), /winter\s+1\s+50 %\s+0 %/);
  await row.getByRole("link").first().click();
  await settled(page, /Number [01]/);
  assert.doesNotMatch(await page.locator("main").innerText(), /Number [23]/);
  for (const [name, shows] of [
    ["API keys", /Key[\s\S]*3/],
    ["Domains", /sender\.test/],
  ] as const) {
    await page.goto("/");
    await page.getByRole("button", { name, exact: true }).click();
    await settled(page, shows);
  }
});

test("a receiving site leads to its emails, and its filter can be removed", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  const main = page.locator("main");
  // The mailbox of capture mode is a site, too.
  const receiver = page.getByRole("row", { name: /^posthorn\.test/ });
  for (const [number, shown, hidden] of [
    [/^posthorn\.test$/, [0, 1, 2, 3], []],
    [/^3$/, [0, 1, 3], [2]],
    [/^25 %$/, [2], [0, 1, 3]],
  ] as const) {
    await page.goto("/");
    await receiver.getByRole("link", { name: number }).first().click();
    await page.waitForURL(/\/emails\?.*site=posthorn\.test/);
    for (const n of shown) await main.getByText(`Number ${n}`, { exact: true }).waitFor();
    for (const n of hidden) assert.equal(await main.getByText(`Number ${n}`, { exact: true }).count(), 0);
  }
  await page.goto("/?range=30d");
  const other = page.getByRole("row", { name: /^Other/ });
  await other.waitFor();
  assert.equal(await other.getByRole("link").count(), 0, "the log has no filter for the other sites");
  await page
    .getByRole("row", { name: /^google\.com/ })
    .getByRole("link")
    .nth(1)
    .click();
  await page.waitForURL(/site=google\.com/);
  const chip = page.getByRole("button", { name: "Receiving site: google.com" });
  await chip.waitFor();
  await settled(page, /No emails match/);
  assert.doesNotMatch(await main.innerText(), /Number \d/);
  assert.deepEqual(await findings(page), []);
  await page.screenshot({ path: "web/screenshots/insight-site.png" });
  await chip.click();
  await main.getByText("Number 3", { exact: true }).waitFor();
  assert.equal(await chip.count(), 0);
  assert.doesNotMatch(page.url(), /site=/);
  assert.match(page.url(), /outcome=delivered/);
});

test("thresholds and metadata keys are changed in a dialog, and errors are at their fields", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await page.goto("/");
  await page.getByRole("button", { name: "Alerts" }).click();
  const dialog = page.getByRole("dialog", { name: "Alerts and metadata" });
  const threshold = dialog.getByLabel("Threshold in %");
  await threshold.first().fill("200");
  await dialog.getByLabel("Metadata keys").fill("a, b, c, d");
  await dialog.getByRole("button", { name: "Save changes" }).click();
  await dialog.getByText(/at most 3 are allowed/).waitFor();
  await dialog.getByText(/Enter a percentage from 0 to 100/).waitFor();
  assert.deepEqual(await findings(page), []);
  await page.screenshot({ path: "web/screenshots/insight-settings.png" });
  await threshold.first().fill("2.5");
  await dialog.getByLabel("Metadata keys").fill("campaign, order");
  await dialog.getByLabel("Alert on complaint rate").uncheck();
  await dialog.getByRole("button", { name: "Save changes" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "order", exact: true }).waitFor();
  const { body } = await testbed.call("StatsService/GetStatsSettings", {});
  const { bounceAlert, complaintAlert } = body.settings as Record<string, Record<string, unknown>>;
  assert.deepEqual([bounceAlert?.rate, complaintAlert?.disabled], [0.025, true]);
});

test("the overview shows an error, no mail and a table, and says when it is no longer current", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  const calls = "**/v1.StatsService/GetStats";
  const respond = (status: number, body: object) => (route: Route) =>
    route.fulfill({ status, contentType: "application/json", body: JSON.stringify(body) });
  await page.route(calls, respond(500, { code: "internal", message: "The database is unavailable." }));
  // Without a domain that needs attention, so that nothing is left in the list.
  await page.route("**/v1.DomainService/ListDomains", respond(200, {}));
  await page.goto("/");
  await settled(page, /The database is unavailable[\s\S]*Needs your attention[\s\S]*Rates are unknown/);
  assert.doesNotMatch(await page.locator("main").innerText(), /are fine/);
  await page.unroute(calls);
  await page.route(calls, respond(200, {}));
  await page.getByRole("button", { name: "Try again" }).click();
  await settled(page, /No mail in the last 24 hours/);
  await settled(page, /Nothing\. Domains, webhooks, quotas, receivers and rates are fine\./);
  const denied = respond(403, { code: "permission_denied", message: "The key lacks the scope." });
  for (const method of ["WorkspaceService/GetQuotas", "QueueService/ListDestinations"])
    await page.route(`**/v1.${method}`, denied);
  await page.reload();
  await settled(page, /Nothing\. Domains, webhooks and rates are fine\./);
  await page.unrouteAll();
  await page.getByRole("button", { name: "Last 24 hours" }).click();
  // While the answer for the new range is missing, the old figures are not shown as current.
  let isHeld = true;
  await page.route(calls, async (route) => {
    await until("the figures to be seen", () => !isHeld);
    await route.continue();
  });
  await page.getByRole("menuitemradio", { name: "Last 7 days" }).click();
  await page.locator("[aria-busy=true][inert]").waitFor();
  isHeld = false;
  await settled(page, /Recipients by outcome/);
  await page.unroute(calls);
  assert.match(page.url(), /range=7d/);
  await page.getByText("Show as table").click();
  const rows = page.getByRole("table", { name: "Mail in the last 7 days" }).getByRole("row");
  assert.equal(await rows.count(), 29);
  assert.ok((await rows.allInnerTexts()).some((row) => /^\d+ \w{3}, \d\d:00\s+4\s+3\s/.test(row)));
  assert.deepEqual(await findings(page), []);
  await page.route(calls, (route) => route.abort());
  await page
    .getByText(/not current: the server does not answer/)
    .first()
    .waitFor();
  await page.unrouteAll();
  assert.deepEqual(tab.complaints, []);
});
