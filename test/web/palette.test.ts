/** The command palette by keyboard alone. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import { findings, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted } from "../harness/sending.ts";
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

const field = () => page.getByRole("combobox", { name: /Search emails/ });
const options = () => page.getByRole("option").allInnerTexts();
const chosen = () => page.getByRole("option", { selected: true }).innerText();

test("results change with the text, and Enter opens the chosen one", { skip: withoutBrowser }, async () => {
  const id = await accepted(testbed, { to: ["zoe@there.test"], subject: "Quarterly invoice" });
  await page.goto("/keys");
  await settled(page, /API keys/);
  await page.keyboard.press("Control+k");
  await field().waitFor();
  assert.deepEqual(await findings(page), []);
  const all = await options();
  assert.ok(all.length > 10 && all.includes("Domains"));

  await field().pressSequentially("dom");
  await until("pages with this text", async () => (await options()).join() === "Domains");
  await field().fill("color");
  await until("commands", async () => (await options()).every((text) => /color scheme/.test(text)));
  await page.keyboard.press("ArrowDown");
  assert.match(await chosen(), /dark/);
  await field().fill("quarterly");
  await until("the email", async () =>
    (await options()).some((text) => /zoe@there\.test\s+Quarterly invoice/.test(text)),
  );
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/emails/${id}`);
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await page.keyboard.press("/");
  await field().fill("no such thing anywhere");
  await page.getByText("Nothing matches “no such thing anywhere”.").waitFor();
  await field().fill("Audit");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/audit");
});

test("Esc closes the palette, and the focus returns", { skip: withoutBrowser }, async () => {
  const button = page.getByRole("button", { name: /Search emails/ });
  await button.focus();
  await page.keyboard.press("Enter");
  await field().fill("x");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await until("the focus on the button", () =>
    button.evaluate((element) => element === element.ownerDocument.activeElement),
  );
  await page.keyboard.press("Control+k");
  await field().waitFor();
  assert.equal(await field().inputValue(), "", "the palette starts empty");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("a search that fails is said, and pages are still found", { skip: withoutBrowser }, async () => {
  const abort = (route: Route) => route.abort();
  await page.route("**/ListEmails", abort);
  await page.keyboard.press("Control+k");
  await field().fill("queue");
  await page
    .getByRole("alert")
    .filter({ hasText: "Emails could not be searched. Check that Posthorn is running" })
    .waitFor();
  await page.unroute("**/ListEmails", abort);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/queue");
  assert.deepEqual(tab.complaints, []);
});
