/** Two members with different roles in two browsers: permissions, invitations, several workspaces, password reset. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { capturedMail, firstLink, password, tokenIn } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let program: RunningProgram;
let browser: Browser;
let owner: Tab;
let viewer: Tab;
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url });
  browser = await openBrowser();
  owner = await openTab(browser, program.url);
  viewer = await openTab(browser, program.url);
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

test("the owner signs up, sends an email, and invites a viewer", { skip: withoutBrowser }, async () => {
  const { page } = owner;
  await page.goto("/sign-up");
  await settled(page, /Create the first account[\s\S]*first-sign-up in the server's data directory/);
  await inspect(page, "sign-up");
  const first = new URL(await firstLink(program));
  await page.goto(first.pathname + first.hash);
  await settled(page, /Create your account/);
  await page.getByLabel("Email address").fill("olga@there.test");
  await page.getByLabel("Your name").fill("Olga Owner");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await settled(page, /First steps/);
  await page.goto("/send");
  await page.getByLabel("To", { exact: true }).fill("delivered@there.test");
  await page.getByRole("button", { name: "Send email" }).click();
  await settled(page, /250 2\.0\.0/);

  await page.getByRole("link", { name: "Members and settings" }).click();
  await settled(page, /Olga Owner \(you\)/);
  await page.getByRole("button", { name: "Invite member" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Email address").fill("vera@there.test");
  await dialog.getByLabel("Viewer").check();
  await dialog.getByRole("button", { name: "Create invitation", exact: true }).click();
  const link = await dialog.getByLabel(/Link to join/).inputValue();
  await dialog.getByRole("button", { name: "Done" }).click();
  await settled(page, /vera@there\.test[\s\S]*Invited/);
  await inspect(page, "workspace");

  await viewer.page.goto(new URL(link).pathname + new URL(link).hash);
  await settled(viewer.page, /Join default[\s\S]*viewer/);
  assert.doesNotMatch(viewer.page.url(), /token/, "the token is removed from the URL");
  await inspect(viewer.page, "invitation");
  await viewer.page.getByLabel("Your name").fill("Vera Viewer");
  await viewer.page.getByRole("textbox", { name: "Password" }).fill(password);
  await viewer.page.getByRole("button", { name: "Create account and join" }).click();
  await settled(viewer.page, /Needs your attention/);
  await viewer.page.goto("/emails");
  await settled(viewer.page, /A test from Posthorn/);
});

test("a viewer sees events but no content and no buttons that change data", { skip: withoutBrowser }, async () => {
  const { page } = viewer;
  await page.getByRole("link", { name: /A test from Posthorn/ }).click();
  await settled(page, /Viewers cannot see message content/);
  await settled(page, /delivered@there\.test[\s\S]*250 2\.0\.0/);
  await page.getByRole("link", { name: "Events" }).click();
  await settled(page, /live[\s\S]*delivered@there\.test/);
  const writeButtons = /Add domain|Create|Send a test|Suppress address|Import|Resend|Invite|Rename|Revoke|Remove/;
  for (const path of ["/emails", "/domains", "/webhooks", "/suppressions", "/keys", "/workspace"]) {
    await follow(page, path);
    await settled(page, /./);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const offered = await page.locator("main").getByRole("button", { name: writeButtons }).allInnerTexts();
    assert.deepEqual(
      offered.filter((name) => name !== "Create another workspace"),
      [],
      path,
    );
  }
  // The server rejects calls that the page does not offer, for example from a page of an old version.
  await follow(page, "/send");
  await page.getByLabel("To", { exact: true }).fill("delivered@there.test");
  await page.getByRole("button", { name: "Send email" }).click();
  await page.getByText("You do not have permission").waitFor();
});

test("a new workspace shows no data of the other workspace", { skip: withoutBrowser }, async () => {
  const { page } = viewer;
  await follow(page, "/emails");
  await settled(page, /A test from Posthorn/);
  await follow(page, "/workspace");
  await page.getByRole("button", { name: "Create another workspace" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Vera's own");
  await page.getByRole("dialog").getByRole("button", { name: "Create workspace" }).click();
  await page.getByRole("button", { name: /Workspace: Vera's own/ }).waitFor();
  await page.getByRole("link", { name: "Emails" }).click();
  await settled(page, /No emails yet/);
  assert.equal(await page.getByText("A test from Posthorn").count(), 0);
  await page.reload();
  await settled(page, /No emails yet/);
  await page.getByRole("button", { name: /^Workspace: / }).click();
  await page.getByRole("menuitem", { name: /default/ }).click();
  await settled(page, /A test from Posthorn/);
});

test("an owner can change roles, except the role of the last owner", { skip: withoutBrowser }, async () => {
  const { page } = owner;
  await follow(page, "/workspace");
  await page.getByLabel("Role of olga@there.test").selectOption("Viewer");
  await page.locator(".mantine-InputWrapper-error").waitFor();
  const role = page.getByLabel("Role of vera@there.test");
  await role.selectOption("Developer");
  // The field is disabled until the list shows the role that the server stored.
  await until(
    "the new role",
    async () => (await role.isEnabled()) && (await role.locator("option:checked").textContent()) === "Developer",
  );
  await viewer.page.goto("/keys");
  await viewer.page.getByRole("button", { name: "Create key" }).waitFor();
});

test("a removed member loses access", { skip: withoutBrowser }, async () => {
  const { page } = owner;
  await follow(page, "/workspace");
  await page.getByRole("button", { name: "Remove vera@there.test" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove member", exact: true }).click();
  await until("one member", async () => (await page.getByText("vera@there.test").count()) === 0);
  await viewer.page.goto("/emails");
  await settled(viewer.page, /No emails yet/);
  assert.equal(await viewer.page.getByRole("button", { name: /default/ }).count(), 0);
});

test("the menu loads more workspaces on request, and a selected one stays selected after a reload", {
  skip: withoutBrowser,
}, async () => {
  const { page } = owner;
  const [olga] = await database.sql<{ id: string }[]>`select id from people where email = 'olga@there.test'`;
  await database.sql`
    with made as (
      insert into workspaces (id, name) select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Shop ' || n
      from generate_series(1, 230) n returning id
    ), counted as (insert into event_counters (workspace_id) select id from made)
    insert into members (workspace_id, id, person_id, email, role, joined_at)
    select id, id, ${olga!.id}, 'olga@there.test', 'viewer', now() from made`;
  await page.goto("/emails");
  await page.getByRole("button", { name: /^Workspace: / }).click();
  const named = page.getByRole("menuitem", { name: /^Shop / });
  const more = page.getByRole("menuitem", { name: "Show more workspaces" });
  for (const known of [199, 230]) {
    await more.click();
    await until(`${known} of them`, async () => (await named.count()) === known);
  }
  assert.equal(await more.count(), 0);
  await page.getByRole("menuitem", { name: "Shop 1 viewer" }).click();
  await settled(page, /No emails yet/);
  await page.reload();
  await page.getByRole("button", { name: "Workspace: Shop 1", exact: true }).waitFor();
  await settled(page, /No emails yet/);
});

test("a forgotten password is reset with the link from an email", { skip: withoutBrowser }, async () => {
  const { page } = viewer;
  await page.goto("/forgot-password");
  await settled(page, /Reset your password/);
  await inspect(page, "forgot-password");
  await page.getByLabel("Email address").fill("vera@there.test");
  await page.getByRole("button", { name: "Send reset link" }).click();
  await page.getByRole("alert").waitFor();
  const mail = await capturedMail(program, "vera@there.test", /password/i);
  await page.goto(`/reset-password#token=${tokenIn(mail)}`);
  await settled(page, /Choose a new password/);
  await inspect(page, "reset-password");
  await page.getByRole("textbox", { name: "New password" }).fill(`${password} too`);
  await page.getByRole("button", { name: "Save password" }).click();
  await page.getByRole("alert").waitFor();
  await page.goto("/emails");
  await page.getByLabel("Email address").fill("vera@there.test");
  await page.getByRole("textbox", { name: "Password" }).fill(`${password} too`);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /No emails yet/);
  assert.deepEqual([...owner.complaints, ...viewer.complaints], []);
});
