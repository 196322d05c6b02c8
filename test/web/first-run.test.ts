/** The first run in a browser: from sign-up to the first delivered email, and back after signing out. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { firstLink } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  browser = await openBrowser();
  tab = await openTab(browser, program.url);
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

const password = "correct horse battery staple";

test("the first person signs up", { skip: withoutBrowser }, async () => {
  await page.goto("/");
  await settled(page, /Create the first account[\s\S]*first-sign-up in the server's data directory/);
  await inspect(page, "welcome");
  const link = new URL(await firstLink(program));
  await page.goto(link.pathname + link.hash);
  await settled(page, /Create your account/);
  await page.getByLabel("Email address").fill("not an address@");
  await page.getByLabel("Your name").fill("Olga Owner");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByLabel("Email address").fill("olga@there.test");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("button", { name: /Workspace: default/ }).waitFor();
  // In capture mode the first workspace has an example domain and a key, so the guide starts with sending.
  await settled(page, /Send a test email/);
});

/** The bytes as transferred: compressed, and with the fonts that the page uses. */
async function transferred(of: Page): Promise<number> {
  return await of.evaluate<number>(
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((sum, entry) => sum + entry.encodedBodySize, 0)",
  );
}

test("the first load is under 300 kB, and the overview with its guide and data under 400 kB", {
  skip: withoutBrowser,
}, async () => {
  const stranger = await openTab(browser, program.url);
  await stranger.page.goto("/");
  await stranger.page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  const first = await transferred(stranger.page);
  await stranger.close();

  assert.ok(first > 50_000 && first < 300_000, `${first} bytes`);
  await page.reload();
  await settled(page, /Send a test email/);
  const overview = await transferred(page);
  assert.ok(overview > first && overview < 400_000, `${overview} bytes`);
});

test("the guide leads through every step in a new workspace", { skip: withoutBrowser }, async () => {
  await page.getByRole("link", { name: "Members and settings" }).click();
  await page.getByRole("button", { name: "Create another workspace" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("The Shop");
  await dialog.getByRole("button", { name: "Create workspace" }).click();
  await page.getByRole("button", { name: /Workspace: The Shop/ }).waitFor();
  await page.getByRole("link", { name: "Overview" }).click();

  await settled(page, /Add a sending domain/);
  await page.getByRole("textbox", { name: "Domain" }).fill("shop.test");
  await page.getByRole("button", { name: "Add domain" }).click();

  await settled(page, /ph1\._domainkey\.shop\.test/);
  await inspect(page, "first-steps-records");
  await page.getByRole("button", { name: "Publish to local DNS" }).click();

  await settled(page, /Your program sends the key with each call/);
  await page.getByRole("button", { name: "Create key" }).click();
  await dialog.getByLabel("Name").fill("The shop's own");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const secret = await dialog.getByLabel("API key").inputValue();
  assert.match(secret, /^ph_/);
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(
    await page.evaluate((text) => JSON.stringify({ ...sessionStorage, ...localStorage }).includes(text), secret),
    false,
  );
  assert.doesNotMatch(await page.content(), new RegExp(secret), "the secret is removed from the page");

  await page.getByLabel("To", { exact: true }).fill("delivered@there.test");
  await page.getByRole("button", { name: "Send email" }).click();
  await settled(page, /Watch its events[\s\S]*Delivered[\s\S]*250 2\.0\.0/);
  await inspect(page, "first-steps-done");
  await page.getByRole("link", { name: "Open the email" }).click();
  await settled(page, /delivered@there\.test[\s\S]*Delivered/);
});

test("the person changes the password, signs out, and signs in on the page that they opened", {
  skip: withoutBrowser,
}, async () => {
  await follow(page, "/account");
  await settled(page, /olga@there\.test/);
  await inspect(page, "account");
  await page.getByRole("textbox", { name: "Current password" }).fill("wrong");
  await page.getByRole("textbox", { name: "New password" }).fill(`${password} again`);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Is not your password").waitFor();
  await page.getByRole("textbox", { name: "New password" }).fill("Password123!");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Is too common, so it is guessed first").waitFor();
  await inspect(page, "account-common-password");
  await page.getByRole("textbox", { name: "New password" }).fill(`${password} again`);
  await page.getByRole("textbox", { name: "Current password" }).fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Password changed.").waitFor();
  await page.getByRole("button", { name: /^Account: / }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();

  await page.goto("/domains");
  await page.getByLabel("Email address").fill("olga@there.test");
  await page.getByRole("textbox", { name: "Password" }).fill("not the password");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("textbox", { name: "Password" }).fill(`${password} again`);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /shop\.test/);
  assert.match(page.url(), /\/domains$/);
  assert.deepEqual(tab.complaints, []);
});
