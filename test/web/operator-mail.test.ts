/** The operators' page of system mail: empty, filled, filtered, with the receiver's words and replies, and without any content. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { makeUuid } from "../../src/postgres/ids.ts";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { deliverInbound, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { type Browser as Person, password, signUpFirst } from "../harness/people.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
let browser: Browser;
let tab: Tab;
let owner: { browser: Person; workspace: string };
before(async () => {
  if (withoutBrowser) return;
  testbed = await startInboundTestbed({ env: { POSTHORN_SYSTEM_FROM: "Our Posthorn <no-reply@sender.test>" } });
  owner = await signUpFirst(testbed.program);
  await testbed.database.sql`update people set is_operator = true`;
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url);
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

async function invite(email: string): Promise<void> {
  const request = { email, role: "MEMBER_ROLE_VIEWER" };
  const { status, body } = await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  assert.equal(status, 200, JSON.stringify(body));
}

test("without mail the page says what will be here", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/operator/mail");
  await page.getByLabel("Email address").fill("owner@there.test");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /A second factor is required/);
  await testbed.database.sql`update people_sessions set has_second_factor = true, proved_at = service_time()`;
  await page.reload();
  await settled(page, /No system mail yet/);
  await inspect(page, "operator-mail-empty");
});

test("the page shows outcomes, the receiver's words and replies, and never a link", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  const { sql } = testbed.database;
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" && recipient === "gone@there.test" ? "550 5.1.1 No such user <script>here</script>" : undefined;
  await invite("asks@there.test");
  const messageId = await until("the mail", async () => {
    const [row] = await sql<{ messageId: string }[]>`
      select e.message_id as "messageId" from emails e join recipients r on r.email_id = e.id
      where r.address = 'asks@there.test' and r.status = 'delivered'`;
    return row?.messageId;
  });
  await deliverInbound(testbed, {
    to: "no-reply@sender.test",
    raw: `From: asks@there.test\nSubject: Re: You are invited\nIn-Reply-To: ${messageId}\n\nWho <b>is</b> this?\n`,
  });
  await invite("gone@there.test");
  await until("the suppression", async () => (await sql`select 1 from suppressions`)[0]);

  await follow(page, "/operator/mail");
  await settled(page, /Bounced[\s\S]*gone@there\.test[\s\S]*550 5\.1\.1 No such user <script>[\s\S]*suppressed/);
  await settled(page, /Delivered[\s\S]*asks@there\.test[\s\S]*You are invited[\s\S]*Reply[\s\S]*Who <b>is<\/b> this\?/);
  await settled(page, /live, updated/);
  await inspect(page, "operator-mail");
  assert.doesNotMatch(await page.content(), /token=/);

  await page.getByLabel("Outcome").selectOption("bounced");
  await until("only the bounce", async () => (await page.getByText("asks@there.test").count()) === 0);
  assert.match(page.url(), /outcome=bounced/);
  await page.getByRole("button", { name: "Remove suppression of gone@there.test" }).press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Do this when its owner says that the mailbox works").waitFor();
  await inspect(page, "operator-mail-lift");
  await dialog.getByRole("button", { name: "Remove suppression", exact: true }).press("Enter");
  await until("the end of the suppression", async () => (await sql`select 1 from suppressions`).length === 0);
  await until(
    "no button",
    async () => (await page.getByRole("button", { name: /^Remove suppression of gone/ }).count()) === 0,
  );
  await page.getByLabel("Search").fill("nobody");
  await settled(page, /No system mail matches/);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await settled(page, /asks@there\.test/);
});

test("more mail than a page is loaded on request", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  const { sql } = testbed.database;
  const ids = Array.from({ length: 60 }, () => makeUuid(Date.now()));
  await sql`insert into emails (workspace_id, id, key_id, domain_id, domain, from_address, subject, message_id, envelope, metadata, test, open,
      total, delivered, size_bytes, content_day, expires_at, created_at, updated_at, counted_at)
    select workspace_id, n.id, key_id, domain_id, domain, from_address, 'Notice', message_id, envelope, '{}', false, 0,
      1, 1, 1, content_day, expires_at, created_at, created_at, created_at
    from unnest(${ids}::uuid[]) as n(id), (select * from emails limit 1) e`;
  await page.goto("/operator/mail");
  await settled(page, /50 emails so far ·/);
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await settled(page, /6\d emails · live, updated/);
  assert.deepEqual(tab.complaints, []);
});
