/** Actions on the pages: each test acts in the browser and checks the result with the API. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { follow, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, getEmail } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWebTestbed } from "../harness/web-data.ts";
import { verifies, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startWebTestbed();
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url, { key: testbed.program.key });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

const dialog = () => page.getByRole("dialog");
const press = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();
const confirm = (name: string) => dialog().getByRole("button", { name, exact: true }).click();

const focused = () => page.evaluate("document.activeElement.innerText");

test("a scheduled email is canceled and resent as a new email", { skip: withoutBrowser }, async () => {
  const id = await accepted(testbed, {
    to: ["delivered@there.test"],
    cc: ["copy@there.test"],
    subject: "For later",
    html: "<p>Later</p>",
    scheduledAt: new Date(Date.now() + 3_600_000).toISOString(),
    metadata: { order: "7" },
    attachments: [{ filename: "ä.txt", contentType: "text/plain", base64Content: btoa("the file") }],
  });
  await page.goto(`/emails/${id}`);
  await press("Cancel email");
  await confirm("Cancel email");
  await settled(page, /delivered@there\.test[\s\S]*Canceled/);
  assert.equal((await getEmail(testbed, id)).status, "EMAIL_STATUS_FAILED");

  await press("Resend email");
  await confirm("Resend email");
  await until("another email", () => /\/emails\/em_/.test(page.url()) && !page.url().endsWith(id));
  await settled(page, /delivered@there\.test[\s\S]*250 2\.0\.0/);
  const again = await getEmail(testbed, page.url().split("/").at(-1)!);
  assert.deepEqual([again.subject, again.to, again.cc], ["For later", ["delivered@there.test"], ["copy@there.test"]]);
  assert.deepEqual(again.metadata, { order: "7" });
  assert.deepEqual(
    (again.attachments as { filename: string; sizeBytes: number }[]).map((one) => [one.filename, one.sizeBytes]),
    [["ä.txt", 8]],
  );
  const [raw] = await Promise.all([page.waitForEvent("download"), press("Download raw message")]);
  assert.match(await readFile(await raw.path(), "latin1"), /^Subject: For later\r$/m);
});

test("events appear live, and none is lost during a pause", { skip: withoutBrowser }, async () => {
  await page.goto("/events");
  await page.getByText(/^live, updated/).waitFor();
  await accepted(testbed, { to: ["bounced@live.test"] });
  await page.getByText("bounced@live.test").waitFor();
  await press("Pause events");
  await page.getByText("paused", { exact: true }).waitFor();
  await accepted(testbed, { to: ["delivered@paused.test"] });
  await press("Resume events");
  await page.getByText("delivered@paused.test").waitFor();
  await press("Bounced");
  await until("only bounces", async () => {
    const marks = await page.locator("summary .outcome").allInnerTexts();
    return marks.length > 0 && marks.every((mark) => /bounced/i.test(mark));
  });
  await page.locator("summary").first().click();
  await page.getByText('"type": "email.bounced"').waitFor();
});

test("a webhook is created, tested, edited, rotated, disabled and deleted", { skip: withoutBrowser }, async () => {
  await follow(page, "/webhooks");
  await press("Create webhook");
  await dialog().getByLabel("URL").fill("not a URL");
  await dialog().getByLabel("URL").fill(`${testbed.receiver.url}/by-hand`);
  await dialog().getByText("email.delivered").click();
  await confirm("Create webhook");
  const secret = await dialog().getByLabel("Signing secret").inputValue();
  await page.keyboard.press("Escape");
  assert.equal(await dialog().isVisible(), true, "the Escape key does not close the dialog while it shows the secret");
  await confirm("I have copied it");
  await page.getByRole("link", { name: /by-hand/ }).click();
  await settled(page, /No deliveries yet/);

  await press("Send test event");
  await confirm("Send test event");
  await dialog().getByText("Attempt 1").waitFor();
  const posted = testbed.receiver.requests.find(({ path }) => path === "/by-hand")!;
  assert.ok(verifies(posted, secret), "signed with the secret that was shown");
  await confirm("Done");

  await accepted(testbed, { to: ["delivered@hook.test"] });
  await page
    .locator("summary")
    .filter({ hasText: /^Delivered\s*email\.delivered\s*delivered@hook\.test\s*1 attempt/i })
    .first()
    .click();
  await press("Redeliver event");
  const count = () => testbed.receiver.requests.filter(({ event }) => !event.metadata.posthornTest).length;
  const before = count();
  await until("the same event again", () => count() >= before && count() >= 2);

  await press("More actions");
  await page.getByRole("menuitem", { name: "Rotate secret…" }).click();
  await confirm("Rotate secret");
  const next = await dialog().getByLabel("New signing secret").inputValue();
  assert.notEqual(next, secret);
  await confirm("I have copied it");
  await settled(page, /Old secret valid until/);

  await press("More actions");
  await page.getByRole("menuitem", { name: "Edit…" }).click();
  await dialog().getByLabel("Description").fill("changed by hand");
  await confirm("Save changes");
  await settled(page, /changed by hand/);

  await press("More actions");
  await page.getByRole("menuitem", { name: "Disable…" }).click();
  await confirm("Disable webhook");
  await settled(page, /This webhook is disabled/);

  await press("More actions");
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await confirm("Delete webhook");
  await settled(page, /No webhooks yet/);
});

test("addresses are suppressed, imported, exported and removed", { skip: withoutBrowser }, async () => {
  await follow(page, "/suppressions");
  await press("Suppress address");
  await dialog().getByLabel("Address").fill("no address");
  await confirm("Suppress address");
  await dialog().locator(".mantine-InputWrapper-error").waitFor();
  await dialog().getByLabel("Address").fill("one@there.test");
  await confirm("Suppress address");
  await page.getByText("one@there.test").waitFor();

  await press("Import addresses");
  await dialog().getByLabel("Or paste CSV text").fill("address,note\ntwo@there.test,by import\nnonsense,\n");
  await confirm("Import addresses");
  await dialog()
    .getByText(/Added: 1\.[\s\S]*Rejected lines: 1\./)
    .waitFor();
  await dialog()
    .getByText(/Line 3/)
    .waitFor();
  await confirm("Done");
  await page.getByText("two@there.test").waitFor();

  const [file] = await Promise.all([page.waitForEvent("download"), press("Export list")]);
  const csv = await readFile(await file.path(), "utf8");
  assert.match(csv, /^address,reason,note,created_at\r?\n/);
  assert.ok(csv.includes("one@there.test") && csv.includes("two@there.test"));

  await press("Remove two@there.test");
  await confirm("Remove address");
  await until("the entry to disappear", async () => (await page.getByText("two@there.test").count()) === 0);
});

test("a domain is added, checked and deleted, and the DKIM keys of another are rotated", {
  skip: withoutBrowser,
}, async () => {
  await follow(page, "/domains");
  await press("Add domain");
  await dialog().getByLabel("Domain", { exact: true }).fill("co.uk");
  await confirm("Add domain");
  await dialog().locator(".mantine-InputWrapper-error").waitFor();
  await dialog().getByLabel("Domain", { exact: true }).fill("acts.test");
  await confirm("Add domain");
  await settled(page, /acts\.test[\s\S]*ph2\._domainkey/);
  await press("Check DNS now");
  await page.getByRole("button", { name: "Check DNS now", disabled: false }).waitFor();
  await press("Check DNS now");
  await page.getByRole("button", { name: /Check again in \d+ s/ }).waitFor();

  await press("Delete domain");
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await until("the focus to return to the button", async () => (await focused()) === "Delete domain");
  await press("Delete domain");
  await confirm("Delete domain");
  await until("the list of domains", () => page.url().endsWith("/domains"));
  await until("the entry to disappear", async () => (await page.getByText("acts.test").count()) === 0);

  await page.getByRole("link", { name: /sender\.test/ }).click();
  await press("Rotate keys");
  await confirm("Rotate keys");
  await page.getByRole("alert").waitFor();
  const { body } = await testbed.call("DomainService/ListDomains", {});
  const again = await testbed.call("DomainService/RotateDkim", { id: (body.data as { id: string }[])[0]!.id });
  assert.equal(again.body.code, "failed_precondition", "a rotation is in progress");
});

test("mail for a destination is paused, resumed and purged", { skip: withoutBrowser }, async () => {
  await accepted(testbed, { to: ["a@later.test"], scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  await follow(page, "/queue");
  await page.getByRole("row", { name: /Scheduled.*later\.test/ }).waitFor();
  await press("Pause later.test");
  await confirm("Pause mail");
  await press("Resume later.test");
  await confirm("Resume mail");
  await page.getByRole("button", { name: "Pause later.test" }).waitFor();
  await press("Purge later.test");
  await confirm("Purge mail");
  await until("the entry to disappear", async () => (await page.getByText("later.test").count()) === 0);
});

test("a key is created and revoked with only the keyboard", { skip: withoutBrowser }, async () => {
  await page.goto("/keys");
  await settled(page, /API keys/);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Create key");
  await page.keyboard.press("Enter");
  await dialog().waitFor();
  await page.keyboard.type("created by keyboard");
  await page.keyboard.press("Enter");
  await dialog().getByLabel("API key").waitFor();
  await dialog().getByRole("button", { name: "I have copied it" }).focus();
  await page.keyboard.press("Enter");
  await dialog().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Revoke created by keyboard" }).focus();
  await page.keyboard.press("Enter");
  await dialog().getByRole("button", { name: "Revoke key" }).focus();
  await page.keyboard.press("Enter");
  await settled(page, /created by keyboard[\s\S]*Revoked/);
  assert.deepEqual(tab.complaints, []);
});
