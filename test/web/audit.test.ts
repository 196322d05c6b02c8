/** The page of the audit log: an owner follows who changed what, filters by person, thing and noun, and downloads the entries. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser, openTab, settled, withoutBrowser } from "../harness/browser.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
let browser: Browser;
before(async () => {
  if (withoutBrowser) return;
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await program?.stop();
  await database?.drop();
});

test("shows, filters and exports the changes of a workspace", { skip: withoutBrowser }, async () => {
  const owner = await signUpFirst(program);
  const rpc = async (method: string, request: object) =>
    (await owner.browser.rpc(method, request, owner.workspace)).body as Record<string, { id: string }>;
  const { key } = await rpc("KeyService/CreateKey", { name: "CI", permission: "KEY_PERMISSION_SEND" });
  await rpc("SuppressionService/AddSuppression", { address: "gone@there.test" });
  await rpc("KeyService/RevokeKey", { id: key!.id });
  const { page, context, complaints } = await openTab(browser, program.url);
  const [[name, value]] = [...owner.browser.cookies] as [[string, string]];
  await context.addCookies([{ name, value, url: program.url }]);
  await page.goto("/audit");
  await settled(page, /Olga Owner revoked an API key[\s\S]*suppressed an address[\s\S]*created an API key/);
  await page.getByRole("button", { name: key!.id }).first().click();
  await settled(page, /Of key_[\s\S]*revoked an API key[\s\S]*created an API key/);
  assert.doesNotMatch(await page.locator("main").innerText(), /suppressed/);
  await page.getByRole("button", { name: /Remove the filter Of/ }).click();
  await page.getByLabel("About").selectOption("suppression");
  await settled(page, /suppressed an address/);
  assert.match(page.url(), /noun=suppression/);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export as JSON lines" }).click(),
  ]);
  const lines = (await readFile(await file.path(), "utf8")).trim().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).action),
    ["suppression.added"],
  );
  await page.getByLabel("About").selectOption("domain");
  await settled(page, /No changes match/);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await settled(page, /revoked an API key/);
  assert.deepEqual(complaints, []);
});
