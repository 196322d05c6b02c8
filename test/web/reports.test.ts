/** The page of a domain's reports in a browser: from the record to publish, over the first report, to sources, TLS and the next step. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { inspect, openBrowser, openTab, settled, shoot, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { domainOf, recordOf, type WireDomain } from "../harness/domain-answers.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { daysBefore, failingAddress, fewAddresses, ownAddress, storeReports } from "../harness/report-data.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let dns: ScriptedDns;
let program: RunningProgram;
let browser: Browser;
let tab: Tab;
let page: Page;
let domain: WireDomain;
/** The day before which the reports are. */
let today: string;
const name = "shop.contoso.test";
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  dns = await startScriptedDns();
  for (const zone of ["test", "contoso.test", "arpa", "example"]) dns.zone(zone);
  dns.set("7.100.51.198.in-addr.arpa", "PTR", "out.news.example");
  dns.set("out.news.example", "A", failingAddress);
  program = await startProgram({
    databaseUrl: database.url,
    env: {
      POSTHORN_RESOLVERS: `127.0.0.1:${dns.port}`,
      POSTHORN_VERIFY_INTERVAL_MS: "0",
      POSTHORN_PUBLIC_IPS: ownAddress,
    },
  });
  domain = domainOf(await program.call("DomainService/AddDomain", { domain: name }));
  browser = await openBrowser();
  tab = await openTab(browser, program.url, { key: program.key, width: 1440 });
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await dns?.stop();
  await database?.drop();
});

const region = (title: string | RegExp) => page.getByRole("region", { name: title });
const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
const table = () => page.getByRole("table", { name: "Sources" });
const opener = (source: string) => table().getByRole("button", { name: source, exact: true });
const bars = (title: string) => page.getByRole("list", { name: title }).getByRole("link");
const path = () => {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
};

async function copies(button: string, text: string): Promise<void> {
  await page.getByRole("button", { name: button, exact: true }).press("Enter");
  await until(`${text} on the clipboard`, async () => (await copied()) === text);
}

async function addressOf(): Promise<string> {
  const { body } = await program.call("ReportService/GetDmarcSummary", { domainId: domain.id });
  return body.reportAddress as string;
}

async function publishDmarc(value: string): Promise<void> {
  dns.set(`_dmarc.${name}`, "TXT", value);
  domainOf(await program.call("DomainService/VerifyDomain", { id: domain.id }));
}

test("before the first report, the page has the record to publish and says how reports come", {
  skip: withoutBrowser,
}, async () => {
  await page.goto(`/domains/${domain.id}`);
  await settled(page, /Cannot send yet/);
  assert.equal(await page.getByText("next step", { exact: true }).count(), 0, "the table shows what is missing");
  await page.getByRole("navigation", { name: "Domain" }).getByRole("link", { name: "Reports" }).click();
  await settled(
    page,
    /No DMARC reports yet[\s\S]*one of the domain's DKIM records is in place\. There is nothing else to set up[\s\S]*No TLS reports yet[\s\S]*No reports yet/,
  );
  assert.equal(await page.title(), `Reports · ${name} · Posthorn`);
  const address = await addressOf();
  await region("Protection by DMARC").getByText("Publish a DMARC record.").waitFor();
  await copies("Copy the name of the DMARC record", "_dmarc.shop");
  await copies("Copy the full name of the DMARC record", `_dmarc.${name}`);
  await copies("Copy the value of the DMARC record", `v=DMARC1; p=none; rua=mailto:${address}`);
  await copies("Copy the report address", address);
  await copies("Copy the name of the TLS reporting record", "_smtp._tls.shop");
  await copies("Copy the value of the TLS reporting record", `v=TLSRPTv1; rua=mailto:${address}`);
  const stages = page.getByRole("list", { name: "Stages to p=reject" }).getByRole("listitem");
  assert.deepEqual(await stages.evaluateAll((all) => all.map((one) => one.dataset.state)), ["next", "later", "later"]);
  await inspect(page, "reports-empty");
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("with the record in place, the page waits for reports, then shows the next step", {
  skip: withoutBrowser,
}, async () => {
  await publishDmarc(`v=DMARC1; p=none; rua=mailto:${await addressOf()}`);
  const { name: dkimName, value } = recordOf(domain, "dkim1");
  dns.set(dkimName, "CNAME", value);
  domainOf(await program.call("DomainService/VerifyDomain", { id: domain.id }));
  await page.reload();
  await settled(page, /Wait for more reports\.[\s\S]*if the DMARC record names it\. There is nothing else to set up/);
  today = await storeReports(database.sql, name);
  await page.reload();
  await settled(page, /You can change the policy to quarantine\./);
  const protection = await region("Protection by DMARC").innerText();
  assert.match(protection, /546 of 20,626 reported messages failed DMARC/);
  assert.match(protection, /Last 30 days: 20,626 messages on 20 days, 97\.4 % aligned/);
  await copies("Copy the value of the DMARC record", `v=DMARC1; p=quarantine; rua=mailto:${await addressOf()}`);
});

test("the totals, the chart and the table show who sends as the domain", { skip: withoutBrowser }, async () => {
  const senders = region(`Who sends as ${name}`);
  const totals = (await senders.getByLabel("Totals").innerText()).replace(/\s+/g, " ");
  assert.match(totals, /Messages 20,626 reported by 2 organizations Aligned 97\.4 % .* Not aligned 546 .* Sources 28/);
  assert.equal(await bars("Messages per day").count(), 30);
  const rows = table().getByRole("row");
  await until("the first page", async () => (await rows.count()) === 21);
  const first = (await rows.nth(1).innerText()).replace(/\s+/g, " ");
  assert.match(first, /^203\.0\.113\.10 this service Aligned 20,000 100 % DKIM shop\.contoso\.test SPF bounce\./);
  const second = (await rows.nth(2).innerText()).replace(/\s+/g, " ");
  assert.match(second, /^out\.news\.example 198\.51\.100\.7 Not aligned 400 0 % .* 400 quarantined/);
  await inspect(page, "reports");
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Show more sources" }).click();
  await until("all sources", async () => (await rows.count()) === 1 + 4 + fewAddresses);
  assert.equal(await page.getByRole("button", { name: "Show more sources" }).count(), 0);
  await table().getByText("Other addresses").waitFor();
});

test("a row opens its details by keyboard", { skip: withoutBrowser }, async () => {
  const button = opener("out.news.example");
  assert.equal(await button.getAttribute("aria-expanded"), "false");
  await button.press("Enter");
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  const details = page.locator(".details");
  await details
    .getByText(/None of its mail passes\. It authenticates as news\.example\. If you know this sender/)
    .waitFor();
  assert.match((await details.innerText()).replace(/\s+/g, " "), /Reported by google\.com/);
  await shoot(page, "reports-details");
  await button.press("Enter");
  await details.waitFor({ state: "detached" });
});

test("failing sources and single days are selected, and the selection is part of the URL", {
  skip: withoutBrowser,
}, async () => {
  await page.getByRole("button", { name: "Only failing" }).click();
  await opener(ownAddress).waitFor({ state: "detached" });
  await opener("198.51.100.9").waitFor();
  const day = daysBefore(today, 1);
  // The last bar is today. The arrow keys move between bars.
  const all = bars("Messages per day");
  await all.last().focus();
  for (let moves = 0; moves < 29; moves += 1) {
    if (((await page.locator(":focus").getAttribute("href")) ?? "").includes(`day=${day}`)) break;
    await page.keyboard.press("ArrowLeft");
  }
  assert.match(
    (await page.locator(":focus").getAttribute("aria-label")) ?? "",
    /: Aligned 1,004, Not aligned 26\. Show only/,
  );
  await page.keyboard.press("Enter");
  await until("the day in the URL", () => path() === `/domains/${domain.id}/reports?show=failing&day=${day}`);
  await until("the sources of the day", async () => (await table().getByRole("row").count()) === 3);
  await page.reload();
  await until("the same after a reload", async () => (await table().getByRole("row").count()) === 3);
  await page.getByRole("button", { name: "Show all days" }).click();
  await page.getByRole("button", { name: "All", exact: true }).click();
  await opener(ownAddress).waitFor();
  await page.getByRole("button", { name: "Last 30 days" }).click();
  await page.getByRole("menuitemradio", { name: "Last 90 days" }).click();
  await until("90 days", async () => (await bars("Messages per day").count()) === 90);
  assert.equal(path(), `/domains/${domain.id}/reports?range=90d`);
  await page.goto(`/domains/${domain.id}/reports?day=2026-02-30&range=x`);
  await until("a day that does not exist is ignored", async () => (await table().getByRole("row").count()) === 21);
});

test("TLS failures are explained, and unauthenticated reports are marked and inert", {
  skip: withoutBrowser,
}, async () => {
  const tls = region("TLS to your mail servers");
  await tls.getByText(/Encrypted 3,000/).waitFor();
  await tls.getByText(/Unauthenticated 190/).waitFor();
  await tls.getByText(/150 encrypted and 40 failed sessions are from reports that nothing proves/).waitFor();
  const failures = tls.getByRole("list", { name: /^Failures in the last 30 days/ }).getByRole("listitem");
  const texts = (await failures.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  assert.equal(texts.length, 2);
  assert.match(
    texts[0]!,
    /^Failed certificate-expired reported by Google Inc\. The certificate .* has expired\. .*12 sessions/,
  );
  assert.match(texts[1]!, /^Unauthenticated starttls-not-supported reported by <img src=x onerror=/);
  await failures.first().locator("summary").press("Enter");
  await failures.first().getByText("MTA-STS").waitFor();
  assert.equal(await page.evaluate("'hacked' in globalThis"), false);
  // The failures of one day, while the chart keeps all days.
  await page.goto(`/domains/${domain.id}/reports?day=${daysBefore(today, 9)}`);
  await tls.getByText("starttls-not-supported").waitFor();
  assert.equal(await tls.getByText("certificate-expired").count(), 0);
  assert.equal(await bars("Sessions per day").count(), 30);
});

test("the reports that arrived are listed, by kind, with those that nothing proves marked", {
  skip: withoutBrowser,
}, async () => {
  const arrived = region("Reports that arrived");
  const rows = arrived.getByRole("list", { name: "Reports, newest first" }).getByRole("listitem");
  await until("a page of reports", async () => (await rows.count()) === 20);
  await arrived.getByRole("button", { name: "Show more" }).click();
  await until("two pages", async () => (await rows.count()) === 40);
  await arrived.getByLabel("Filter by kind").selectOption("TLS");
  await until(
    "only TLS",
    async () => (await rows.count()) === 20 && !(await rows.allInnerTexts()).join().includes("DMARC"),
  );
  const unproven = rows.filter({ hasText: "not authenticated" });
  await unproven.locator("summary").press("Enter");
  await unproven.getByText("Not authenticated: anyone can write such a report.").waitFor();
  await unproven.getByText("HTTPS", { exact: true }).waitFor();
});

test("the page of the domain has a hint, and the event of a new source leads to the reports", {
  skip: withoutBrowser,
}, async () => {
  await page.goto(`/domains/${domain.id}`);
  await page.getByRole("link", { name: "Reports next step" }).waitFor();
  await shoot(page, "domain-with-reports");
  await page.goto("/events?type=domain.report");
  const row = page.getByText(/^shop\.contoso\.test: 20 messages from 198\.51\.100\.7 failed DMARC$/);
  await row.click();
  await page.getByRole("link", { name: "Open reports" }).click();
  await settled(page, /Who sends as shop\.contoso\.test/);
});

test("with p=reject, nothing is left to do", { skip: withoutBrowser }, async () => {
  await publishDmarc(`v=DMARC1; p=reject; rua=mailto:${await addressOf()}`);
  await page.reload();
  await settled(page, /The domain is protected\./);
  const stages = page.getByRole("list", { name: "Stages to p=reject" }).getByRole("listitem");
  assert.deepEqual(await stages.evaluateAll((all) => all.map((one) => one.dataset.state)), ["done", "done", "done"]);
  assert.equal(await page.getByRole("button", { name: "Copy the value of the DMARC record" }).count(), 0);
  await page.goto(`/domains/${domain.id}`);
  await settled(page, /shop/);
  assert.equal(await page.getByText("next step", { exact: true }).count(), 0);
});

test("each part shows its error and recovers", { skip: withoutBrowser }, async () => {
  const deny = JSON.stringify({ code: "permission_denied", message: "Not with this key." });
  for (const method of ["ListDmarcSources", "GetTlsSummary", "ListReports"])
    await page.route(`**/v1.ReportService/${method}`, (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body: deny }),
    );
  await page.goto(`/domains/${domain.id}/reports`);
  const retries = page.getByRole("button", { name: "Try again" });
  await until("three errors", async () => (await retries.count()) === 3);
  await page.unrouteAll();
  for (const left of [2, 1, 0]) {
    await retries.first().click();
    await until("one error less", async () => (await retries.count()) === left);
  }
  await opener(ownAddress).waitFor();
  await region("TLS to your mail servers")
    .getByText(/Encrypted 3,000/)
    .waitFor();
  assert.deepEqual(tab.complaints, []);
});

test("390 pixels are enough, in both schemes", { skip: withoutBrowser }, async () => {
  await page.setViewportSize({ width: 390, height: 900 });
  await opener("out.news.example").press("Enter");
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await until("no overflow", async () => (await page.evaluate("document.documentElement.scrollWidth")) === 390);
    await shoot(page, `reports-390-${scheme}`);
  }
});
