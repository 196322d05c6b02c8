/** The first run in a browser: from sign-up to the first delivered email, and back after signing out. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { firstLink } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { shell } from "../harness/shell.ts";
import { until } from "../harness/wait.ts";

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
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

const password = "correct horse battery staple";
/** The code of the guide by its language, as copied. */
const copied = new Map<string, string>();
let shopId: string;

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
  // In capture mode the first workspace has an example domain and a key. They do not count as steps.
  await settled(page, /0 of 6 steps are done/);
  await page.getByRole("textbox", { name: "Domain" }).waitFor();
});

/** The bytes as transferred: compressed, and with the fonts that the page uses. */
async function transferred(of: Page): Promise<number> {
  return await of.evaluate<number>(
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((sum, entry) => sum + entry.encodedBodySize, 0)",
  );
}

/** What an impatient person waits for, signed in or not. The responses of the API count too. */
function assertSmall(bytes: number): void {
  assert.ok(bytes > 50_000 && bytes < 300_000, `${bytes} bytes`);
}

test("the first load is under 300 kB for a stranger, and for a person on the overview with the guide", {
  skip: withoutBrowser,
}, async () => {
  const stranger = await openTab(browser, program.url);
  await stranger.page.goto("/");
  await stranger.page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  assertSmall(await transferred(stranger.page));
  await stranger.close();

  await page.reload();
  await settled(page, /0 of 6 steps are done/);
  assertSmall(await transferred(page));
});

test("the guide leads through every step in a new workspace", { skip: withoutBrowser }, async () => {
  await page.getByRole("link", { name: "Members and settings" }).click();
  await page.getByRole("button", { name: "Create another workspace" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("The Shop");
  await dialog.getByRole("button", { name: "Create workspace" }).click();
  await page.getByRole("button", { name: /Workspace: The Shop/ }).waitFor();
  await page.getByRole("link", { name: "Overview" }).click();

  await settled(page, /Add your domain/);
  shopId = await page.evaluate<string>("localStorage.getItem('posthorn.workspace')");
  await page.getByRole("textbox", { name: "Domain" }).fill("shop.test");
  await page.getByRole("button", { name: "Add domain" }).click();

  await settled(page, /ph1\._domainkey/);
  await inspect(page, "first-steps-records");
  await page.getByRole("button", { name: "Publish to local DNS" }).click();

  await settled(page, /Your program sends a key with each call/);
  await inspect(page, "first-steps-key");
  await page.getByLabel("Name of the key").fill("The shop's own");
  await page.getByRole("button", { name: "Create key" }).click();

  await settled(page, /Run this code\. It contains the key\./);
  await page.getByRole("tab", { name: "Python" }).click();
  await inspect(page, "first-steps-send");
  for (const language of ["curl", "TypeScript", "Python", "Go", "PHP", "Ruby"]) {
    await page.getByRole("tab", { name: language }).click();
    await page.getByRole("button", { name: `Copy the code in ${language}` }).click();
    copied.set(language, await page.evaluate<string>("navigator.clipboard.readText()"));
    for (const part of [/ph_\w+/, /hello@shop\.test/, /olga@there\.test/, new RegExp(program.url)])
      assert.match(copied.get(language)!, part);
  }
  // The person runs the code: the guide notices the email.
  const output = (await shell(copied.get("curl")!)).stdout;
  const id = /em_[0-9a-f-]{36}/.exec(output)?.[0];
  assert.ok(id, output);
  await settled(page, /Watch its events[\s\S]*Delivered[\s\S]*250 2\.0\.0/);
  await inspect(page, "first-steps-events");
  const secret = /ph_\w+/.exec(copied.get("curl")!)![0];
  // The step is done, but the person may not have stored the key yet.
  assert.match(await page.locator("main").innerText(), new RegExp(secret));
  await page.getByRole("button", { name: "I have stored the key" }).click();
  assert.doesNotMatch(await page.content(), new RegExp(secret), "the secret is removed from the page");
  const kept = await page.evaluate<string>("JSON.stringify({ ...sessionStorage, ...localStorage })");
  assert.ok(!kept.includes(secret), "the browser does not store the secret");
});

test("the guide shows a new key until it is stored, also when an email was sent before", {
  skip: withoutBrowser,
}, async () => {
  await page.getByRole("link", { name: "Members and settings" }).click();
  await page.getByRole("button", { name: "Create another workspace" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Early");
  await page.getByRole("dialog").getByRole("button", { name: "Create workspace" }).click();
  await page.getByRole("button", { name: /Workspace: Early/ }).waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await settled(page, /Add your domain/);
  await page.getByRole("textbox", { name: "Domain" }).fill("early.test");
  await page.getByRole("button", { name: "Add domain" }).click();
  await page.getByRole("button", { name: "Publish to local DNS" }).click();
  await settled(page, /Your program sends a key with each call/);
  await follow(page, "/send");
  await page.getByRole("textbox", { name: "To", exact: true }).fill("delivered@there.test");
  await page.getByRole("button", { name: "Send email" }).click();
  await page.waitForURL(/\/emails\/em_/);
  await page.getByRole("link", { name: "Overview" }).click();
  await settled(page, /3 of 6 steps are done/);
  await page.getByRole("button", { name: "Create key" }).click();
  await settled(page, /Store the key now[\s\S]*ph_\w+[\s\S]*4 of 6 steps are done[\s\S]*Watch its events/);
  await inspect(page, "first-steps-new-key");
  await page.getByRole("button", { name: "I have stored the key" }).click();
  await page.getByText("Store the key now").waitFor({ state: "detached" });
  assert.doesNotMatch(await page.content(), /ph_\w{20}/);
  // Back to the workspace of the other tests.
  await page.evaluate((id) => localStorage.setItem("posthorn.workspace", id), shopId);
});

test("the guide stays after the first email, also after a reload, until it is finished", {
  skip: withoutBrowser,
}, async () => {
  await page.reload();
  await settled(page, /4 of 6 steps are done[\s\S]*Delivered/);
  await page.getByRole("button", { name: "Continue" }).click();
  await settled(page, /A webhook posts each event to your program/);
  await page.getByRole("button", { name: "Create webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("URL").fill("https://shop.example/hooks");
  await dialog.getByRole("button", { name: "Create webhook" }).click();
  await dialog.getByLabel("Signing secret").waitFor();
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await settled(page, /All steps are done/);
  await inspect(page, "first-steps-done");
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("heading", { name: "First steps" }).waitFor({ state: "detached" });
  await page.reload();
  await settled(page, /Needs your attention/);
  assert.equal(await page.getByRole("heading", { name: "First steps" }).count(), 0);
});

test("a dismissed guide stays dismissed in its workspace only", { skip: withoutBrowser }, async () => {
  for (const name of ["Second", "Third"]) {
    await page.getByRole("link", { name: "Members and settings" }).click();
    await page.getByRole("button", { name: "Create another workspace" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Overview" }).click();
    await settled(page, /0 of 6 steps are done/);
    await page.getByRole("button", { name: "Dismiss guide" }).click();
    await page.getByRole("heading", { name: "First steps" }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await settled(page, /Needs your attention/);
    assert.equal(await page.getByRole("heading", { name: "First steps" }).count(), 0);
  }
});

test("a workspace that sends already is not guided in another browser, and /sign-in leads to the overview", {
  skip: withoutBrowser,
}, async () => {
  const other = await openTab(browser, program.url);
  await other.context.addInitScript((id) => localStorage.setItem("posthorn.workspace", id), shopId);
  await other.page.goto("/sign-in");
  await other.page.getByLabel("Email address").fill("olga@there.test");
  await other.page.getByRole("textbox", { name: "Password" }).fill(password);
  await other.page.getByRole("button", { name: "Sign in", exact: true }).click();
  await other.page.waitForURL(`${program.url}/`);
  await settled(other.page, /Needs your attention/);
  // From the sign-in page to the overview with its figures.
  assertSmall(await transferred(other.page));
  const state = await until("the state of the guide", () =>
    other.page.evaluate<string | null>(`localStorage.getItem("posthorn.guide.${shopId}")`),
  );
  assert.deepEqual(JSON.parse(state), { state: "dismissed" });
  assert.equal(await other.page.getByRole("heading", { name: "First steps" }).count(), 0);
  await other.page.goto("/emails");
  await settled(other.page, /olga@there\.test/);
  assert.deepEqual(other.complaints, []);
  await other.close();
});

test("the person changes the password, signs out, and signs in on the page that they opened", {
  skip: withoutBrowser,
}, async () => {
  // Back to the workspace with the domain.
  await page.evaluate((id) => localStorage.setItem("posthorn.workspace", id), shopId);
  await page.reload();
  await page.getByRole("button", { name: "Workspace: The Shop" }).waitFor();
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
