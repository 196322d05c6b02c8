/** The pages of domains in a browser, with a scripted DNS as the provider: names in the zone, remarks, copying, and the live state. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import {
  findings,
  inspect,
  openBrowser,
  openTab,
  settled,
  shoot,
  type Tab,
  withoutBrowser,
} from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { domainOf, type RecordName, recordOf, type WireDomain } from "../harness/domain-answers.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let dns: ScriptedDns;
let program: RunningProgram;
let browser: Browser;
let tab: Tab;
let page: Page;
let domain: WireDomain;
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  dns = await startScriptedDns();
  dns.zone("test");
  dns.zone("contoso.test");
  dns.set("contoso.test", "NS", "ada.ns.cloudflare.com", "bob.ns.cloudflare.com");
  program = await startProgram({
    databaseUrl: database.url,
    env: { POSTHORN_RESOLVERS: `127.0.0.1:${dns.port}`, POSTHORN_VERIFY_INTERVAL_MS: "0" },
  });
  domain = domainOf(await program.call("DomainService/AddDomain", { domain: "mail.contoso.test" }));
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

function publish(...names: RecordName[]): void {
  for (const { name, type, value, priority } of names.map((key) => recordOf(domain, key)))
    dns.set(name, type as "TXT", priority === undefined ? value : `${priority} ${value}`);
}

const row = (name: string) => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
const check = async () => {
  await page.getByRole("button", { name: "Check DNS now" }).click();
  await page.getByText(/^Check complete: \d of 6 records found\.$/).waitFor();
};

test("the page names the zone and the provider, and copies names that fit the zone", {
  skip: withoutBrowser,
}, async () => {
  await page.goto(`/domains/${domain.id}`);
  await settled(page, /DNS zone contoso\.test, which is hosted at Cloudflare/);
  const link = page.getByRole("link", { name: "open its DNS page" });
  assert.match((await link.getAttribute("href")) ?? "", /^https:\/\/dash\.cloudflare\.com\/.*contoso\.test/);
  await page.getByText('Set new records to "DNS only"').waitFor();
  await page.getByRole("columnheader", { name: "Name in contoso.test" }).waitFor();
  const copies: [button: string, text: string][] = [
    ["Copy the name of DKIM key 1", "ph1._domainkey.mail"],
    ["Copy the full name of DKIM key 1", "ph1._domainkey.mail.contoso.test"],
    ["Copy the name of SPF", "mail"],
    ["Copy the name of Inbound mail", "mail"],
    ["Copy the name of SPF for bounces", "bounce.mail"],
  ];
  await page.getByRole("button", { name: "Copy the value of DMARC", exact: true }).press("Enter");
  const dmarc = /^v=DMARC1; p=none; rua=mailto:[a-z2-7]{20}@reports\.\S+$/;
  await until("the DMARC record on the clipboard", async () => dmarc.test(await copied()));
  for (const [name, text] of copies) {
    await page.getByRole("button", { name, exact: true }).press("Enter");
    await until(`${text} on the clipboard`, async () => (await copied()) === text);
  }
});

test("wrong values are explained under their record, SPF is merged, and an MX elsewhere is neutral", {
  skip: withoutBrowser,
}, async () => {
  publish("dkim1", "mailFromMx");
  dns.set("ph2._domainkey.mail.contoso.test", "CNAME", "elsewhere.test");
  dns.set("mail.contoso.test", "TXT", "v=spf1 ip4:192.0.2.1 -all");
  dns.set("mail.contoso.test", "MX", "10 mx.office.test");
  dns.set("bounce.mail.contoso.test", "TXT", `"${recordOf(domain, "mailFromSpf").value}"`);
  await check();
  await settled(page, /Can send already/);
  const text = await page.locator("main").innerText();
  assert.equal(text.match(/Check complete/g)?.length, 1);
  assert.match(text, /2 of 6 records found/);
  assert.match(await row("DKIM key 2").innerText(), /Wrong value/);
  await page.getByText(/Found elsewhere\.test\. The CNAME points to another name/).waitFor();
  await page.getByText(/The quotation marks are part of the value/).waitFor();
  assert.match(await row("Inbound mail").innerText(), /^Elsewhere/);
  await page
    .getByText(/Found 10 mx\.office\.test\. .*changing it would redirect all mail to mail\.contoso\.test/)
    .waitFor();
  await page.getByRole("button", { name: "Copy the value of SPF", exact: true }).click();
  await until(
    "the merged value",
    async () => (await copied()) === "v=spf1 ip4:192.0.2.1 include:spf.mail.posthorn.test -all",
  );
});

test("seven records with remarks fit one screen at 1440 pixels, in both schemes, and narrow screens have no overflow", {
  skip: withoutBrowser,
}, async () => {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await shoot(page, `domain-records-1440-${scheme}`);
  }
  const table = await page.getByRole("table", { name: "DNS records" }).boundingBox();
  assert.ok(table && table.y + table.height <= 900, JSON.stringify(table));
  for (const width of [820, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await until("no overflow", async () => (await page.evaluate("document.documentElement.scrollWidth")) === width);
    await shoot(page, `domain-records-${width}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await inspect(page, "domain-records");
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("the zone file is downloaded", { skip: withoutBrowser }, async () => {
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Zone file" }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "mail.contoso.test.zone");
  const content = await readFile(await file.path(), "utf8");
  assert.match(content, /^\$ORIGIN contoso\.test\.$/m);
  assert.match(
    content,
    /^_dmarc\.mail\.contoso\.test\.\t60\tIN\tTXT\t"v=DMARC1; p=none; rua=mailto:[a-z2-7]{20}@reports\.[^"]+"$/m,
  );
  assert.match(content, /^; mail\.contoso\.test\.\t60\tIN\tMX\t/m);
});

test("a link shows the records to a person without an account, updates by itself, and can be revoked", {
  skip: withoutBrowser,
}, async () => {
  await page.getByRole("button", { name: "Share with your DNS admin" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Create link" }).press("Enter");
  const url = (await dialog.getByText(/\/dns#[\w-]{43}$/).textContent()) ?? assert.fail();
  assert.deepEqual(await findings(page), []);
  await shoot(page, "domain-share");
  const guest = await openTab(browser, program.url, { width: 1440 });
  await guest.page.goto(url);
  await settled(
    guest.page,
    /DNS records of mail\.contoso\.test[\s\S]*2 of 6 records found[\s\S]*contoso\.test, which is hosted/,
  );
  assert.equal(await guest.page.getByRole("navigation", { name: "Sections" }).count(), 0);
  await inspect(guest.page, "shared-domain");
  dns.set(recordOf(domain, "dmarc").name, "TXT", recordOf(domain, "dmarc").value);
  domainOf(await program.call("DomainService/VerifyDomain", { id: domain.id }));
  await settled(guest.page, /3 of 6 records found/);
  await dialog.getByRole("button", { name: "Revoke link" }).click();
  await dialog.getByRole("button", { name: "Revoke link" }).waitFor({ state: "detached" });
  await settled(guest.page, /This link does not work/);
  assert.deepEqual(guest.complaints, []);
  await guest.close();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("a link works the same in a browser with a session, which it does not use, and says when it has expired", {
  skip: withoutBrowser,
}, async () => {
  const { body } = await program.call("DomainService/CreateDomainLink", { id: domain.id });
  const { pathname, hash } = new URL(body.url as string, program.url);
  const member = await openTab(browser, program.url, { key: program.key });
  await member.context.addCookies([{ name: "session-of-another-page", value: "secret", url: program.url }]);
  const asked = member.page.waitForRequest("**/shared/domain");
  await member.page.goto(pathname + hash);
  await settled(member.page, /DNS records of mail\.contoso\.test[\s\S]*This link is read-only/);
  const headers = await (await asked).allHeaders();
  for (const name of ["authorization", "cookie", "posthorn-workspace"]) assert.equal(headers[name], undefined, name);
  assert.ok(!(await asked).url().includes(hash.slice(1)), "no address contains the token");
  for (const action of ["Check DNS now", "Delete domain", "Share with your DNS admin"])
    assert.equal(await member.page.getByRole("button", { name: action }).count(), 0, action);

  await database.sql`update domain_links set service_expires_at = service_time()`;
  await settled(member.page, /This link does not work\.[\s\S]*It has expired, was revoked, or is incomplete/);
  assert.equal(await member.page.locator("main").getByText("contoso.test").count(), 0, "the records are gone");
  await member.page.reload();
  await settled(member.page, /This link does not work/);
  assert.deepEqual(member.complaints, []);
  await member.close();
});

test("the state updates by itself, and the page says when it is not current", { skip: withoutBrowser }, async () => {
  publish("dkim2", "dmarc", "mailFromSpf", "spf");
  const answer = await program.call("DomainService/VerifyDomain", { id: domain.id });
  assert.equal(domainOf(answer).status, "DOMAIN_STATUS_READY");
  await settled(page, /Ready to send mail\./);
  await page.getByText(/Checked (just now|\d+ seconds ago)/).waitFor();
  await page.route("**/v1.DomainService/GetDomain", (route) => route.abort());
  await page.getByText(/not current: the server does not answer/).waitFor();
  await page.unrouteAll();
  await page.getByText(/^live, updated/).waitFor();
});

test("the list is one table, and each row opens its domain by keyboard", { skip: withoutBrowser }, async () => {
  await page.goto("/domains");
  await settled(page, /contoso\.test at Cloudflare/);
  const entry = page.getByRole("row", { name: /mail\.contoso\.test/ });
  assert.match((await entry.innerText()).replace(/\s+/g, " "), /^Ready mail\.contoso\.test .* Yes No 6 of 6/);
  await inspect(page, "domains-table");
  await page.getByRole("link", { name: "mail.contoso.test" }).press("Enter");
  await settled(page, /Ready to send mail\./);
  assert.deepEqual(tab.complaints, []);
});
