/** A scheduled email gets another time on its page. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { inspect, openBrowser, openTab, shoot, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, getEmail, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed();
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const dayMs = 86_400_000;
/** The browser of the tests is in UTC. */
const minuteOf = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 16);
const dialog = () => page.getByRole("dialog");
const field = () => dialog().getByLabel("New time (UTC)");
const open = () => page.getByRole("button", { name: "Reschedule email" }).click();
const submit = () => dialog().getByRole("button", { name: "Reschedule email" }).click();

test("a scheduled email gets another time, and the page shows it", { skip: withoutBrowser }, async () => {
  const scheduledAt = new Date(Date.now() + 2 * dayMs).toISOString();
  const id = await accepted(testbed, { to: ["later@there.test"], subject: "Offer for later", scheduledAt });
  await page.goto(`/emails/${id}`);
  await open();
  assert.equal(await field().inputValue(), scheduledAt.slice(0, 16));
  await field().fill(minuteOf(40 * dayMs));
  await submit();
  await dialog()
    .getByText(/more than 30 days ahead; choose an earlier time/)
    .waitFor();
  assert.equal(await field().getAttribute("aria-invalid"), "true");
  await inspect(page, "reschedule-email");

  const next = minuteOf(9 * dayMs);
  await field().fill(next);
  await dialog()
    .getByText(`, ${next.slice(11)} UTC`)
    .waitFor();
  await submit();
  await dialog().waitFor({ state: "detached" });
  const shown = page.locator(`time[datetime="${next}:00.000Z"]`);
  await shown.first().waitFor();
  await page.getByText(/Scheduled: it is sent at/).waitFor();
  assert.equal(Date.parse((await getEmail(testbed, id)).scheduledAt as string), Date.parse(`${next}Z`));
  await inspect(page, "email-rescheduled");
});

test("an email can be sent now, and then the button is gone", { skip: withoutBrowser }, async () => {
  const scheduledAt = new Date(Date.now() + 2 * dayMs).toISOString();
  const id = await accepted(testbed, { to: ["now@there.test"], scheduledAt });
  await page.goto(`/emails/${id}`);
  await open();
  await field().fill(minuteOf(0));
  await submit();
  await untilFinished(testbed, id);
  await page.getByText(/Delivered: /).waitFor();
  const button = page.getByRole("button", { name: "Reschedule email" });
  await until("the button to go", async () => (await button.count()) === 0);
});

test("the field is in the person's time zone", { skip: withoutBrowser }, async () => {
  const { key, url } = testbed.program;
  const elsewhere = await openTab(browser, url, { key, timezoneId: "Asia/Tokyo", width: 390 });
  const day = minuteOf(3 * dayMs).slice(0, 10);
  const id = await accepted(testbed, { to: ["tokyo@there.test"], scheduledAt: `${day}T01:30:00Z` });
  await elsewhere.page.goto(`/emails/${id}`);
  await elsewhere.page.getByRole("button", { name: "Reschedule email" }).click();
  const time = elsewhere.page.getByLabel("New time (Asia/Tokyo)");
  assert.equal(await time.inputValue(), `${day}T10:30`);
  await time.fill(`${day}T23:45`);
  await elsewhere.page.getByText(/, 14:45 UTC$/).waitFor();
  await shoot(elsewhere.page, "reschedule-email-tokyo");
  await elsewhere.page.getByRole("dialog").getByRole("button", { name: "Reschedule email" }).click();
  await until("the new time", async () => (await getEmail(testbed, id)).scheduledAt === `${day}T14:45:00Z`);
  await elsewhere.close();
});

test("the dialog says that it is too late", { skip: withoutBrowser }, async () => {
  const scheduledAt = new Date(Date.now() + 2 * dayMs).toISOString();
  const id = await accepted(testbed, { to: ["canceled@there.test"], scheduledAt });
  await page.goto(`/emails/${id}`);
  await open();
  await testbed.call("EmailService/CancelEmail", { id });
  await field().fill(minuteOf(3 * dayMs));
  await submit();
  await dialog().getByText("The time of this email cannot be changed: it was canceled.").waitFor();
  await dialog().getByRole("button", { name: "Cancel", exact: true }).click();
  await dialog().waitFor({ state: "detached" });
  assert.deepEqual(tab.complaints, []);
});
