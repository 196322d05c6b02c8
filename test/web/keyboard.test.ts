/** Tab alone reaches everything that a mouse can click, and the focus is visible on each stop. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
let emailId: string;
let webhookId: string;
let domainId: string;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  emailId = await accepted(testbed, { to: ["a@there.test", "bounced@there.test"] });
  await untilFinished(testbed, emailId);
  const url = "https://shop.example/hooks";
  webhookId = idOf((await testbed.call("WebhookService/CreateWebhook", { url })).body.webhook);
  domainId = idOf((await testbed.call("DomainService/AddDomain", { domain: "missing.test" })).body.domain);
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const idOf = (body: unknown) => (body as { id: string }).id;

const pages: [name: string, path: () => string, text: RegExp][] = [
  ["overview", () => "/", /Needs your attention/],
  ["log", () => "/emails", /a@there\.test/],
  ["email", () => `/emails/${emailId}`, /Message-ID/],
  ["domain", () => `/domains/${domainId}`, /ph1\._domainkey/],
  ["webhook", () => `/webhooks/${webhookId}`, /shop\.example/],
];

for (const [name, path, text] of pages) {
  test(`${name}: Tab reaches everything, with a visible focus`, { skip: withoutBrowser }, async () => {
    const { page } = tab;
    await page.goto(path());
    await settled(page, text);
    const { missed, invisible, stops } = await walk(page);
    assert.ok(stops > 20, `${stops} stops`);
    assert.deepEqual({ missed, invisible }, { missed: [], invisible: [] });
  });
}

test("the first stop skips the navigation", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/keys");
  await settled(page, /POSTHORN_API_KEY|first key/);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.closest('main')?.id"), "content");
  assert.deepEqual(tab.complaints, []);
});

type Walk = { missed: string[]; invisible: string[]; stops: number };

/** Presses Tab from the start of the page to its end. */
async function walk(page: Page): Promise<Walk> {
  await page.evaluate(`(${prepare})()`);
  for (let presses = 0; presses < 300; presses++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate<boolean>(`(${step})()`)) break;
  }
  return await page.evaluate<Walk>(`(${summarize})()`);
}

/** Notes how each stop looks without the focus. These functions run in the page. */
const prepare = `() => {
  const look = (element) => {
    const parts = [element, element.parentElement].flatMap((part) => {
      const { outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor } = getComputedStyle(part);
      return [outlineStyle === "none" ? "" : outlineStyle + outlineWidth, boxShadow, borderColor, backgroundColor];
    });
    return parts.join("|");
  };
  const name = (element) => {
    const words = (element.ariaLabel || element.textContent || element.name || element.id || "").trim().slice(0, 40);
    return element.tagName.toLowerCase() + (element.className ? "." + String(element.className).split(" ")[0] : "") + ": " + words;
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("[inert]") && element.getClientRects().length > 0;
  const stops = "a[href], button:not(:disabled), input:not(:disabled, [type=hidden], [type=file]), select, textarea, summary, iframe, [tabindex]";
  const isStop = (element) => element.tabIndex >= 0 && isShown(element) && !(element.type === "radio" && !element.checked);
  globalThis.walked = { look, name, isShown, isStop, stops, plain: new WeakMap(), reached: new Set(), invisible: [], last: undefined };
  document.activeElement?.blur();
  getSelection().removeAllRanges();
  for (const element of document.querySelectorAll(stops)) walked.plain.set(element, look(element));
}`;

/** True at the end of the page. */
const step = `() => {
  const element = document.activeElement;
  if (!element || element === document.body || walked.reached.has(element)) return walked.reached.size > 0;
  walked.reached.add(element);
  const before = walked.plain.get(element);
  if (before !== undefined && before === walked.look(element) && element.tagName !== "IFRAME") walked.invisible.push(walked.name(element));
  return false;
}`;

/** What a mouse can click, but Tab did not reach. */
const summarize = `() => {
  const { stops, reached, isStop, isShown, name, invisible } = walked;
  const keys = [...document.querySelectorAll(stops)].filter(isStop);
  const missed = keys.filter((element) => !reached.has(element) && walked.plain.has(element)).map(name);
  // An element that looks clickable is a stop, is in one, labels one, or contains one.
  const mouseOnly = [...document.querySelectorAll("body *")].filter((element) =>
    getComputedStyle(element).cursor === "pointer" && isShown(element) && !element.closest(stops + ", label") && !element.querySelector(stops));
  return { missed: [...missed, ...mouseOnly.map((element) => "only by mouse: " + name(element))], invisible, stops: reached.size };
}`;
