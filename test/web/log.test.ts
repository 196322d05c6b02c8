/** The email log with 10,000 emails: scrolling, counts, filters, export, and what it says about its own age. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { indexEmails } from "../../src/emails/store/terms.ts";
import { findings, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { patienceMs, until } from "../harness/wait.ts";

const copies = 9_999;

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  const id = await accepted(testbed, { subject: "The first", metadata: { order: "0" } });
  await untilFinished(testbed, id);
  // In the middle of a minute, so that every day has one copy for each of its minutes, however long the copying takes.
  const newest = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 30_000);
  for (let first = 1; first <= copies; first += 1_000)
    await copy(id.slice("em_".length), newest, first, Math.min(first + 999, copies));
  await testbed.database.sql`analyze emails`;
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

/** Copies of one email, each with its own subject, recipient and metadata, a minute older than the one before. Every 100th bounced. */
async function copy(id: string, newest: Date, first: number, last: number): Promise<void> {
  const { sql } = testbed.database;
  const rows = await sql<{ id: string }[]>`
    with ids as materialized (
      select n, at, uuidv7(at - clock_timestamp()) as id, n % 100 = 0 as bounced
      from generate_series(${first}::int, ${last}::int) n, lateral (select ${newest}::timestamptz - make_interval(mins => n - 1) as at) t
    ), mail as (
      insert into emails (workspace_id, id, domain_id, domain, key_id, from_address, subject, message_id, envelope, metadata, status,
        status_message, open, accepted, total, size_bytes, content_day, expires_at, created_at, updated_at, counted_at, delivered, bounced)
      select workspace_id, ids.id, domain_id, domain, key_id, from_address, 'Entry number ' || n, message_id,
        jsonb_set(envelope, '{to,0,address}', to_jsonb('reader' || n || '@there.test')), jsonb_build_object('order', n::text),
        case when ids.bounced then 'failed' else 'sent' end, status_message, 0, 1, 1, size_bytes, content_day, expires_at,
        ids.at, now(), now(), (not ids.bounced)::int, ids.bounced::int
      from emails e, ids where e.id = ${id}
    ), listed as (
      insert into email_outcomes (workspace_id, outcome, email_id) select ${testbed.workspaceId}, 'bounced', id from ids where bounced
    ), people as (
      insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at, attempts)
      select ${testbed.workspaceId}, id, 0, 'to', 'reader' || n || '@there.test', 'there.test',
        case when bounced then 'bounced' else 'delivered' end, now(), 1 from ids
    )
    select id from ids`;
  for (let from = 0; from < rows.length; from += 200)
    await indexEmails(
      sql,
      rows.slice(from, from + 200).map((row) => ({ workspaceId: testbed.workspaceId, id: row.id })),
    );
}

const rows = () => page.getByRole("list", { name: "Emails, newest first" }).getByRole("listitem");
const chip = (name: RegExp) => page.getByRole("button", { name });
const status = () => page.getByRole("status").filter({ hasText: /emails?/ });
const dialog = () => page.getByRole("dialog");
const outcomesShown = () => page.locator(".log-outcome").allInnerTexts();

test("10,000 rows scroll, and only those near the window exist in the page", { skip: withoutBrowser }, async () => {
  await page.goto("/emails");
  await settled(page, /Entry number/);
  // The largest number of rows at the same time, how many were added, and the tasks that kept the page from scrolling.
  await page.evaluate(`
    globalThis.longTasks = globalThis.mostRows = globalThis.addedRows = 0;
    new PerformanceObserver((list) => { longTasks += list.getEntries().length }).observe({ entryTypes: ["longtask"] });
    new MutationObserver((changes) => {
      mostRows = Math.max(mostRows, document.querySelectorAll(".log-row").length);
      addedRows += changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node.matches?.(".log-slot")).length;
    }).observe(document.querySelector("main"), { childList: true, subtree: true })`);
  // One page after the other, hence more time than for other waits.
  const scrollToEnd = () => page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
  const isAtEnd = async () => {
    await scrollToEnd();
    return (await status().allInnerTexts()).some((text) => text.startsWith("10,000 emails."));
  };
  await until("the last row", isAtEnd, { withinMs: 3 * patienceMs });
  // The last page may have arrived after the last scrolling.
  await scrollToEnd();
  await page.getByText("Entry number 9999", { exact: true }).waitFor();
  await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor();
  assert.equal(await rows().last().getAttribute("aria-setsize"), "10000");

  const steps = 60;
  const rowsPerStep = 10;
  const count = () => page.evaluate<[added: number, long: number]>("[addedRows, longTasks]");
  const before = await count();
  for (let step = 0; step < steps; step += 1) {
    await page.mouse.wheel(0, -40 * rowsPerStep);
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  }
  const after = await count();
  const added = after[0] - before[0];
  assert.ok(added > steps && added <= steps * rowsPerStep * 1.5, `${added} rows added in ${steps} steps`);
  // Fewer than one for each step: a step that renders the whole list would be one.
  assert.ok(after[1] - before[1] < steps, `${after[1] - before[1]} long tasks in ${steps} steps`);
  const mostRows = await page.evaluate<number>("mostRows");
  assert.ok(mostRows > 20 && mostRows < 100, `${mostRows} rows at the same time`);

  await page.getByRole("button", { name: "Show newest" }).click();
  await page.getByText(/^live, updated/).waitFor();
  await page.getByText("100 of 10,000 emails. Scroll for more").waitFor();
  assert.equal(await page.evaluate("scrollY"), 0);
});

test("outcomes have counts, and lead to their emails", { skip: withoutBrowser }, async () => {
  await page.goto("/emails");
  await chip(/^All 10,000$/).waitFor();
  await chip(/^Delivered 9,901$/).waitFor();
  await chip(/^Bounced 99$/).click();
  await page.getByText("99 emails. Press").waitFor();
  assert.match(page.url(), /outcome=bounced/);
  assert.deepEqual([...new Set(await outcomesShown())], ["Bounced"]);
  await chip(/^All 10,000$/).waitFor();
  await page.goto("/emails?outcome=bounced,delayed");
  await settled(page, /Entry number/);
  assert.equal(await chip(/^Bounced/).getAttribute("aria-pressed"), "true");
});

test("the log finds emails by recipient, word, metadata, key and days", { skip: withoutBrowser }, async () => {
  await page.goto("/emails");
  await page.getByLabel("Search", { exact: true }).fill("reader7777@there.test");
  await page.getByText("1 email. Press").waitFor();
  await page.getByText("Entry number 7777", { exact: true }).waitFor();
  assert.match(page.url(), /q=reader7777/, "the URL contains the search");
  await page.getByLabel("Search", { exact: true }).fill("entry 8888");
  await page.getByText("Entry number 8888", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();

  await page.getByRole("button", { name: "+ Metadata" }).click();
  await page.getByLabel("Metadata key").fill("order");
  await page.getByLabel("Metadata value").fill("5432");
  await page.getByText("1 email. Press").waitFor();
  await page.getByText("Entry number 5432", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "order: 5432" }).waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();

  await page.getByRole("button", { name: "+ Key" }).click();
  await page.getByLabel("API key", { exact: true }).selectOption("POSTHORN_API_KEY");
  await page.getByRole("button", { name: "Key: POSTHORN_API_KEY" }).waitFor();
  await chip(/^All 10,000$/).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Clear filters" }).click();

  const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
  await page.getByRole("button", { name: "Any time" }).click();
  await page.getByLabel("From").fill(day);
  await page.getByLabel("Until").fill(day);
  await page.getByRole("button", { name: "Apply dates" }).click();
  await chip(/^All 1,440$/).waitFor();
  assert.match(page.url(), new RegExp(`from=${day}&until=${day}`));
  await page.goto("/emails?since=hour");
  await page.getByText(/^\d\d emails\. Press/).waitFor();
  await page.goto("/emails?q=unknown%40nowhere.test&domain=sender.test");
  await page.getByText("No emails match.").waitFor();
  await inspect(page, "emails-none");
  await page.getByRole("button", { name: "Clear filters" }).first().click();
  await chip(/^All 10,000$/).waitFor();
});

test("the log is exported as CSV and as JSON lines", { skip: withoutBrowser }, async () => {
  await page.goto("/emails?outcome=bounced");
  await chip(/^Bounced 99$/).waitFor();
  for (const [format, read] of [
    ["CSV", (text: string) => text.trim().split("\r\n").slice(1)],
    ["JSON lines", (text: string) => text.trim().split("\n")],
  ] as const) {
    await page.getByRole("button", { name: "Export", exact: true }).click();
    await dialog().getByText("99 emails that match").waitFor();
    await dialog()
      .getByLabel(new RegExp(`^${format}`))
      .check();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      dialog().getByRole("button", { name: "Export emails" }).click(),
    ]);
    const lines = read(await readFile(await file.path(), "utf8"));
    assert.equal(lines.length, 99);
    assert.match(lines[0]!, /reader100@there\.test/);
    await dialog().getByText("Exported 99 emails.").waitFor();
    assert.deepEqual(await findings(page), []);
    await dialog().getByRole("button", { name: "Done" }).click();
  }
});

test("an export shows its progress, can be canceled, and saves nothing when it fails", {
  skip: withoutBrowser,
}, async () => {
  const calls = "**/v1.EmailService/ExportEmails";
  const downloads: string[] = [];
  page.on("download", (file) => downloads.push(file.suggestedFilename()));
  await page.goto("/emails");
  await chip(/^All 10,000$/).waitFor();
  let isHeld = false;
  await page.route(calls, () => {
    isHeld = true;
  });
  await page.getByRole("button", { name: "Export", exact: true }).click();
  await dialog().getByRole("button", { name: "Export emails" }).click();
  await dialog().getByText("0 of 10,000 emails").waitFor();
  await dialog().getByRole("progressbar").waitFor({ state: "attached" });
  await until("the call", () => isHeld);
  await dialog().getByRole("button", { name: "Cancel export" }).click();
  await dialog().getByRole("button", { name: "Export emails" }).waitFor();
  await page.unroute(calls);
  await page.route(calls, (route) => route.abort());
  await dialog().getByRole("button", { name: "Export emails" }).click();
  await dialog().getByText("Nothing was saved").waitFor();
  await page.unroute(calls);
  assert.deepEqual(downloads, []);
  await dialog().getByRole("button", { name: "Close" }).last().click();
});

test("new mail appears by itself, and the log says at once when it is no longer current", {
  skip: withoutBrowser,
}, async () => {
  await page.goto("/emails");
  await chip(/^All 10,000$/).waitFor();
  await accepted(testbed, { to: ["bounced@live.test"], subject: "Just now" });
  await page.getByText("Just now", { exact: true }).waitFor();
  assert.match((await rows().first().innerText()).replaceAll(/\s+/g, " "), /^Bounced bounced@live\.test Just now/);
  await chip(/^Bounced 100$/).waitFor();
  await page.route("**/v1.*/*", (route) => route.abort());
  await page.getByText(/not current: the server does not answer\. Last update at \d\d:\d\d:\d\d/).waitFor();
  await page.getByText("Just now", { exact: true }).waitFor();
  assert.equal(await page.getByText(/^live/).count(), 0);
  await page.unrouteAll();
  await page.getByText(/^live, updated/).waitFor();
});

test("on a phone a row has two lines, and the keyboard opens it", { skip: withoutBrowser }, async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/emails");
  await settled(page, /Entry number/);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth <= 0"), true);
  const box = await rows().first().boundingBox();
  assert.ok(box && box.height > 55 && box.height < 70, `${box?.height} pixels`);
  assert.deepEqual(await findings(page), []);
  await rows().nth(1).getByRole("link").focus();
  await page.keyboard.press("Enter");
  await settled(page, /The first|Entry number/);
  await page.getByRole("region", { name: "Summary" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
  assert.deepEqual(tab.complaints, []);
});
