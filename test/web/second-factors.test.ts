/** Second factors in a real browser: an authenticator app, recovery codes, passkeys with Chromium's virtual authenticator, the dialog that
 * confirms an identity, a workspace that requires a second factor, and the list of sessions. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Secret, TOTP } from "otpauth";
import type { Browser, Page } from "playwright-core";
import {
  findings,
  follow,
  inspect,
  openBrowser,
  openTab,
  settled,
  type Tab,
  withoutBrowser,
} from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { firstLink, password } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { passServiceTime } from "../harness/time.ts";
import { addAuthenticator, type VirtualAuthenticator } from "../harness/virtual-authenticator.ts";
import { until } from "../harness/wait.ts";

const email = "olga@there.test";
let database: TestDatabase;
let program: RunningProgram;
let browser: Browser;
let tab: Tab;
let page: Page;
let device: VirtualAuthenticator;
let secret: string;
let codes: string[];
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  browser = await openBrowser();
  // Passkeys need a host name.
  tab = await openTab(browser, program.url.replace("127.0.0.1", "localhost"));
  page = tab.page;
  device = await addAuthenticator(page);
  // The virtual device answers at once when the address field offers passkeys, so only one test lets the page do that.
  await tab.context.addInitScript(
    "PublicKeyCredential.isConditionalMediationAvailable = async () => globalThis.offersPasskeys === true",
  );
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

async function code(): Promise<string> {
  // The same code works again, which saves the test from waiting 30 seconds.
  const [row] = await database.sql<{ ms: number }[]>`
    with forgotten as (update people_totp set used_steps = '{}')
    select (extract(epoch from wall_time()) * 1000)::float8 as ms`;
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: row!.ms });
}

async function signOut(): Promise<void> {
  await page.getByRole("button", { name: /^Account: / }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
}

async function enterPassword(where: Page = page): Promise<void> {
  await where.getByLabel("Email address").fill(email);
  await where.getByRole("textbox", { name: "Password" }).fill(password);
  await where.getByRole("button", { name: "Sign in", exact: true }).click();
}

const dialog = (name: string | RegExp) => page.getByRole("dialog", { name });

test("a person adds an authenticator app and gets recovery codes", { skip: withoutBrowser }, async () => {
  const first = new URL(await firstLink(program));
  await page.goto(first.pathname + first.hash);
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("Your name").fill("Olga Owner");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("button", { name: /^Account: / }).waitFor();
  await follow(page, "/account");
  await settled(page, /Second factors[\s\S]*Authenticator app[\s\S]*Passkeys[\s\S]*Sessions[\s\S]*This browser/i);
  await inspect(page, "account");
  await page.getByRole("button", { name: "Add app" }).click();
  const adding = dialog("Add an authenticator app");
  await adding.getByRole("img", { name: "QR code of the secret" }).waitFor();
  secret = (await adding.locator("code").innerText()).replaceAll(" ", "");
  assert.match(secret, /^[A-Z2-7]{32}$/);
  await inspect(page, "add-app");
  await adding.getByLabel("Code", { exact: true }).fill("000000");
  await adding.getByRole("button", { name: "Add app" }).click();
  await adding.getByText(/Is wrong or was used already/).waitFor();
  await adding.getByLabel("Code", { exact: true }).fill(await code());
  await adding.getByRole("button", { name: "Add app" }).click();
  const shown = dialog("Your recovery codes");
  await shown.getByText("They are not shown again").waitFor();
  codes = await shown.locator("code").allInnerTexts();
  assert.equal(codes.length, 10);
  await inspect(page, "recovery-codes");
  const downloading = page.waitForEvent("download");
  await shown.getByRole("button", { name: "Download codes" }).click();
  assert.equal((await downloading).suggestedFilename(), "posthorn-recovery-codes.txt");
  await shown.getByRole("button", { name: "I have saved them" }).click();
  await settled(page, /10 of 10 codes left/);
});

test("signing in takes two steps, with a code or a recovery code", { skip: withoutBrowser }, async () => {
  await signOut();
  await enterPassword();
  await settled(page, /One more step: confirm with your second factor/);
  await page.reload();
  await settled(page, /One more step: confirm with your second factor/);
  await inspect(page, "second-step");
  await page.locator("input[autocomplete=one-time-code]:focus").waitFor();
  await page.getByLabel("Code", { exact: true }).fill("123456");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText(/Is wrong or was used already/).waitFor();
  await page.getByLabel("Code", { exact: true }).fill(await code());
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /Second factors/);
  await signOut();
  await enterPassword();
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.getByLabel("Recovery code").fill(codes[0]!);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /9 of 10 codes left/);
});

test("after five wrong codes the sign-in starts again", { skip: withoutBrowser }, async () => {
  await signOut();
  await enterPassword();
  for (let i = 0; i < 5; i++) {
    await page.getByLabel("Code", { exact: true }).fill(`00000${i}`);
    const answered = page.waitForResponse(/second-factor/);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await answered;
  }
  await page.getByLabel("Code", { exact: true }).fill(await code());
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /This sign-in has ended[\s\S]*Email address/);
  await enterPassword();
  await page.getByLabel("Code", { exact: true }).fill(await code());
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /Second factors/);
});

test("a person adds, renames and uses a passkey, as second step and instead of the password", {
  skip: withoutBrowser,
}, async () => {
  await page.getByRole("button", { name: "Add passkey" }).click();
  const adding = dialog("Add a passkey");
  await adding.getByLabel("Name").fill("Laptop");
  await device.setVerified(false);
  await adding.getByRole("button", { name: "Create passkey" }).click();
  await adding.getByText(/The browser did not use a passkey/).waitFor();
  await device.setVerified(true);
  await adding.getByRole("button", { name: "Create passkey" }).click();
  await settled(page, /Laptop/);
  assert.equal((await device.credentials()).length, 1);
  await page.getByRole("button", { name: "Rename Laptop" }).click();
  await dialog("Rename passkey").getByLabel("Name").fill("Work laptop");
  await dialog("Rename passkey").getByRole("button", { name: "Rename passkey" }).click();
  await settled(page, /Work laptop/);
  await inspect(page, "account-with-factors");

  await signOut();
  await settled(page, /Sign in with a passkey/);
  await inspect(page, "sign-in");
  await enterPassword();
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("button", { name: "Continue with a passkey" }).click();
  await settled(page, /Work laptop[\s\S]*last used/);
  await signOut();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await settled(page, /Work laptop[\s\S]*Signed in with passkey/);
  await page.evaluate("globalThis.offersPasskeys = true");
  await page.getByRole("button", { name: /^Account: / }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForResponse(/passkey-sign-in/);
  await settled(page, /Work laptop[\s\S]*Signed in with passkey/);
  await page.evaluate("globalThis.offersPasskeys = false");
});

test("a sensitive change after 15 minutes asks to confirm, and then goes on", { skip: withoutBrowser }, async () => {
  await follow(page, "/keys");
  await passServiceTime(database.sql, "16 minutes");
  await page.getByRole("button", { name: "Create key" }).first().click();
  const creating = dialog(/create/i);
  await creating.getByLabel("Name").fill("After a while");
  await creating.getByRole("button", { name: "Create key", exact: true }).click();
  const confirming = dialog("Confirm your identity");
  await confirming.getByLabel("Your password").fill("a guess");
  await confirming.getByLabel("Code", { exact: true }).fill(await code());
  await confirming.getByRole("button", { name: "Confirm", exact: true }).click();
  await confirming.getByText("Is not your password").waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.deepEqual(await findings(page), []);
  await page.screenshot({ path: "web/screenshots/confirm-dark.png" });
  await page.emulateMedia({ colorScheme: "light" });
  await page.screenshot({ path: "web/screenshots/confirm-light.png" });
  await confirming.getByLabel("Your password").fill(password);
  await confirming.getByLabel("Code", { exact: true }).fill(await code());
  await confirming.getByRole("button", { name: "Confirm", exact: true }).click();
  await page.getByText("Copy it now and store it safely").waitFor();
  await page.getByRole("button", { name: "I have copied it" }).click();
  await settled(page, /After a while/);

  await passServiceTime(database.sql, "16 minutes");
  await page
    .getByRole("button", { name: /Revoke/ })
    .first()
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke key", exact: true }).click();
  await dialog("Confirm your identity").getByRole("button", { name: "Confirm with a passkey" }).click();
  await until("a revoked key", async () => {
    const rows = await database.sql`select 1 from keys where revoked_at is not null`;
    return rows.length > 0;
  });
});

test("a workspace requires a second factor, and a session without one is led to it", {
  skip: withoutBrowser,
}, async () => {
  await follow(page, "/workspace");
  await settled(page, /Require a second factor/);
  await page.getByRole("switch", { name: /Require a second factor/ }).click();
  await until("the requirement", async () => {
    const rows = await database.sql`select 1 from workspaces where require_second_factor`;
    return rows.length > 0;
  });
  await inspect(page, "workspace-security");
  await database.sql`update people_sessions set has_second_factor = false`;
  await page.reload();
  await settled(page, /Second factor required[\s\S]*you signed in without it/);
  await inspect(page, "second-factor-required");
  await page.getByRole("button", { name: "Confirm with your second factor" }).click();
  await dialog("Confirm your identity").getByRole("button", { name: "Confirm with a passkey" }).click();
  await settled(page, /Require a second factor/);

  await follow(page, "/account");
  await page.getByRole("button", { name: "Remove app" }).click();
  await dialog(/Remove the authenticator app/)
    .getByRole("button", { name: "Remove app" })
    .click();
  await page.getByRole("button", { name: "Add app" }).waitFor();
  await page.getByRole("button", { name: "Remove Work laptop" }).click();
  const removing = dialog(/Remove this passkey/);
  await removing.getByRole("button", { name: "Remove passkey" }).click();
  await removing.getByText(/This is your last second factor/).waitFor();
  await removing.getByRole("button", { name: "Cancel" }).click();
});

test("a new member of that workspace adds a passkey first, and then sees it", { skip: withoutBrowser }, async () => {
  const run = { dataDir: program.dataDir, databaseUrl: database.url };
  const invited = await runCommand(["people", "invite", "vera@there.test", "--role", "viewer"], run);
  const link = new URL(invited.stdout.trim());
  const member = await openTab(browser, program.url.replace("127.0.0.1", "localhost"));
  await addAuthenticator(member.page);
  await member.page.goto(link.pathname + link.hash);
  await member.page.getByLabel("Your name").fill("Vera Viewer");
  await member.page.getByRole("textbox", { name: "Password" }).fill(password);
  await member.page.getByRole("button", { name: "Create account and join" }).click();
  await settled(member.page, /Second factor required/);
  await member.page.getByRole("link", { name: "Add a second factor" }).click();
  await settled(member.page, /A second factor is required/);
  await inspect(member.page, "account-factor-required");
  await member.page.getByRole("button", { name: "Add passkey" }).click();
  await member.page.getByRole("dialog").getByRole("button", { name: "Create passkey" }).click();
  await member.page.getByRole("button", { name: "I have saved them" }).click();
  await follow(member.page, "/keys");
  await settled(member.page, /first key/);
  assert.deepEqual(member.complaints, []);
  await member.close();
});

test("a person sees other sessions and ends them", { skip: withoutBrowser }, async () => {
  const other = await openTab(browser, program.url.replace("127.0.0.1", "localhost"));
  await other.page.goto("/account");
  await enterPassword(other.page);
  await other.page.getByRole("button", { name: "Use a recovery code" }).click();
  await other.page.getByLabel("Recovery code").fill(codes[1]!);
  await other.page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(other.page, /Second factors/);
  await page.reload();
  await settled(page, /Chrome on Linux/);
  await page.getByRole("button", { name: "End all other sessions" }).click();
  await settled(page, /All other sessions ended/);
  await other.page.reload();
  await settled(other.page, /Email address/);
  assert.deepEqual(other.complaints, []);
  await other.close();
});

test("at an IP address the pages say to use localhost", { skip: withoutBrowser }, async () => {
  const plain = await openTab(browser, program.url);
  await plain.page.goto("/account");
  await settled(plain.page, /Passkeys need a host name/);
  const link = plain.page.getByRole("link", { name: /^http:\/\/localhost:\d+$/ });
  assert.equal(await link.getAttribute("href"), `${program.url.replace("127.0.0.1", "localhost")}/account`);
  assert.equal(await plain.page.getByRole("button", { name: "Sign in with a passkey" }).count(), 0);
  await inspect(plain.page, "sign-in-at-address");
  await plain.close();
  assert.deepEqual(tab.complaints, []);
});
