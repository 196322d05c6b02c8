/** The page of an email opens with what happened and what to do, against a receiver that really says so. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { findings, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, untilEvent, untilFinished } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({
    // A second attempt would replace the sentence that a test reads.
    env: { POSTHORN_RETRY_SCHEDULE_MS: "3600000" },
    sink: {
      script: byRecipient({
        lin: "550 5.1.1 <lin@there.test>: Recipient address rejected: User unknown",
        full: "552 5.2.2 The mailbox is over its quota",
        policy: "550 5.7.1 Rejected by policy, see https://there.test/rules",
        grey: "451 4.7.1 Greylisted, please try again later",
      }),
    },
  });
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const summary = () => page.getByRole("region", { name: "Summary" });
const dialog = () => page.getByRole("dialog");

async function summaryOf(to: string[], rest: Record<string, unknown> = {}): Promise<string> {
  const id = await accepted(testbed, { to, async: true, ...rest });
  if (to.some((address) => address.startsWith("grey"))) await untilEvent(testbed, id, "email.delayed");
  else if (!rest.scheduledAt) await untilFinished(testbed, id);
  await page.goto(`/emails/${id}`);
  return (await summary().innerText()).replaceAll(/\s+/g, " ");
}

test("a bounce says that the mailbox does not exist, shows the receiver's words, and offers to remove the suppression", {
  skip: withoutBrowser,
}, async () => {
  const text = await summaryOf(["lin@there.test"], { subject: "Invoice 2026-1191", metadata: { order: "1191" } });
  assert.match(text, /^Bounced: the mailbox lin@there\.test does not exist/);
  await summary().getByText("The address is now suppressed").waitFor();
  const steps = page.getByRole("list", { name: "Events of lin@there.test" }).getByRole("listitem");
  assert.deepEqual(
    (await steps.allInnerTexts()).map((one) => /Accepted|Bounced|Suppressed/.exec(one)?.[0]),
    ["Accepted", "Bounced", "Suppressed"],
    "from accepted to final",
  );
  await page.getByText("550 5.1.1 <lin@there.test>: Recipient address rejected: User unknown").waitFor();
  const order = await page.locator("main").locator("h2, dt").allInnerTexts();
  assert.deepEqual(order.slice(0, 3), ["What happened", "Content", "Details"]);
  assert.deepEqual(order.slice(-2), ["Email id", "Message-ID"], "the ids come last");
  await inspect(page, "email-bounced");

  await page.getByRole("button", { name: "Remove suppression of lin@there.test" }).click();
  await dialog().getByRole("button", { name: "Remove suppression", exact: true }).click();
  await summary().getByText("Check the spelling of the address").waitFor();
  const { body } = await testbed.call("SuppressionService/ListSuppressions", {});
  assert.deepEqual(body.data ?? [], []);
});

test("each outcome has its sentence", { skip: withoutBrowser }, async () => {
  await testbed.call("SuppressionService/AddSuppression", { address: "quiet@there.test" });
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  for (const [to, says, rest] of [
    ["full", /^Bounced: the mailbox full@there\.test is full Resend/, {}],
    ["policy", /^Bounced: a policy of the receiver blocks it/, {}],
    ["grey", /^Delayed: the receiver asks to try again later \(greylisting\) Next attempt: .* nothing to do\.$/, {}],
    ["quiet", /^Suppressed: quiet@there\.test was added to the suppression list It was not attempted\./, {}],
    ["fine", /^Delivered: .* accepted it for fine@there\.test/, {}],
    ["later", /^Scheduled: it is sent at .* You can reschedule or cancel it until then\.$/, { scheduledAt }],
  ] as const)
    assert.match(await summaryOf([`${to}@there.test`], rest), says);
  assert.deepEqual(await findings(page), []);
});

test("several recipients: the worst comes first, and each has its own reason", { skip: withoutBrowser }, async () => {
  const to = ["fine", "full", "policy"].map((name) => `${name}@there.test`);
  const text = await summaryOf(to);
  assert.match(text, /^Bounced for 2 of 3 recipients Each recipient below has its own reason\. Others: 1 delivered\./);
  const recipients = page.getByRole("list", { name: "Recipients" }).locator(":scope > li");
  const texts = await recipients.allInnerTexts();
  assert.equal(texts.length, 3);
  assert.match(texts.at(-1)!, /fine@there\.test[\s\S]*Delivered/, "the recipient without a problem comes last");
  await settled(page, /full@there\.test is full[\s\S]*552 5\.2\.2/);
});

test("the page says at once when it is no longer current, and recovers by itself", {
  skip: withoutBrowser,
}, async () => {
  await summaryOf(["fine@there.test"]);
  await page.getByText(/^live, updated/).waitFor();
  await page.route("**/v1.EmailService/GetEmail", (route) => route.abort());
  await page.getByText(/not current: the server does not answer\. Last update at \d\d:\d\d:\d\d/).waitFor();
  assert.match(await summary().innerText(), /Delivered/, "the last known state stays");
  await page.unrouteAll();
  await page.getByText(/^live, updated/).waitFor();
});

test("the email id can be copied, and metadata leads to the emails with the same value", {
  skip: withoutBrowser,
}, async () => {
  await summaryOf(["fine@there.test"], { metadata: { order: "77" }, subject: "With metadata" });
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Copy email id" }).click();
  await page.getByRole("menuitem", { name: "Copied email id" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "order: 77" }).click();
  await until("the filtered log", () => new URL(page.url()).search.includes("key=order"));
  await settled(page, /With metadata/);
  assert.deepEqual(tab.complaints, []);
});
