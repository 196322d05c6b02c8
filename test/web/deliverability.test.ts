/** The pre-flight of a domain in a browser: from the domain page and from the form that sends an email. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { dkimKeyText } from "../../src/mail/dkim-record.ts";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { senderDomain, senderPublicKey, startTestbed, type Testbed } from "../harness/testbed.ts";
import { publicUrl } from "../harness/unsubscribe.ts";
import { until } from "../harness/wait.ts";

const zone = "mail.posthorn.test";
const address = "1.2.3.4";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
let page: Page;
let domainId: string;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({
    env: { POSTHORN_PUBLIC_IPS: address, POSTHORN_BLOCKLISTS: "zen.lists.test", POSTHORN_PUBLIC_URL: publicUrl },
  });
  const { dns } = testbed;
  dns.set(`ph1._domainkey.${senderDomain}`, "TXT", dkimKeyText(senderPublicKey));
  dns.set(`spf.${zone}`, "TXT", `v=spf1 ip4:${address} -all`);
  dns.set(`bounce.${zone}`, "TXT", `v=spf1 include:spf.${zone} -all`);
  dns.set(`mail.${zone}`, "A", address);
  dns.set(senderDomain, "MX", `10 inbound.${zone}`);
  dns.set(`4.3.2.1.zen.lists.test`, "A", "127.255.255.254");
  const { body } = await testbed.call("DomainService/ListDomains", {});
  domainId = (body.data as { id: string }[])[0]!.id;
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key, width: 1440 });
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const row = (title: string) => page.getByRole("row").filter({ has: page.getByText(title, { exact: true }) });
const check = () => page.getByRole("button", { name: "Check deliverability" }).click();

test("the page is empty until a check, then shows what is missing, what is unknown and the record to publish", {
  skip: withoutBrowser,
}, async () => {
  await page.goto(`/domains/${domainId}`);
  await page.getByRole("link", { name: "Check deliverability" }).click();
  await settled(page, /Deliverability of sender\.test[\s\S]*No check yet/);
  await inspect(page, "deliverability-empty");
  await page.getByLabel(/Marketing or subscribed mail/).check();
  await check();
  await page.getByText("Receivers may refuse this mail.").waitFor();
  assert.match(await row("DMARC policy").innerText(), /Not met[\s\S]*has no DMARC record/);
  assert.match(await row("Reverse DNS").innerText(), /Not met[\s\S]*1\.2\.3\.4 has no PTR record/);
  assert.match(await row("DKIM signature").innerText(), /Passed/);
  assert.match(await row("Addresses on blocklists").innerText(), /Unknown[\s\S]*public resolvers/);
  assert.match(await row("Message size").innerText(), /Unknown[\s\S]*no sample/);
  await row("DMARC policy")
    .getByRole("button", { name: /Copy the value of the TXT record for DMARC policy/ })
    .press("Enter");
  const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
  await until("the record on the clipboard", async () => (await copied()).startsWith("v=DMARC1; p=none"));
  await inspect(page, "deliverability");
});

test("each receiver has its own list, with a link to the page that states the demand", {
  skip: withoutBrowser,
}, async () => {
  await page.getByRole("tab", { name: /^Microsoft/ }).click();
  await row("Reverse DNS").waitFor();
  assert.equal(await row("One-click unsubscribe").count(), 1);
  assert.equal(await row("DKIM key length").count(), 0, "Microsoft publishes no length");
  const link = row("Reverse DNS").getByRole("link", { name: "Microsoft" });
  assert.match((await link.getAttribute("href")) ?? "", /^https:\/\/postmaster\.live\.com\//);
});

test("a sample is judged, and a mistake in it is shown at its field", { skip: withoutBrowser }, async () => {
  await page.getByRole("combobox", { name: "Sample" }).selectOption("An email that was sent");
  await page.getByLabel("Id of the email").fill("em_01932c5e-7b1a-7abc-8def-0123456789ab");
  await check();
  await page.getByText(/No email has the id/).waitFor();
  await page.getByRole("combobox", { name: "Sample" }).selectOption("Subject and text");
  await page.getByLabel("From").fill("not an address");
  await page.getByLabel("Subject").fill("Re: Hello");
  await page.getByLabel("HTML").fill("<p>Hello</p>");
  await check();
  await page.locator("input[aria-invalid=true]").and(page.getByLabel("From")).waitFor();
  await page.getByLabel("From").fill(`shop@${senderDomain}`);
  await check();
  await page.getByRole("tab", { name: /^All checks/ }).click();
  await row("Text next to HTML").waitFor();
  assert.match(await row("Text next to HTML").innerText(), /Recommended[\s\S]*HTML only/);
  assert.match(await row("Honest subject").innerText(), /Recommended/);
  assert.match(await row("One-click unsubscribe").innerText(), /Not met[\s\S]*Set unsubscribe to a topic/);
});

test("a sample with a topic has a one-click link", { skip: withoutBrowser }, async () => {
  await page.getByLabel("Unsubscribe topic").fill("Bad topic");
  await check();
  await page.locator("input[aria-invalid=true]").and(page.getByLabel("Unsubscribe topic")).waitFor();
  await page.getByLabel("Unsubscribe topic").fill("newsletter");
  await check();
  await row("One-click unsubscribe").getByText("Both headers are present", { exact: false }).waitFor();
  await inspect(page, "deliverability-topic");
});

test("the form that sends an email checks it first, and sends nothing", { skip: withoutBrowser }, async () => {
  await page.goto("/send");
  await page.getByLabel("To").fill("ada@there.test");
  await check();
  await row("Message size").waitFor();
  assert.match(await row("Message size").innerText(), /Passed/);
  await inspect(page, "send-check");
  assert.equal(testbed.sink.deliveries.length, 0);
  assert.deepEqual(tab.complaints, []);
});
