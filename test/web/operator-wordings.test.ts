/** The operators' page of unknown wordings: empty, filled and with a second page. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { countWordings } from "../../src/delivery/store/wordings.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { inspect, openBrowser, openTab, settled, type Tab, withoutBrowser } from "../harness/browser.ts";
import { password, signUpFirst } from "../harness/people.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let browser: Browser;
let tab: Tab;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed();
  await signUpFirst(testbed.program);
  await testbed.database.sql`update people set is_operator = true`;
  browser = await openBrowser();
  tab = await openTab(browser, testbed.program.url);
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

test("without unknown wordings the page says so", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  await page.goto("/operator/wordings");
  await page.getByLabel("Email address").fill("owner@there.test");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await settled(page, /A second factor is required/);
  await testbed.database.sql`update people_sessions set has_second_factor = true, proved_at = service_time()`;
  await page.reload();
  await settled(page, /No unknown wordings/);
  await inspect(page, "operator-wordings-empty");
});

test("the page shows wordings by their count, and loads more", { skip: withoutBrowser }, async () => {
  const { page } = tab;
  const many = Array.from({ length: 60 }, (_, at) => ({
    site: `r${at}.test`,
    phase: "dot",
    code: 554,
    enhanced: "",
    shape: "please ask <address> about <id>",
    category: "other",
    replies: 1,
  }));
  const odd = {
    site: "mx.orange.test",
    phase: "rcpt",
    code: 550,
    enhanced: "5.7.1",
    shape: `<address> the moon is in the wrong house ${"and the sun is late ".repeat(6)}<b>odd</b>`,
    category: "policy",
    replies: 12345,
  };
  await countWordings(testbed.database.sql, [...many, odd], () => makeUuid(Date.now()));
  await settled(
    page,
    /mx\.orange\.test[\s\S]*550 5\.7\.1 \(rcpt\)[\s\S]*policy[\s\S]*12,345[\s\S]*wrong house[\s\S]*<b>odd<\/b>/,
  );
  await inspect(page, "operator-wordings");
  assert.equal(await page.getByText("please ask").count(), 49);
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("please ask").nth(59).waitFor();
  assert.equal(await page.getByText("please ask").count(), 60);
  assert.deepEqual(tab.complaints, []);
});
