/** In capture mode: a simulated reply is found from its email, read on the inbound page, and answered there, by keyboard alone. The page
 * shows the verdict of ARC if a forwarder has sealed the message. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

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

test("a simulated reply is read and answered", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  const request = { from: "shop@sender.test", to: ["replied@there.test"], subject: "Your order 1042", body: "Thanks" };
  const sent = await testbed.call("EmailService/SendEmail", request);
  const emailId = sent.body.id as string;
  await untilEvent(testbed, emailId, "email.replied");

  await page.goto(`/emails/${emailId}`);
  await page.getByRole("link", { name: "Show replies to this email" }).press("Enter");
  await page.getByRole("link", { name: /Re: Your order 1042/ }).press("Enter");
  await settled(page, /This is a simulated reply[\s\S]*Original email/);
  await page.getByRole("button", { name: "Write reply" }).press("Enter");
  const text = page.getByRole("textbox", { name: "Text" });
  await text.waitFor();
  assert.equal(await page.evaluate("document.activeElement.tagName"), "TEXTAREA", "one can write at once");
  assert.equal(await page.getByRole("combobox", { name: "From" }).inputValue(), "shop@sender.test");
  assert.equal(await page.getByRole("textbox", { name: "To" }).inputValue(), "replied@there.test");
  await inspect(page, "inbound-answer");

  await page.getByRole("textbox", { name: "To" }).fill("not an address");
  await text.fill("You are welcome.");
  await page.getByRole("button", { name: "Send reply" }).press("Enter");
  await page.locator("input[aria-invalid=true]").waitFor({ timeout: 20_000 });
  await page.getByRole("textbox", { name: "To" }).fill("ada@there.test");
  // The email is accepted, but its answer is lost. Sending again sends it once.
  let lost = 0;
  await page.route("**/v1.EmailService/SendEmail", async (route) => {
    await route.fetch();
    lost++;
    await route.abort();
  });
  await page.getByRole("button", { name: "Send reply" }).press("Enter");
  await page.getByRole("alert").waitFor();
  assert.equal(lost, 1);
  await page.unroute("**/v1.EmailService/SendEmail");
  await page.getByRole("button", { name: "Send reply" }).press("Enter");
  await page.waitForURL(/\/emails\/em_/);
  await settled(page, /Re: Your order 1042/);

  const answers = await testbed.database.sql<{ envelope: { inReplyTo: string; references: string[] } }[]>`
    select envelope from emails where subject = 'Re: Your order 1042'`;
  assert.equal(answers.length, 1);
  const [answer] = answers;
  const { data } = (await testbed.call("InboundService/ListInbound", { parentEmailId: emailId })).body as {
    data: { messageId: string }[];
  };
  assert.equal(answer!.envelope.inReplyTo, data[0]!.messageId);
  assert.deepEqual(answer!.envelope.references, [sent.body.messageId, data[0]!.messageId]);
  assert.deepEqual(
    tab.complaints.filter((complaint) => !/SendEmail|ERR_FAILED/.test(complaint)),
    [],
  );
});

test("the verdict of ARC is shown with the forwarder, and only for a message that has a seal", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  const { sql } = testbed.database;
  const badges = async (arc: object) => {
    await sql`update inbound_messages set verdicts = (verdicts - 'arc' - 'arcDomain') || ${JSON.stringify(arc)}::text::jsonb`;
    await page.goto("/inbound");
    await page.getByRole("link", { name: /Re: Your order 1042/ }).click();
    await settled(page, /This is a simulated reply/);
    await page.getByText(/^DMARC /).waitFor();
    return page.getByText(/^ARC /);
  };
  assert.equal(await (await badges({ arc: "VERDICT_NONE", arcDomain: "" })).count(), 0);
  assert.equal(await (await badges({})).count(), 0, "a message of an earlier version");
  const passed = await badges({ arc: "VERDICT_PASS", arcDomain: "list.test" });
  assert.match(await passed.innerText(), /^ARC pass \(list\.test\)$/i);
  await page.getByTitle("list.test").waitFor();
  await inspect(page, "inbound-arc");
  assert.match(await (await badges({ arc: "VERDICT_FAIL", arcDomain: "" })).innerText(), /^ARC fail$/i);
});
