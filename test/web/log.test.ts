/** The email log with 100,000 emails: the first page, loading more by scrolling, and search. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  const id = await accepted(testbed, { subject: "The first", metadata: { order: "0" } });
  await untilFinished(testbed, id);
  await multiply(id.slice("em_".length), 100_000);
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

/**
 * Copies of one email, each with its own subject, recipient and metadata, one millisecond older than the one before.
 * Written in batches: on a busy machine all of them take longer than one statement may.
 */
async function multiply(id: string, count: number): Promise<void> {
  const batch = 5_000;
  const newest = new Date();
  for (let first = 1; first <= count; first += batch) await copy(id, newest, first, Math.min(first + batch - 1, count));
  await testbed.database.sql`analyze emails`;
}

async function copy(id: string, newest: Date, first: number, last: number): Promise<void> {
  await testbed.database.sql`
    with ids as materialized (
      select n, uuidv7(${newest}::timestamptz - clock_timestamp() - make_interval(secs => n * 0.001)) as id
      from generate_series(${first}::int, ${last}::int) n
    ), mail as (
      insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, metadata, status, status_message,
        open, accepted, total, size_bytes, content_day, expires_at)
      select workspace_id, ids.id, domain_id, domain, from_address, 'Entry number ' || n, message_id,
        jsonb_set(envelope, '{to,0,address}', to_jsonb('reader' || n || '@there.test')), jsonb_build_object('order', n::text),
        case when n % 1000 = 0 then 'failed' else 'sent' end, status_message, 0, 1, 1, size_bytes, content_day, expires_at
      from emails, ids where emails.id = ${id}
    )
    insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at, attempts)
    select ${testbed.workspaceId}, ids.id, 0, 'to', 'reader' || n || '@there.test', 'there.test', 'delivered', now(), 1 from ids`;
}

const rows = () => tab.page.getByRole("list", { name: "Emails, newest first" }).getByRole("listitem");

test("the log shows the newest page and loads more pages by scrolling", { skip: withoutBrowser }, async () => {
  await tab.page.goto("/emails");
  await settled(tab.page, /The first|Entry number/);
  assert.equal(await rows().count(), 50);
  for (const count of [100, 150, 200]) {
    await tab.page.mouse.wheel(0, 100_000);
    await until(`${count} rows`, async () => (await rows().count()) >= count);
  }
  await tab.page.getByText("Paused while you read older emails.").waitFor();
  const subjects = await tab.page.locator(".row .middle").allInnerTexts();
  assert.equal(new Set(subjects).size, subjects.length, "no email is shown twice");
  await tab.page.getByRole("button", { name: "Show newest emails" }).click();
  await until("only the newest page", async () => (await rows().count()) === 50);
});

test("the log finds emails by recipient, metadata and status", { skip: withoutBrowser }, async () => {
  await tab.page.goto("/emails");
  await tab.page.getByLabel("Search").fill("reader77777@there.test");
  await tab.page.getByText("Entry number 77777").waitFor();
  await tab.page.getByText("1 result", { exact: true }).waitFor();
  assert.match(tab.page.url(), /q=reader77777/, "the URL contains the search");

  await tab.page.goto("/emails?key=order&value=%2254321%22");
  await tab.page.getByText("Entry number 54321").waitFor();
  assert.equal(await rows().count(), 1);

  await tab.page.goto("/emails");
  await tab.page.getByLabel("Status").selectOption("failed");
  await until("only failed emails", async () => {
    const marks = await tab.page.locator("a.row .mark").allInnerTexts();
    return marks.length > 0 && marks.every((mark) => /failed/i.test(mark));
  });
  await tab.page.getByLabel("Search").fill("unknown@nowhere.test");
  await tab.page.getByText("No emails match.").waitFor();
  await tab.page.getByRole("button", { name: "Clear filters" }).first().click();
  await until("all emails again", async () => (await rows().count()) === 50);
  assert.deepEqual(tab.complaints, []);
});
