/** The frame around the pages: live numbers in the navigation, menus by keyboard, a clipboard that refuses, a stream that connects. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page, Route } from "playwright-core";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const section = (name: string): Locator =>
  page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name });
const shows = (name: string, text: string) =>
  until(`${name} to show ${text}`, async () => (await section(name).innerText()).replace(/\s+/g, " ") === text);
const abort = (route: Route) => route.abort();

test("the navigation has live numbers, and problems in words", { skip: withoutBrowser }, async () => {
  const first = await accepted(testbed, { to: ["a@there.test"] });
  await accepted(testbed, { to: ["b@there.test"], scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  await untilFinished(testbed, first);
  await testbed.call("DomainService/AddDomain", { domain: "missing.test" });
  await testbed.call("SuppressionService/AddSuppression", { address: "gone@there.test" });
  await page.goto("/keys");
  await shows("Emails", "Emails 2");
  await shows("Queue", "Queue 1");
  await shows("Suppressions", "Suppressions 1");
  await shows("Domains", "Domains 1 needs DNS");
  await shows("Inbound", "Inbound");
  assert.match(
    (await section("Emails").getAttribute("title")) ?? "",
    /^2 emails in the last 24 hours, as of \d\d:\d\d/,
  );
  await inspect(page, "section-counts");

  await testbed.call("SuppressionService/AddSuppression", { address: "gone-too@there.test" });
  await follow(page, "/audit");
  await shows("Suppressions", "Suppressions 2");
});

test("the numbers disappear while the server is away, and come back with it", { skip: withoutBrowser }, async () => {
  await follow(page, "/queue");
  await settled(page, /there\.test/);
  await shows("Emails", "Emails 2");
  await page.route("**/v1.*/*", abort);
  const notice = page.getByRole("status").filter({ hasText: "The server does not answer. Trying again." });
  await notice.waitFor();
  await shows("Emails", "Emails");
  await shows("Domains", "Domains");
  await page.unroute("**/v1.*/*", abort);
  await shows("Emails", "Emails 2");
  await shows("Domains", "Domains 1 needs DNS");
  await notice.waitFor({ state: "detached" });
});

test("menus work by keyboard alone, and the focus returns to their button", { skip: withoutBrowser }, async () => {
  const help = page.getByRole("button", { name: "Help" });
  const focused = () => page.evaluate<string>("document.activeElement.textContent");
  await help.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menu").waitFor();
  await until("an item to have the focus", () => page.evaluate("document.activeElement.role === 'menuitem'"));
  assert.equal(await help.getAttribute("aria-expanded"), "true");
  await page.keyboard.press("End");
  assert.match(await focused(), /Keyboard shortcuts/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(), "Documentation");
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "hidden" });
  await page.locator("button:focus[aria-label=Help][aria-expanded=false]").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("menuitem", { name: "Keyboard shortcuts" }).press("Enter");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await until(
    "the focus on the button",
    async () => (await page.evaluate("document.activeElement.ariaLabel")) === "Help",
  );
});

test("a clipboard that refuses is said to the person", { skip: withoutBrowser }, async () => {
  const other = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  await other.context.addInitScript(`
    navigator.clipboard.writeText = () => Promise.reject(new DOMException("Denied", "NotAllowedError"));
    document.execCommand = () => false;
  `);
  await other.page.goto("/events");
  await settled(other.page, /Cursor/);
  await other.page.getByRole("button", { name: "Copy the cursor" }).click();
  const told = "Copy failed: select the text and copy it";
  await other.page.locator(".tip", { hasText: told }).waitFor();
  assert.equal(await other.page.getByRole("status").filter({ hasText: told }).count(), 1);
  assert.equal(await other.page.getByText("Copied", { exact: true }).count(), 0);
  await other.page.getByRole("button", { name: "Copy the cursor" }).waitFor();

  // A key is shown once, so its field selects the text instead.
  await follow(other.page, "/keys");
  await other.page.getByRole("button", { name: "Create key" }).click();
  const dialog = other.page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Copied by hand");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("button", { name: "Copy to clipboard" }).click();
  await dialog.getByRole("button", { name: "Press Ctrl+C to copy the selected text" }).waitFor();
  assert.match(await other.page.evaluate<string>("String(getSelection())"), /^ph_\w+$/);
  await other.close();
});

test("the events page says that it is connecting until the stream is open", { skip: withoutBrowser }, async () => {
  const held: Route[] = [];
  const hold = (route: Route) => void held.push(route);
  await page.route("**/StreamEvents", hold);
  await page.goto("/events");
  await page
    .getByRole("status")
    .filter({ hasText: /^connecting$/ })
    .waitFor();
  await page.getByRole("status", { name: "Loading the events" }).waitFor();
  assert.equal(await page.getByText("No events yet").count(), 0, "the page does not know this yet");
  await until("the request of the stream", () => held[0]);
  for (const route of held) await route.continue();
  await page.unroute("**/StreamEvents", hold);
  await settled(page, /live, updated[\s\S]*a@there\.test/);
  assert.deepEqual(tab.complaints, []);
});
