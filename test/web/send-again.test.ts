/** A person sends from the dashboard, the answer is lost, and the person tries again: one email is sent. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { senderDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

/** The server accepts the email of the first call, and the page does not hear of it. */
async function withLostAnswer(page: Page, act: () => Promise<void>): Promise<void> {
  const path = "**/v1.EmailService/SendEmail";
  let lost = 0;
  await page.route(path, async (route) => {
    await route.fetch();
    lost++;
    await route.abort();
  });
  await act();
  await page.getByRole("alert").waitFor();
  await page.unroute(path);
  assert.equal(lost, 1);
  await act();
}

async function countSent(subject: string): Promise<number> {
  return (await testbed.database.sql`select 1 from emails where subject = ${subject}`).length;
}

test("the form", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/send");
  await page.getByRole("textbox", { name: "To" }).fill("delivered@there.test");
  await page.getByRole("textbox", { name: "Subject" }).fill("From the form");
  await withLostAnswer(page, () => page.getByRole("button", { name: "Send email" }).press("Enter"));
  await page.waitForURL(/\/emails\/em_/);
  assert.equal(await countSent("From the form"), 1);
  // The same text on purpose is another email.
  await page.goto("/send");
  await page.getByRole("textbox", { name: "To" }).fill("delivered@there.test");
  await page.getByRole("textbox", { name: "Subject" }).fill("From the form");
  await page.getByRole("button", { name: "Send email" }).press("Enter");
  await page.waitForURL(/\/emails\/em_/);
  assert.equal(await countSent("From the form"), 2);
});

test("an email that is sent again", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  const from = `news@${senderDomain}`;
  const id = await accepted(testbed, { from, to: ["delivered@there.test"], subject: "Resent" });
  await untilFinished(testbed, id);
  await page.goto(`/emails/${id}`);
  await settled(page, /Delivered/);
  await page.getByRole("button", { name: "Resend email" }).click();
  const dialog = page.getByRole("dialog");
  await withLostAnswer(page, () => dialog.getByRole("button", { name: "Resend email" }).press("Enter"));
  await page.waitForURL((url) => !url.pathname.endsWith(id));
  assert.equal(await countSent("Resent"), 2, "the first one and one more");
});
