/** The page behind an unsubscribe link in a real browser, and the list of unsubscriptions in the dashboard. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { findings, openBrowser, openTab, settled, shoot, withoutBrowser } from "../harness/browser.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, linkOf, post, publicUrl, sendWithLink } from "../harness/unsubscribe.ts";
import { patienceMs, until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let path: string;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
  browser = await openBrowser();
  for (const topic of ["product-updates", `a${"-very-long".repeat(6)}-t`])
    await sendWithLink(testbed, "reader@there.test", topic);
  ({ path } = await sendWithLink(testbed, "reader@there.test", "newsletter"));
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const overflowOf = (page: Page) =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");

for (const { colorScheme, width } of [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 390 },
  { colorScheme: "light", width: 390 },
] as const)
  test(`the page is accessible and fits, ${colorScheme} at ${width} px`, { skip: withoutBrowser }, async () => {
    const { page, complaints, close } = await openTab(browser, testbed.program.url, { colorScheme, width });
    const loaded: string[] = [];
    page.on("request", (one) => loaded.push(new URL(one.url()).pathname));
    await page.goto(path);
    assert.deepEqual(await findings(page), []);
    assert.equal(await page.locator("h1").textContent(), "Email from sender.test");
    assert.equal(await page.title(), "Email from sender.test");
    assert.equal(await page.getByText("reader@there.test").count(), 0, "the address is masked");
    assert.equal(await overflowOf(page), 0);
    await shoot(page, `unsubscribe-${colorScheme}-${width}`);
    assert.deepEqual(loaded, [path], "nothing else is loaded");
    assert.deepEqual(complaints, []);
    await close();
  });

test("a recipient without JavaScript leaves one topic, then all, and comes back", {
  skip: withoutBrowser,
}, async () => {
  const context = await browser.newContext({ baseURL: testbed.program.url, javaScriptEnabled: false });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  await page.goto(path);
  // By keyboard: the first button is for the topic of the email.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "You are unsubscribed from newsletter." }).waitFor();
  await page.getByRole("button", { name: "Subscribe to newsletter again" }).waitFor();
  await shoot(page, "unsubscribe-done");
  await page.getByRole("button", { name: "Unsubscribe from all topics" }).click();
  await page.getByRole("status").filter({ hasText: "You are unsubscribed from all topics." }).waitFor();
  await shoot(page, "unsubscribe-all");
  const topics = (await entriesOf(testbed)).map(({ topic }) => topic).sort();
  assert.deepEqual(topics, ["*", "newsletter"]);
  await page.getByRole("button", { name: "Subscribe again" }).click();
  await page.getByRole("button", { name: "Subscribe to newsletter again" }).click();
  await page.getByRole("button", { name: "Unsubscribe from newsletter" }).waitFor();
  assert.deepEqual(await entriesOf(testbed), []);
  // A reload repeats the last form, which changes nothing.
  await page.reload();
  assert.deepEqual(await context.cookies(), []);
  await page.goto("/unsubscribe/nonsense");
  await page.getByRole("heading", { name: "This link does not work" }).waitFor();
  await context.close();
});

test("the dashboard lists unsubscriptions, adds one and undoes it", { skip: withoutBrowser }, async () => {
  const { page, complaints, close } = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  await page.goto("/suppressions");
  await settled(page, /No recipient has unsubscribed yet/);
  await page.getByRole("button", { name: "Unsubscribe address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill("phone@there.test");
  await dialog.getByLabel("Topic").fill("No Topic");
  await dialog.getByRole("button", { name: "Unsubscribe address" }).click();
  await dialog.getByText(/lower-case letters/).waitFor();
  await dialog.getByLabel("Topic").fill("newsletter");
  await dialog.getByRole("button", { name: "Unsubscribe address" }).click();
  await settled(page, /API[\s\S]*phone@there\.test[\s\S]*Topic newsletter/);
  assert.deepEqual(await findings(page), []);
  await shoot(page, "suppressions-unsubscribed-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 390, height: 900 });
  await until("the page to fit", async () => (await overflowOf(page)) === 0);
  assert.deepEqual(await findings(page, ["color-contrast"]), []);
  await shoot(page, "suppressions-unsubscribed-dark-390");
  await page.getByRole("button", { name: "Undo for phone@there.test and newsletter" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Subscribe address" }).click();
  await settled(page, /No recipient has unsubscribed yet/);
  assert.deepEqual(complaints, []);
  await close();
});

test("an email shows its topic, and why it was not sent", { skip: withoutBrowser }, async () => {
  await testbed.call("SuppressionService/AddUnsubscribe", { address: "left@there.test", topic: "newsletter" });
  const { body } = await testbed.send({ to: ["left@there.test"], unsubscribe: { topic: "newsletter" } });
  const { page, complaints, close } = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  await page.goto(`/emails/${body.id}`);
  await settled(page, /left@there\.test has unsubscribed from the topic of this email[\s\S]*Topic\s*newsletter/);
  await shoot(page, "email-unsubscribed");
  assert.deepEqual(complaints, []);
  await close();
});

test("an email that is sent again keeps its topic, and its link is a new one", { skip: withoutBrowser }, async () => {
  const { id, path } = await sendWithLink(testbed, "again@there.test", "newsletter");
  const { page, complaints, close } = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  await page.goto(`/emails/${id}`);
  await page.getByRole("button", { name: "Resend email" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resend email" }).click();
  await page.waitForURL((url) => /\/emails\/em_/.test(url.pathname) && !url.pathname.endsWith(id));
  const second = await until("the second copy", async () => testbed.sink.received("again@there.test")[1]);
  assert.notEqual(linkOf(second.data), path);
  assert.equal((await post(testbed, path)).status, 200);
  await page.goto(`/emails/${id}`);
  await page.getByRole("button", { name: "Resend email" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resend email" }).click();
  await settled(page, /again@there\.test has unsubscribed from the topic of this email/);
  assert.deepEqual(complaints, []);
  await close();
});
