/** The documentation in a browser, without a session: navigation, search, copying, both color schemes, three widths; the help menu and
 * unknown paths of the dashboard. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { findings, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
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
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

const skip = withoutBrowser;

test("the start page lists all pages, and the navigation opens them", { skip }, async () => {
  await page.goto("/docs");
  await settled(page, /Documentation[\s\S]*Send your first email/);
  await inspect(page, "docs");
  await page.getByRole("navigation", { name: "Documentation" }).getByRole("link", { name: "Sending domains" }).click();
  await page.getByRole("heading", { level: 1, name: "Sending domains" }).waitFor();
  const current = page.getByRole("navigation", { name: "Documentation" }).locator("[aria-current=page]");
  assert.equal(await current.textContent(), "Sending domains");
  await inspect(page, "docs-domains");
  await page.getByRole("navigation", { name: "Previous and next page" }).getByRole("link", { name: /Next/ }).click();
  await page.getByRole("heading", { level: 1, name: "Check deliverability" }).waitFor();
});

test("the search finds a section by its words, by keyboard alone", { skip }, async () => {
  await page.goto("/docs");
  await page.keyboard.press("/");
  await page.keyboard.type("webhook signature");
  const results = page.getByRole("listbox", { name: "Search results" });
  await results.getByRole("option").first().waitFor();
  assert.deepEqual(await findings(page), []);
  const first = await results.getByRole("option").first().getAttribute("href");
  await page.keyboard.press("ArrowDown");
  const second = results.getByRole("option", { selected: true });
  assert.notEqual(await second.getAttribute("href"), first);
  const target = (await second.getAttribute("href"))!;
  await page.keyboard.press("Enter");
  await page.waitForURL(`**${target}`);
  await page.keyboard.press("/");
  await page.keyboard.type("zzzz");
  await results.getByText("No results for “zzzz”.").waitFor();
  await page.keyboard.press("Escape");
  await results.waitFor({ state: "hidden" });
});

test("a code block is copied as it is", { skip }, async () => {
  await page.goto("/docs/webhooks");
  const block = page.locator("figure.code").first();
  await block.getByRole("button", { name: "Copy this code" }).click();
  await block.getByText("Copied").waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  assert.equal(copied, await block.locator("code").textContent());
});

test("pages fit a tablet and a phone, and the contents open on request", { skip }, async () => {
  for (const width of [820, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto("/docs/reference/email");
    await page.getByRole("heading", { level: 1, name: "EmailService" }).waitFor();
    const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert.equal(overflow, 0, `at ${width}`);
    const contents = page.getByRole("navigation", { name: "Documentation" });
    assert.equal(await contents.getByRole("link", { name: "Webhooks" }).isVisible(), false);
    await contents.getByText("Contents").click();
    await contents.getByRole("link", { name: "Webhooks", exact: true }).waitFor();
    assert.deepEqual(await findings(page), []);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("the color scheme is the dashboard's", { skip }, async () => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/docs");
  const scheme = () => page.evaluate("document.documentElement.dataset.mantineColorScheme");
  assert.equal(await scheme(), "light");
  const button = page.getByRole("button", { name: /Color scheme/ });
  await button.click();
  await button.click();
  assert.equal(await scheme(), "dark");
  await page.goto("/");
  assert.equal(await scheme(), "dark");
  await page.evaluate("localStorage.clear()");
});

test("unknown paths say so with status 404, without a session too", { skip }, async () => {
  const docs = await page.goto("/docs/no-such-page");
  assert.equal(docs?.status(), 404);
  await settled(page, /There is no documentation page at this address/);
  await inspect(page, "docs-not-found");
  const dashboard = await page.goto("/no/such/page");
  assert.equal(dashboard?.status(), 404);
  await settled(page, /Page not found/);
  await inspect(page, "not-found");
});

test("the help menu leads to the documentation of the page", { skip }, async () => {
  await page.goto("/");
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("menuitem", { name: "Overview and insight" }).click();
  await page.getByRole("heading", { level: 1, name: /^Insight/ }).waitFor();
  assert.deepEqual(tab.complaints, []);

  const signedIn = await openTab(browser, program.url, { key: program.key });
  await signedIn.page.goto("/webhooks");
  await signedIn.page.getByRole("button", { name: "Help" }).click();
  await signedIn.page.getByRole("menuitem", { name: "Keyboard shortcuts" }).waitFor();
  await signedIn.page.getByRole("menuitem", { name: "Webhooks" }).click();
  await signedIn.page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
  assert.deepEqual(signedIn.complaints, []);
  await signedIn.close();
});

test("/sign-in leads to the overview after signing in", { skip }, async () => {
  const answer = await page.goto("/sign-in");
  assert.equal(answer?.status(), 200);
  await page.getByRole("button", { name: "Use an API key instead" }).click();
  await page.getByRole("textbox", { name: "API key" }).fill(program.key);
  await page.getByRole("button", { name: "Sign in with key" }).click();
  await page.waitForURL(`${program.url}/`);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
});
