/** Single sign-on in a real browser: the buttons, the way to the provider and back, linking, an invitation, and what a refusal shows. The
 * provider is another site, so that the browser withholds the session's cookie from the way back. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Account, startProvider, type TestProvider } from "../harness/oidc.ts";
import { joinAs, openBrowser as openHttp, password, type Session, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

let browser: Browser;
let provider: TestProvider;
let database: TestDatabase;
const ends: (() => Promise<unknown>)[] = [];
before(async () => {
  if (withoutBrowser) return;
  browser = await openBrowser();
  ends.push(() => browser.close());
  provider = await startProvider({ host: "localhost" });
  ends.push(provider.stop);
});
after(async () => {
  for (const end of ends.reverse()) await end();
});

async function start(env: Record<string, string>): Promise<RunningProgram> {
  database = await createTestDatabase();
  ends.push(database.drop);
  const program = await startProgram({ databaseUrl: database.url, env: { ...provider.env, ...env } });
  ends.push(program.remove);
  provider.register(program);
  return program;
}

/** Signs another person in at the provider, which remembers the last one. */
async function become(tab: Tab, account: Account | undefined): Promise<void> {
  provider.account = account;
  await tab.context.clearCookies({ domain: "localhost" });
}

test("a person signs in with the provider, and links and unlinks it", { skip: withoutBrowser }, async () => {
  const program = await start({
    POSTHORN_OIDC_TEST_DOMAINS: "corp.example",
    POSTHORN_OIDC_TEST_WORKSPACE: "default",
  });
  const owner = await signUpFirst(program);
  await joinAs(owner, program, { email: "vera@there.test", role: "viewer" });
  const tab = await openTab(browser, program.url);
  ends.push(tab.close);
  const { page, complaints } = tab;
  await page.goto("/emails");
  await settled(page, /Sign in[\s\S]*Continue with Example login/);
  await inspect(page, "sign-in-with-provider");

  await become(tab, { sub: "eve", email: "eve@evil.example", email_verified: true });
  await page.getByRole("button", { name: "Continue with Example login" }).click();
  await page.getByRole("alert").filter({ hasText: "your email domain cannot sign up" }).waitFor();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, "/sign-in", "a reload does not repeat it");
  await inspect(page, "sign-in-refused");

  await become(tab, undefined);
  await page.goto("/emails");
  await page.getByRole("button", { name: "Continue with Example login" }).click();
  await page.getByRole("alert").filter({ hasText: "canceled at the provider" }).waitFor();

  await become(tab, { sub: "ann", email: "ann@corp.example", email_verified: true, name: "Ann Example" });
  await page.goto("/emails");
  await page.getByRole("button", { name: "Continue with Example login" }).click();
  await settled(page, /No emails yet/);
  assert.equal(new URL(page.url()).pathname, "/emails", "the page that the person wanted");
  await page.goto("/account");
  await settled(page, /Example login\s*Linked on [\d-]+\. You cannot unlink your only way to sign in/);
  await page.getByRole("button", { name: /^Account: / }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();

  await page.goto("/account");
  await page.getByLabel("Email address").fill("vera@there.test");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /Example login\s*Not linked/);
  await inspect(page, "account-unlinked");
  await page.getByRole("button", { name: "Link Example login" }).click();
  await page.getByRole("alert").filter({ hasText: "linked with another person" }).waitFor();
  await become(tab, { sub: "vera" });
  await page.getByRole("button", { name: "Link Example login" }).click();
  await page.getByRole("alert").filter({ hasText: "Example login linked" }).waitFor();
  await settled(page, /Password\s*Set[\s\S]*Example login\s*Linked on/);
  await inspect(page, "account-linked");
  await page.getByRole("button", { name: "Unlink Example login" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unlink", exact: true }).click();
  await settled(page, /Example login\s*Not linked/);
  assert.deepEqual(complaints, []);
});

test("without passwords, the pages show only the providers", { skip: withoutBrowser }, async () => {
  const program = await start({
    POSTHORN_PASSWORD_SIGN_IN: "off",
    POSTHORN_OIDC_TEST_DOMAINS: "corp.example",
    POSTHORN_OIDC_TEST_WORKSPACE: "default",
    POSTHORN_OIDC_TEST_ROLE: "owner",
  });
  const tab = await openTab(browser, program.url);
  ends.push(tab.close);
  const { page, complaints } = tab;
  await page.goto("/");
  await settled(page, /Continue with Example login/);
  assert.equal(await page.getByRole("textbox").count(), 0, "no form for a password");
  await inspect(page, "sign-in-without-passwords");
  await page.goto("/sign-up");
  await settled(page, /Passwords are turned off[\s\S]*Continue with Example login/);

  await become(tab, { sub: "olga", email: "olga@corp.example", email_verified: true, name: "Olga Owner" });
  await page.getByRole("button", { name: "Continue with Example login" }).click();
  await page.getByRole("button", { name: /Workspace: default/ }).waitFor();
  await page.goto("/account");
  await settled(page, /Sign-in methods/);
  assert.equal(await page.getByRole("textbox").count(), 0, "no form to change a password");

  const cookie = (await page.context().cookies()).find(({ name }) => name === "posthorn.session_token")!;
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);

  // A sensitive change asks the provider again, which leads back to the page.
  await page.getByRole("button", { name: "Add app", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
  await dialog.getByText("You sign in at the provider again").waitFor();
  await inspect(page, "confirm-with-provider");
  await become(tab, { sub: "other", email: "other@corp.example", email_verified: true });
  await dialog.getByRole("button", { name: "Confirm with Example login" }).click();
  await page.getByRole("alert").filter({ hasText: "an account that is not linked with yours" }).waitFor();
  await become(tab, { sub: "olga", email: "olga@corp.example", email_verified: true, name: "Olga Owner" });
  await page.getByRole("button", { name: "Add app", exact: true }).click();
  await dialog.getByRole("button", { name: "Confirm with Example login" }).click();
  await page.waitForURL(/\/account$/);
  await settled(page, /Sign-in methods/);
  await page.getByRole("button", { name: "Add app", exact: true }).click();
  await page.getByText("Scan this code with your authenticator app").waitFor();

  const http = openHttp(program);
  http.cookies.set(cookie.name, cookie.value);
  const { workspaces } = (await http.get("/auth/state")).body as unknown as Session;
  const request = { email: "nina@there.test", role: "MEMBER_ROLE_VIEWER" };
  const invited = await http.rpc("WorkspaceService/InviteMember", request, workspaces[0]!.id);
  const link = new URL(invited.body.inviteUrl as string);
  const guest = await openTab(browser, program.url);
  ends.push(guest.close);
  await guest.page.goto(link.pathname + link.hash);
  await settled(guest.page, /Join default[\s\S]*Sign in as nina@there\.test to join[\s\S]*Continue with Example login/);
  await inspect(guest.page, "invitation-with-provider");
  await become(guest, { sub: "nina", email: "nina@there.test", email_verified: true });
  await guest.page.getByRole("button", { name: "Continue with Example login" }).click();
  await guest.page.getByRole("button", { name: /Workspace: default/ }).waitFor();
  assert.deepEqual([complaints, guest.complaints], [[], []]);
});
