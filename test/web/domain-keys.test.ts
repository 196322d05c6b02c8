/** The DKIM keys on the page of a domain: importing, the record, export with a proof of identity, removal, and what others see. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
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
import { domainOf } from "../harness/domain-answers.ts";
import { password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

const pem = generateKeyPairSync("rsa", { modulusLength: 1024 })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();

let database: TestDatabase;
let program: RunningProgram;
let browser: Browser;
let tab: Tab;
let id: string;
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_DKIM_PRIMES: "3" } });
  const owner = await signUpFirst(program);
  const added = domainOf(await program.call("DomainService/AddDomain", { domain: "shop.test" }));
  id = added.id;
  await program.call("DomainService/PublishToLocalDns", { id });
  browser = await openBrowser();
  tab = await openTab(browser, program.url, { width: 1440 });
  const [[name, value]] = [...owner.browser.cookies] as [[string, string]];
  await tab.context.addCookies([{ name, value, url: program.url }]);
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

const key = (selector: string) =>
  tab.page.getByRole("list", { name: "DKIM keys" }).getByRole("listitem").filter({ hasText: selector });

test("a key is imported with its selector and PEM, and the page shows the record to publish, but not the key", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await page.goto(`/domains/${id}`);
  await key("ph1")
    .filter({ hasText: /Signing.*RSA-2048 with 3 primes, made by Posthorn/ })
    .waitFor();
  await page.getByRole("button", { name: "Import key" }).click();
  const dialog = page.getByRole("dialog", { name: "Import a DKIM key" });
  await dialog.getByLabel("Selector").fill("ph2");
  await dialog.getByLabel("Private key").fill(pem.slice(0, 300));
  await dialog.getByRole("button", { name: "Import key" }).click();
  await dialog.getByText(/ph2 is a selector of the keys that this service makes/i).waitFor();
  await dialog.getByLabel("Selector").fill("s1");
  await dialog.getByRole("button", { name: "Import key" }).click();
  await dialog.getByText(/is not a private key that OpenSSL can read/i).waitFor();
  assert.deepEqual(await findings(page), []);
  await shoot(page, "domain-import-key");
  await dialog.getByLabel("Private key").fill(pem);
  await dialog.getByRole("button", { name: "Import key" }).click();
  await dialog.waitFor({ state: "detached" });
  await key("s1")
    .filter({ hasText: /RSA-1024, imported.*RFC 8301 advises 2048/ })
    .waitFor();
  const records = page.getByRole("table", { name: "Records of imported DKIM keys" });
  await records.getByText("s1._domainkey", { exact: true }).waitFor();
  const html = await page.content();
  for (const line of pem.split("\n").filter((one) => one.length > 40)) assert.ok(!html.includes(line));
  await key("s1").filter({ hasText: "Not in DNS" }).waitFor();
  await inspect(page, "domain-keys-missing");
  await program.call("DomainService/PublishToLocalDns", { id });
  await key("s1").filter({ hasText: "Signing" }).waitFor();
  await key("ph1").filter({ hasText: "Standby" }).waitFor();
  await inspect(page, "domain-keys");
});

test("the shared page has the record of the imported key", { skip: withoutBrowser }, async () => {
  const { body } = await program.call("DomainService/CreateDomainLink", { id });
  const { pathname, hash } = new URL(body.url as string, program.url);
  const guest = await openTab(browser, program.url, {});
  await guest.page.goto(pathname + hash);
  await settled(guest.page, /7 of 7 records found[\s\S]*DKIM key s1/);
  await guest.close();
});

test("an export asks for a proof of identity, says what to do about three primes, and downloads the file", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await database.sql`update people_sessions set proved_at = proved_at - interval '1 hour'`;
  await page.getByRole("button", { name: "Export ph1" }).click();
  const dialog = page.getByRole("dialog", { name: "Export the private key?" });
  await dialog.getByText(/This key has 3 primes, which many programs cannot import/).waitFor();
  assert.deepEqual(await findings(page), []);
  await shoot(page, "domain-export-key");
  const downloading = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Export key" }).click();
  const proof = page.getByRole("dialog", { name: "Confirm your identity" });
  await proof.getByLabel("Your password").fill(password);
  await proof.getByRole("button", { name: "Confirm", exact: true }).click();
  const file = await downloading;
  assert.equal(file.suggestedFilename(), "ph1._domainkey.shop.test.pem");
  assert.match(await readFile(await file.path(), "utf8"), /^-----BEGIN PRIVATE KEY-----/);
  await dialog.waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes("BEGIN PRIVATE KEY"));
});

test("an imported key is removed after a confirmation, and a key session offers no export", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await page.getByRole("button", { name: "Remove s1" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove the imported key?" });
  await dialog.getByRole("button", { name: "Remove key" }).click();
  await page.getByText(/The key s1 of shop\.test is deleted and no longer signs/).waitFor();
  await key("s1").waitFor({ state: "detached" });
  await key("ph1").filter({ hasText: "Signing" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Remove ph1" }).count(), 0);
  assert.deepEqual(tab.complaints, []);

  const byKey = await openTab(browser, program.url, { key: program.key });
  await byKey.page.goto(`/domains/${id}`);
  await settled(byKey.page, /Signing[\s\S]*ph1/);
  assert.equal(await byKey.page.getByRole("button", { name: /^Export/ }).count(), 0);
  await byKey.close();
});
