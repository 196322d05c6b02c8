/** What people do on the pages: each act is done in the browser, and what the API tells afterwards is what counts. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { follow, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { accepted, getEmail } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWebWorld } from "../harness/web-data.ts";
import { verifies, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
let browser: Browser;
let tab: Tab;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  world = await startWebWorld();
  browser = await openBrowser();
  tab = await openTab(browser, world.program.url, { key: world.program.key });
  page = tab.page;
});
after(async () => {
  await browser?.close();
  await world?.stop();
});

const dialog = () => page.getByRole("dialog");
const press = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();
const confirm = (name: string) => dialog().getByRole("button", { name, exact: true }).click();

const focused = () => page.evaluate("document.activeElement.innerText");

test("a scheduled email is canceled, and sent once more as new", { skip: withoutBrowser }, async () => {
  const id = await accepted(world, {
    ...{ to: ["delivered@there.test"], cc: ["copy@there.test"], subject: "For later", html: "<p>Later</p>" },
    scheduledAt: new Date(Date.now() + 3_600_000).toISOString(),
    metadata: { order: "7" },
    attachments: [{ filename: "ä.txt", contentType: "text/plain", base64Content: btoa("the file") }],
  });
  await page.goto(`/emails/${id}`);
  await press("Cancel email");
  await confirm("Cancel email");
  await settled(page, /delivered@there\.test[\s\S]*Canceled/);
  assert.equal((await getEmail(world, id)).status, "EMAIL_STATUS_FAILED");

  await press("Resend as new");
  await confirm("Send again");
  await until("another email", () => /\/emails\/em_/.test(page.url()) && !page.url().endsWith(id));
  await settled(page, /delivered@there\.test[\s\S]*250 2\.0\.0/);
  const again = await getEmail(world, page.url().split("/").at(-1)!);
  assert.deepEqual([again.subject, again.to, again.cc], ["For later", ["delivered@there.test"], ["copy@there.test"]]);
  assert.deepEqual(again.metadata, { order: "7" });
  assert.deepEqual(
    (again.attachments as { filename: string; sizeBytes: number }[]).map((one) => [one.filename, one.sizeBytes]),
    [["ä.txt", 8]],
  );
  const [raw] = await Promise.all([page.waitForEvent("download"), press("Download raw message")]);
  assert.match(await readFile(await raw.path(), "latin1"), /^Subject: For later\r$/m);
});

test("events appear while they are watched, and a pause loses none", { skip: withoutBrowser }, async () => {
  await page.goto("/events");
  await page.getByText("Live", { exact: true }).waitFor();
  await accepted(world, { to: ["bounced@live.test"] });
  await page.getByText("bounced@live.test").waitFor();
  await press("Pause");
  await page.getByText("Paused", { exact: true }).waitFor();
  await accepted(world, { to: ["delivered@paused.test"] });
  await press("Go on");
  await page.getByText("delivered@paused.test").waitFor();
  await page.getByText("Bounced", { exact: true }).first().click();
  await until("only bounces", async () => {
    const marks = await page.locator("summary .mark").allInnerTexts();
    return marks.length > 0 && marks.every((mark) => /bounced/i.test(mark));
  });
  await page.locator("summary").first().click();
  await page.getByText('"type": "email.bounced"').waitFor();
});

test("a webhook is made, tested, changed, given a new secret, and deleted", { skip: withoutBrowser }, async () => {
  await follow(page, "/webhooks");
  await press("Create webhook");
  await dialog().getByLabel("Address").fill("not an address");
  await dialog().getByLabel("Address").fill(`${world.receiver.url}/by-hand`);
  await dialog().getByText("email.delivered").click();
  await confirm("Create webhook");
  const secret = await dialog().getByLabel("Signing secret").inputValue();
  await page.keyboard.press("Escape");
  assert.equal(await dialog().isVisible(), true, "a secret that is shown once does not vanish by a key");
  await confirm("I have copied it");
  await page.getByRole("link", { name: /by-hand/ }).click();
  await settled(page, /Nothing has been posted yet/);

  await press("Send test");
  await confirm("Send test");
  await dialog().getByText("What the endpoint answered").waitFor();
  const posted = world.receiver.requests.find(({ path }) => path === "/by-hand")!;
  assert.ok(verifies(posted, secret), "signed with the secret that was shown");
  await confirm("Done");

  await accepted(world, { to: ["delivered@hook.test"] });
  await page
    .locator("summary")
    .filter({ hasText: /^Delivered\s*email\.delivered\s*1 attempt/i })
    .first()
    .click();
  await press("Deliver again");
  const count = () => world.receiver.requests.filter(({ event }) => !event.metadata.posthornTest).length;
  const before = count();
  await until("the same event again", () => count() >= before && count() >= 2);

  await press("More");
  await page.getByRole("menuitem", { name: "Rotate secret…" }).click();
  await confirm("Rotate secret");
  const next = await dialog().getByLabel("New signing secret").inputValue();
  assert.notEqual(next, secret);
  await confirm("I have copied it");
  await settled(page, /The old secret signs until/);

  await press("More");
  await page.getByRole("menuitem", { name: "Change…" }).click();
  await dialog().getByLabel("Description").fill("changed by hand");
  await confirm("Save");
  await settled(page, /changed by hand/);

  await press("More");
  await page.getByRole("menuitem", { name: "Disable…" }).click();
  await confirm("Disable");
  await settled(page, /Nothing is posted to it/);

  await press("More");
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await confirm("Delete webhook");
  await settled(page, /There is no webhook yet/);
});

test("addresses are suppressed, imported, exported and removed", { skip: withoutBrowser }, async () => {
  await follow(page, "/suppressions");
  await press("Suppress an address");
  await dialog().getByLabel("Address").fill("no address");
  await confirm("Suppress address");
  await dialog().locator(".mantine-InputWrapper-error").waitFor();
  await dialog().getByLabel("Address").fill("one@there.test");
  await confirm("Suppress address");
  await page.getByText("one@there.test").waitFor();

  await press("Import");
  await dialog().getByLabel("Or paste the text").fill("address,note\ntwo@there.test,by import\nnonsense,\n");
  await confirm("Import");
  await dialog()
    .getByText(/1 added[\s\S]*1 lines refused/)
    .waitFor();
  await dialog()
    .getByText(/Line 3/)
    .waitFor();
  await confirm("Done");
  await page.getByText("two@there.test").waitFor();

  const [file] = await Promise.all([page.waitForEvent("download"), press("Export")]);
  const csv = await readFile(await file.path(), "utf8");
  assert.match(csv, /^address,reason,note,created_at\r?\n/);
  assert.ok(csv.includes("one@there.test") && csv.includes("two@there.test"));

  await press("Remove two@there.test");
  await confirm("Remove from the list");
  await until("its end", async () => (await page.getByText("two@there.test").count()) === 0);
});

test("a domain is added, its keys are replaced, and it is deleted", { skip: withoutBrowser }, async () => {
  await follow(page, "/domains");
  await press("Add domain");
  await dialog().getByLabel("Domain", { exact: true }).fill("co.uk");
  await confirm("Add domain");
  await dialog().locator(".mantine-InputWrapper-error").waitFor();
  await dialog().getByLabel("Domain", { exact: true }).fill("acts.test");
  await confirm("Add domain");
  await settled(page, /ph2\._domainkey\.acts\.test/);
  await press("Check DNS now");
  await page.getByRole("button", { name: "Check DNS now", disabled: false }).waitFor();
  await press("Check DNS now");
  await page.getByRole("button", { name: /Check again in \d+ s/ }).waitFor();

  await press("Delete");
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await until("the focus to come back", async () => (await focused()) === "Delete");
  await press("Delete");
  await confirm("Delete domain");
  await until("the list", () => page.url().endsWith("/domains"));
  await until("its end", async () => (await page.getByText("acts.test").count()) === 0);

  await page.getByRole("link", { name: /sender\.test/ }).click();
  await press("Rotate keys");
  await confirm("Rotate keys");
  await page.getByRole("alert").waitFor();
  const { body } = await world.call("DomainService/ListDomains", {});
  const again = await world.call("DomainService/RotateDkim", { id: (body.data as { id: string }[])[0]!.id });
  assert.equal(again.body.code, "failed_precondition", "a rotation is under way");
});

test("mail for a destination is held, released and given up", { skip: withoutBrowser }, async () => {
  await accepted(world, { to: ["a@later.test"], scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  await follow(page, "/queue");
  await press("Pause later.test");
  await press("Resume later.test");
  await page.getByRole("button", { name: "Pause later.test" }).waitFor();
  await press("Purge later.test");
  await confirm("Purge");
  await until("its end", async () => (await page.getByText("later.test").count()) === 0);
});

test("a key is made and revoked by keyboard alone", { skip: withoutBrowser }, async () => {
  await page.goto("/keys");
  await settled(page, /API keys/);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to the content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Create key");
  await page.keyboard.press("Enter");
  await dialog().waitFor();
  await page.keyboard.type("made by keyboard");
  await page.keyboard.press("Enter");
  await dialog().getByLabel("API key").waitFor();
  await dialog().getByRole("button", { name: "I have copied it" }).focus();
  await page.keyboard.press("Enter");
  await dialog().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Revoke made by keyboard" }).focus();
  await page.keyboard.press("Enter");
  await dialog().getByRole("button", { name: "Revoke key" }).focus();
  await page.keyboard.press("Enter");
  await settled(page, /made by keyboard[\s\S]*Revoked/);
  assert.deepEqual(tab.complaints, []);
});
