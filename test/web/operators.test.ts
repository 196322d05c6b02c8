/** The operators' pages in a browser: who sees them, people, workspaces, and the dialogs that delete. Also the dialog that removes a member. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { makeUuid } from "../../src/postgres/ids.ts";
import { createOwnedWorkspace } from "../../src/workspaces/store.ts";
import { addPasskey } from "../harness/authenticator.ts";
import { follow, inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { joinAs, type Browser as Person, password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let program: RunningProgram;
let browser: Browser;
let tab: Tab;
let owner: Person;
const email = "owner@there.test";
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  const first = await signUpFirst(program, email);
  owner = first.browser;
  const dora = await joinAs(first, program, { email: "dora@there.test", role: "developer" });
  await dora.rpc("KeyService/CreateKey", { name: "Nightly job", permission: "KEY_PERMISSION_FULL" }, first.workspace);
  await joinAs(first, program, { email: "vera@there.test", role: "viewer" });
  const [person] = await database.sql<{ id: string }[]>`select id from people where email = 'vera@there.test'`;
  await createOwnedWorkspace(database.sql, {
    workspace: { id: makeUuid(Date.now()), name: "Acme <b>Ltd</b>" },
    member: { id: makeUuid(Date.now()), personId: person!.id, email: "vera@there.test" },
    signUpIsOpen: false,
    most: { established: null, fromSignUp: null },
  });
  browser = await openBrowser();
  tab = await openTab(browser, program.url);
});
after(async () => {
  await browser?.close();
  await program?.remove();
  await database?.drop();
});

async function proveSecondFactor(): Promise<void> {
  await database.sql`update people_sessions set has_second_factor = true, proved_at = service_time()
    where person_id = (select id from people where email = ${email})`;
}

test("the pages are for operators with a second factor, and say so", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/operator/people");
  await page.getByLabel("Email address").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /Only operators of this service see this page/);
  assert.equal(await page.getByRole("link", { name: "Workspaces", exact: true }).count(), 0);
  const options = { dataDir: program.dataDir, databaseUrl: database.url };
  await addPasskey(owner, program);
  assert.equal((await runCommand(["people", "operator", email], options)).code, 0);
  await page.reload();
  await settled(page, /A second factor is required/);
  await inspect(page, "operator-second-factor");
  await page.getByRole("link", { name: "Your account" }).click();
  await settled(page, /Second factors/);
  await proveSecondFactor();
});

test("an operator searches, disables, enables and deletes people", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/operator/people");
  await settled(page, /vera@there\.test[\s\S]*dora@there\.test[\s\S]*owner@there\.test \(you\)[\s\S]*operator/);
  await inspect(page, "operator-people");
  await page.getByLabel("Search").fill("dora");
  await until("only dora", async () => (await page.getByText("vera@there.test").count()) === 0);
  await page.getByRole("button", { name: "Disable dora@there.test" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Also revoke the key that they created").waitFor();
  await dialog.getByRole("button", { name: "Disable person" }).click();
  await settled(page, /Disabled[\s\S]*dora@there\.test/);
  await page.getByRole("button", { name: "Enable dora@there.test" }).click();
  await dialog.getByRole("button", { name: "Enable person" }).click();
  await page.getByRole("button", { name: "Disable dora@there.test" }).waitFor();

  await page.getByLabel("Search").fill("vera");
  await page.getByRole("button", { name: "Delete vera@there.test" }).click();
  await dialog.getByText("posthorn people export vera@there.test ./export").waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Delete person" }).isDisabled(), true);
  await dialog.getByLabel("Address of the person").fill("vera@there.test");
  await inspect(page, "operator-delete-person");
  await dialog.getByRole("button", { name: "Delete person" }).click();
  // Vera is the last owner of a workspace.
  await dialog.getByText(/is the last owner of "Acme <b>Ltd<\/b>"/).waitFor();
  await dialog.getByRole("button", { name: "Keep person" }).click();
  await page.getByLabel("Search").fill("no such person");
  await settled(page, /No people match/);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await settled(page, /owner@there\.test/);
});

test("an operator limits, suspends, resumes and deletes workspaces", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await follow(page, "/operator/workspaces");
  await settled(page, /Acme <b>Ltd<\/b>[\s\S]*1 owner[\s\S]*Emails per day: 0[\s\S]*default[\s\S]*first workspace/);
  await inspect(page, "operator-workspaces");
  assert.equal(await page.getByRole("button", { name: "Delete default" }).count(), 0);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: /Edit the quotas of Acme/ }).click();
  await dialog.getByLabel("Emails per day").selectOption("limit");
  await dialog.getByLabel("Limit of Emails per day").fill("250");
  await inspect(page, "operator-quotas");
  await dialog.getByRole("button", { name: "Save quotas" }).click();
  await settled(page, /Emails per day: 0 of 250/);
  await page.getByRole("button", { name: /Suspend Acme/ }).click();
  await dialog.getByLabel("Reason").fill("The bill is not paid.");
  await dialog.getByRole("button", { name: "Suspend workspace" }).click();
  await settled(page, /Suspended[\s\S]*The bill is not paid\./);
  await page.getByRole("button", { name: /Resume Acme/ }).click();
  await dialog.getByRole("button", { name: "Resume workspace" }).click();
  await page.getByRole("button", { name: /Suspend Acme/ }).waitFor();
  await page.getByRole("button", { name: /Delete Acme/ }).click();
  await dialog.getByLabel("Name of the workspace").fill("Acme <b>Ltd</b>");
  await inspect(page, "operator-delete-workspace");
  await dialog.getByRole("button", { name: "Delete workspace" }).click();
  await until("the end of the deletion", async () => {
    const rows = await database.sql`select 1 from workspaces where name like 'Acme%'`;
    return rows.length === 0;
  });
  await page.reload();
  await settled(page, /default/);
  assert.equal(await page.getByText("Acme").count(), 0);
});

test("removing a member lists the keys that they created, and revokes them on request", {
  skip: withoutBrowser,
}, async () => {
  const { page } = tab;
  await follow(page, "/workspace");
  await page.getByRole("button", { name: "Remove dora@there.test" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(/Nightly job \(ph_/).waitFor();
  await inspect(page, "remove-member");
  await dialog.getByLabel("Also revoke this key").check();
  await dialog.getByRole("button", { name: "Remove member" }).click();
  await until("no dora", async () => (await page.getByText("dora@there.test").count()) === 0);
  const [key] = await database.sql<{ revoked: boolean }[]>`
    select revoked_at is not null as revoked from keys where name = 'Nightly job'`;
  assert.equal(key?.revoked, true);
  assert.deepEqual(tab.complaints, []);
});
