/** The pages of a webhook and of the queue: attempts, recipients, the emails of a destination, retries, and what they say when the server is gone. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import {
  findings,
  follow,
  inspect,
  openBrowser,
  openTab,
  settled,
  shoot,
  type Tab,
  withoutBrowser,
} from "../harness/browser.ts";
import { accepted } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWebTestbed } from "../harness/web-data.ts";
import type { WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startWebTestbed();
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key, width: 1440 });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });

test("a delivery names its recipient and shows every attempt with request and response", {
  skip: withoutBrowser,
}, async () => {
  const { receiver } = testbed;
  receiver.script = ({ seen }) => (seen <= 2 ? { status: 503, body: "down for repairs" } : 200);
  const webhook = await testbed.createWebhook({ eventTypes: ["email.bounced"] });
  await accepted(testbed, { to: ["bounced@hook.test"] });
  await testbed.untilDeliveries("the delivery", webhook.id, ([one]) => one?.settledAt !== undefined);
  await page.goto(`/webhooks/${webhook.id}`);
  await settled(page, /email\.bounced bounced@hook\.test[\s\S]*3 attempts/);
  await page.locator("summary").first().click();
  const attempts = page.getByRole("list", { name: "Attempts, newest first" });
  await attempts.getByText("Attempt 3").waitFor();
  assert.deepEqual(await attempts.locator("summary .mark").allInnerTexts(), ["HTTP 200", "HTTP 503", "HTTP 503"]);
  await attempts.locator("summary").nth(2).click();
  await attempts.getByText("down for repairs").last().waitFor();
  assert.match(await attempts.innerText(), /webhook-signature: v1,/);
  assert.ok(!(await page.content()).includes(webhook.secret.slice(6)), "the secret is not in the page");
  await inspect(page, "webhook-attempts");
  await page.setViewportSize({ width: 820, height: 900 });
  await shoot(page, "webhook-attempts-820");
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("what a hostile endpoint answers is shown as text", { skip: withoutBrowser }, async () => {
  const { receiver } = testbed;
  const body = '<img src=x onerror="document.title=1"><script>document.title=2</script>\x1b[31m\u202etxt.exe\0';
  receiver.script = () => ({ status: 500, headers: { "x-html": "<b>bold</b>" }, body });
  const { id } = await testbed.createWebhook({ eventTypes: ["email.bounced"] });
  await page.goto(`/webhooks/${id}`);
  await settled(page, /No event has been accepted yet/);
  await button("Send test event").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Send test event" }).click();
  const response = dialog.getByRole("region", { name: "Response" });
  await response.waitFor();
  const text = await response.innerText();
  assert.ok(text.includes("x-html: <b>bold</b>"), text);
  assert.ok(text.endsWith(`</script>\\u001b[31m\\u202etxt.exe\ufffd`), text);
  assert.equal(await dialog.locator("img, script, b").count(), 0);
  assert.match(await page.title(), /^Webhook/);
  await dialog.getByRole("button", { name: "Done" }).click();
});

test("an open delivery shows its last attempt by itself, and attempts of an earlier version from the delivery", {
  skip: withoutBrowser,
}, async () => {
  const { receiver } = testbed;
  const { sql } = testbed.database;
  let isUp = false;
  receiver.script = () => (isUp ? { status: 200, body: "back again" } : { status: 503, body: "away" });
  const webhook = await testbed.createWebhook({ eventTypes: ["email.delivered"] });
  await accepted(testbed, { to: ["a@there.test"] });
  const [waiting] = await testbed.untilDeliveries("an attempt", webhook.id, ([one]) => (one?.attempts ?? 0) > 0);
  // Longer than the test's short retries, so that the next attempt is the redelivery.
  await until("a delivery that waits", async () => {
    const rows = await sql`
      update webhook_deliveries set due_at = due_at + interval '1 hour' where status = 'queued' and lease is null
        and due_at < service_time() + interval '10 minutes' and webhook_id = ${webhook.id.slice(3)} returning 1`;
    return rows.length > 0;
  });
  await page.goto(`/webhooks/${webhook.id}`);
  await settled(page, /Every attempt fails/);
  await page.locator("summary").first().click();
  const attempts = page.getByRole("list", { name: "Attempts, newest first" });
  await attempts.getByText("away").first().waitFor();
  isUp = true;
  await testbed.ask("RedeliverWebhook", { webhookId: webhook.id, deliveryId: waiting!.id });
  await attempts.getByText("back again").waitFor();

  await sql`delete from webhook_attempts where webhook_id = ${webhook.id.slice(3)}`;
  await page.reload();
  await settled(page, /The endpoint accepts events/);
  await page.locator("summary").first().click();
  await attempts.getByText("An earlier version of the server did not keep it.").waitFor();
  await attempts.getByText("back again").waitFor();
  await page.getByText(/earlier attempts? ha(s|ve) no details/).waitFor();
});

test("the list of webhooks is a table with the last success and failure", { skip: withoutBrowser }, async () => {
  const { receiver } = testbed;
  receiver.script = ({ path }) => (path === "/down" ? 500 : 200);
  await testbed.createWebhook({ url: `${receiver.url}/works`, description: "The ledger" });
  const down = await testbed.createWebhook({
    url: `${receiver.url}/down`,
    eventTypes: ["email.sent", "email.delivered"],
  });
  const off = await testbed.createWebhook({ url: `${receiver.url}/off` });
  await testbed.ask("UpdateWebhook", { id: off.id, enabled: false });
  await accepted(testbed, { to: ["a@there.test"] });
  await until("a failure", async () => (await testbed.getWebhook(down.id)).lastFailureAt);
  await follow(page, "/webhooks");
  const row = (path: string) => page.getByRole("row").filter({ hasText: path });
  await row("/works").getByText("The ledger").waitFor();
  await settled(page, /Failing[\s\S]*\/down[\s\S]*email\.sent and 1 more/);
  const cells = async (path: string) => await row(path).locator("td[data-name]").allInnerTexts();
  await until("a success", async () => /ago|now/.test((await cells("/works"))[0] ?? ""));
  assert.deepEqual((await cells("/works")).slice(1), ["none", "none"]);
  assert.equal((await cells("/down"))[0], "none");
  assert.match((await cells("/down")).slice(1).join(" "), /^(just now|.* ago) (just now|.* ago)$/);
  assert.match(await row("/off").innerText(), /Disabled/);
  await inspect(page, "webhooks-table");
  await page.setViewportSize({ width: 820, height: 900 });
  await shoot(page, "webhooks-table-820");
  await page.setViewportSize({ width: 1440, height: 900 });
  await row("/off").getByRole("link").click();
  await settled(page, /This webhook is disabled\s*Disabled by UpdateWebhook\. After you enable it/);
});

test("a test event has a type that the webhook receives", { skip: withoutBrowser }, async () => {
  testbed.receiver.script = () => 200;
  const { id } = await testbed.createWebhook({ eventTypes: ["email.bounced"] });
  await page.goto(`/webhooks/${id}`);
  await button("Send test event").click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel("Event type").inputValue(), "email.bounced");
  await dialog.getByRole("button", { name: "Send test event" }).click();
  await dialog.getByText("Attempt 1").waitFor();
  assert.deepEqual(await findings(page), []);
  await dialog.getByRole("button", { name: "Done" }).click();
});

test("the queue is a table whose rows lead to their emails, and a retry says what it did", {
  skip: withoutBrowser,
}, async () => {
  await accepted(testbed, { to: ["delayed@slow.test"], subject: "Waits for its receiver", async: true });
  // The simulated receiver accepts the second attempt, which would be soon.
  await until("a delayed recipient", async () => {
    const { sql } = testbed.database;
    const rows = await sql`
      update recipients set due_at = due_at + interval '1 hour' where destination = 'slow.test' and status = 'delayed' returning 1`;
    return rows.length > 0;
  });
  await accepted(testbed, {
    to: ["a@later.test"],
    subject: "Waits for tomorrow",
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await follow(page, "/queue");
  await settled(page, /Scheduled\s*later\.test\s*0\s*0\s*1\s*0/);
  await settled(page, /slow\.test/);
  await inspect(page, "queue-table");
  await page.setViewportSize({ width: 820, height: 900 });
  await shoot(page, "queue-table-820");
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "queue-table-1440-dark");
  assert.equal(await button("Try now: later.test").isDisabled(), true, "scheduled mail keeps its time");
  await testbed.call("QueueService/PauseDestination", { destination: "stays.test" });
  await button("Resume stays.test").click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume mail" }).click();
  await button("Resume stays.test").waitFor({ state: "detached" });
  await button("Try now: slow.test").click();
  await settled(page, /Retried 1 recipient at slow\.test: all have left the queue/);
  await accepted(testbed, { to: ["delayed@again.test"], async: true });
  await button("Try now: again.test").click();
  await page.getByLabel("Search").fill("later");
  await settled(page, /(Retried|Retrying) 1 recipient at again\.test/);
  await settled(page, /Retried 1 recipient at again\.test/);
  await page.getByLabel("Search").fill("");
  await page.getByRole("link", { name: "Emails that wait for later.test" }).click();
  await settled(page, /Waits for tomorrow/);
  assert.ok(!(await page.locator("main").innerText()).includes("Waits for its receiver"));
  await page.getByRole("button", { name: "To: later.test" }).waitFor();
  await page.getByRole("button", { name: "Still waiting" }).waitFor();
});

test("a link that is followed right after typing into a filter leads to its page", {
  skip: withoutBrowser,
}, async () => {
  const other = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  // Longer than the pause after which the filter applies.
  await other.page.route("**/assets/email*.js", async (route) => {
    await delay(1_500);
    await route.continue();
  });
  await other.page.goto("/queue");
  await settled(other.page, /later\.test/);
  await other.page.getByLabel("Search").fill("test");
  await other.page.getByRole("link", { name: "Emails that wait for later.test" }).click();
  await settled(other.page, /Waits for tomorrow/);
  await other.close();
});

test("the queue says at once when the server no longer answers", { skip: withoutBrowser }, async () => {
  await follow(page, "/queue");
  await settled(page, /live, updated/);
  await page.route("**/v1.QueueService/ListDestinations", (route) => route.abort());
  await settled(page, /not current: the server does not answer/);
  await page.unroute("**/v1.QueueService/ListDestinations");
  await settled(page, /live, updated/);
  assert.deepEqual(tab.complaints, []);
});
