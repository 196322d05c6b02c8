/** Sign-up and sign-in pages of people who cannot proceed: they say why, and what helps. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { findings, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase } from "../harness/database.ts";
import { joinAs, password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

let browser: Browser;
const ends: (() => Promise<unknown>)[] = [];
before(async () => {
  if (withoutBrowser) return;
  browser = await openBrowser();
  ends.push(() => browser.close());
});
after(async () => {
  for (const end of ends.reverse()) await end();
});

async function start(env: Record<string, string>, example = false): Promise<{ program: RunningProgram; tab: Tab }> {
  const database = await createTestDatabase({ example });
  ends.push(database.drop);
  const program = await startProgram({ databaseUrl: database.url, env });
  ends.push(program.remove);
  return { program, tab: await openTab(browser, program.url) };
}

test("open sign-up without mail says why it is closed", { skip: withoutBrowser }, async () => {
  const { program, tab } = await start({ POSTHORN_SIGNUP: "open", POSTHORN_DELIVERY: "direct" });
  await signUpFirst(program);
  await tab.page.goto("/sign-up");
  await settled(tab.page, /cannot send mail[\s\S]*POSTHORN_SYSTEM_FROM[\s\S]*posthorn doctor/);
  assert.equal(await tab.page.getByRole("textbox").count(), 0, "no form");
  await inspect(tab.page, "sign-up-without-mail");
  assert.deepEqual(tab.complaints, []);
});

test("a removed member is asked to get an invitation", { skip: withoutBrowser }, async () => {
  const { program, tab } = await start({});
  const owner = await signUpFirst(program);
  const email = "vera@there.test";
  await joinAs(owner, program, { email, role: "viewer" });
  const { page } = tab;
  const signIn = async () => {
    await page.getByLabel("Email address").fill(email);
    await page.getByRole("textbox", { name: "Password" }).fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  await page.goto("/emails");
  await signIn();
  await settled(page, /No emails yet/);
  const { body } = await owner.browser.rpc("WorkspaceService/ListMembers", {}, owner.workspace);
  const { id } = (body.data as { id: string; email: string }[]).find((member) => member.email === email)!;
  await owner.browser.rpc("WorkspaceService/RemoveMember", { memberId: id }, owner.workspace);

  await page.goto("/emails");
  await settled(page, /No workspace[\s\S]*Ask an owner to invite you/);
  assert.equal(await page.getByRole("button", { name: "Create workspace" }).count(), 0);
  await inspect(page, "no-workspace");
  assert.equal(await page.getByRole("navigation").count(), 0, "no sections without a workspace");
  await page.getByRole("link", { name: "Your account" }).click();
  await settled(page, /Email address[\s\S]*vera@there\.test/);
  await page.getByRole("heading", { name: "Account", level: 1 }).waitFor();
  await page.getByRole("button", { name: /^Account: / }).click();
  assert.deepEqual(await page.getByRole("menuitem").allInnerTexts(), ["Your account", "Sign out"]);
  assert.deepEqual(await findings(page), [], "the open menu is accessible");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Dashboard" }).click();
  await page.locator("main").getByRole("button", { name: "Sign out" }).click();
  await signIn();
  await page.getByRole("alert").filter({ hasText: "Ask an owner to invite you" }).waitFor();
  assert.deepEqual(tab.complaints, []);
});

test("with open sign-up, a link from the inviter asks to sign in", { skip: withoutBrowser }, async () => {
  const { program, tab } = await start({ POSTHORN_SIGNUP: "open" }, true);
  const owner = await signUpFirst(program);
  const request = { email: "new@there.test", role: "MEMBER_ROLE_VIEWER" };
  const invited = await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  const link = new URL(invited.body.inviteUrl as string);
  await tab.page.goto(link.pathname + link.hash);
  await settled(tab.page, /Sign in to accept[\s\S]*No account yet\? Open the link in the invitation email/);
  await inspect(tab.page, "invitation-from-inviter");
  assert.deepEqual(tab.complaints, []);
});

test("an invitation page says which link it shows, who may accept it, and what failed", {
  skip: withoutBrowser,
}, async () => {
  const { program, tab } = await start({});
  const owner = await signUpFirst(program);
  const { page } = tab;
  const invite = async (email: string, role: string) => {
    const request = { email, role: `MEMBER_ROLE_${role}` };
    const { body } = await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
    return new URL(body.inviteUrl as string);
  };
  const first = await invite("first@there.test", "VIEWER");
  const second = await invite("second@there.test", "OWNER");
  await page.goto("/invitation");
  await settled(page, /Open the link in the invitation again/);
  await page.goto(`/invitation#token=${"x".repeat(43)}`);
  await settled(page, /This invitation does not work[\s\S]*Ask an owner of the workspace for a new one/);
  await inspect(page, "invitation-unknown");

  // Only the fragment changes, so the page is not loaded again.
  await page.goto(first.pathname + first.hash);
  await settled(page, /Join default[\s\S]*invited as a viewer[\s\S]*Viewer: Read access/);
  await page.goto(second.pathname + second.hash);
  await settled(page, /Join default[\s\S]*invited as an owner/);
  assert.equal(await page.getByLabel("Email address").inputValue(), "second@there.test");
  assert.doesNotMatch(page.url(), /token/, "the token is removed from the URL");

  await page.route("**/auth/link", (route) => route.abort());
  await page.goto(first.pathname + first.hash);
  await settled(page, /The server cannot be reached/);
  await page.unroute("**/auth/link");
  await page.getByRole("button", { name: "Try again" }).click();
  await settled(page, /invited as a viewer/);

  await page.getByLabel("Your name").fill("Fay First");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Create account and join" }).click();
  await page.getByRole("button", { name: /Workspace: default/ }).waitFor();
  await page.goto(second.pathname + second.hash);
  await settled(page, /for second@there\.test, and you are signed in as first@there\.test/);
  await inspect(page, "invitation-of-another-person");
  await page.getByRole("button", { name: "Sign out and continue" }).click();
  await page.getByRole("button", { name: "Create account and join" }).waitFor();
  assert.equal(await page.getByLabel("Email address").inputValue(), "second@there.test");
  assert.deepEqual(tab.complaints, []);
});

test("a person with an account sees the role before accepting an invitation", { skip: withoutBrowser }, async () => {
  const { program, tab } = await start({});
  const owner = await signUpFirst(program);
  const email = "vera@there.test";
  await joinAs(owner, program, { email, role: "viewer" });
  const created = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Northwind" });
  const { id } = created.body.workspace as { id: string };
  const request = { email, role: "MEMBER_ROLE_DEVELOPER" };
  const { body } = await owner.browser.rpc("WorkspaceService/InviteMember", request, id);
  const link = new URL(body.inviteUrl as string);
  const { page } = tab;
  await page.goto(link.pathname + link.hash);
  await settled(page, /Join Northwind[\s\S]*invited as a developer\. Sign in to accept/);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /invited as a developer\. You will join as vera@there\.test/);
  await inspect(page, "invitation-to-accept");
  await page.getByRole("button", { name: "Accept invitation" }).click();
  await page.getByRole("button", { name: "Workspace: Northwind" }).waitFor();
  assert.deepEqual(tab.complaints, []);
});
