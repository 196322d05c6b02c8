/** The page API keys: limits, expiry, makers and rotation. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { inspect, openBrowser, openTab, settled, withoutBrowser } from "../harness/browser.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let browser: Browser;
let page: Page;
before(async () => {
  if (withoutBrowser) return;
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
  browser = await openBrowser();
  page = (await openTab(browser, testbed.program.url, { key: testbed.program.key })).page;
});
after(async () => {
  await browser?.close();
  await testbed?.stop();
});

type WireKey = {
  id: string;
  name: string;
  scopes: string[];
  domains: string[];
  allowedRecipients: string[];
  allowedAddresses: string[];
  expiresAt?: string;
  rotatedFrom: string;
};
const dialog = () => page.getByRole("dialog");
const inDialog = (name: string) => dialog().getByRole("button", { name, exact: true });
const keys = async () => (await testbed.call("KeyService/ListKeys", { pageSize: 100 })).body.data as WireKey[];
const create = async (request: object) => {
  const { status, body } = await testbed.call("KeyService/CreateKey", {
    permission: "KEY_PERMISSION_SEND",
    ...request,
  });
  assert.equal(status, 200, JSON.stringify(body));
  return (body.key as WireKey).id;
};

test("a key is created with scopes, an end and limits", { skip: withoutBrowser }, async () => {
  await page.goto("/keys");
  await page.getByRole("button", { name: "Create key", exact: true }).click();
  await dialog().getByLabel("Name").fill("staging");
  await dialog().getByLabel("Scopes").first().check();
  await inDialog("Create key").click();
  await dialog().getByText("Select at least one scope.").waitFor();
  await dialog().getByRole("checkbox", { name: "Send", exact: true }).check();
  await dialog().getByRole("checkbox", { name: "Events", exact: true }).check();
  await dialog().getByLabel("Expires").selectOption("90");
  await inDialog("More limits").click();
  await dialog().getByLabel("Sending domains").fill("sender.test");
  await dialog().getByLabel("Recipients").fill("qa@there.test\n*.staging.test");
  await dialog().getByLabel("Client IP addresses").fill("nonsense");
  await inDialog("Create key").click();
  await dialog()
    .getByText(/"nonsense": is not an address or a range/)
    .waitFor();
  await inspect(page, "keys-create");
  await dialog().getByLabel("Client IP addresses").fill("127.0.0.1, ::1");
  await inDialog("Create key").click();
  await dialog().getByLabel("API key").waitFor();
  await inDialog("I have copied it").click();
  const [key] = await keys();
  assert.deepEqual(
    [key!.scopes, key!.domains, key!.allowedRecipients, key!.allowedAddresses],
    [
      ["KEY_SCOPE_SEND", "KEY_SCOPE_EVENTS"],
      ["sender.test"],
      ["qa@there.test", "*.staging.test"],
      ["127.0.0.1/32", "::1/128"],
    ],
  );
  const days = (Date.parse(key!.expiresAt!) - Date.now()) / 86_400_000;
  assert.ok(Math.abs(days - 90) < 0.1, String(days));
});

test("an own end is the end of a day", { skip: withoutBrowser }, async () => {
  await page.goto("/keys");
  await page.getByRole("button", { name: "Create key", exact: true }).click();
  await dialog().getByLabel("Name").fill("until a day");
  await dialog().getByLabel("Expires").selectOption("date");
  await dialog().getByLabel("Last day").fill("2099-12-31");
  await inDialog("Create key").click();
  await inDialog("I have copied it").click();
  // In the time zone of the browser.
  const lateHours = (Date.parse((await keys())[0]!.expiresAt!) - Date.parse("2099-12-31T23:59:59Z")) / 3_600_000;
  assert.ok(Math.abs(lateHours) <= 14, String(lateHours));
});

test("the list shows the maker, the last use, limits and what is expired or expires soon", {
  skip: withoutBrowser,
}, async () => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  await create({ name: "soon over", expiresAt: inDays(3) });
  const over = await create({ name: "over", expiresAt: inDays(1) });
  await testbed.database.sql`update keys set expires_at = wall_time() - interval '2 days', last_used_at = now(),
    last_used_address = '192.0.2.9' where id = ${over.slice(4)}`;
  await page.goto("/keys");
  await settled(page, /over\s*SEND\s*EXPIRED[\s\S]*last used just now from 192\.0\.2\.9 · expired 2 days ago/i);
  await settled(
    page,
    /soon over\s*SEND\s*EXPIRES SOON[\s\S]*by the key POSTHORN_API_KEY · never used · expires in 2 days/i,
  );
  await settled(
    page,
    /May use: Send, Events\s*Sends only from: sender\.test\s*Sends only to: qa@there\.test, \*\.staging\.test/,
  );
  assert.equal(await page.getByRole("button", { name: "Rotate over", exact: true }).count(), 0);
  await inspect(page, "keys-limits");
});

test("a key is edited: limits are added and removed, and the end stays or changes", {
  skip: withoutBrowser,
}, async () => {
  const expiresAt = "2030-01-31T09:00:00Z";
  const id = await create({ name: "edited", allowedRecipients: ["qa@there.test"], expiresAt });
  const find = async () => (await keys()).find((key) => key.id === id)!;
  const edit = async () => {
    await page.goto("/keys");
    await page.getByRole("button", { name: "Edit edited", exact: true }).click();
  };
  await edit();
  await dialog().getByLabel("Recipients").fill("");
  await dialog().getByLabel("Client IP addresses").fill("192.0.2.0/24");
  await inspect(page, "keys-edit");
  await inDialog("Save changes").click();
  await settled(page, /edited[\s\S]*Works only from: 192\.0\.2\.0\/24/);
  const changed = await find();
  assert.deepEqual(
    [changed.allowedRecipients, changed.allowedAddresses, changed.expiresAt],
    [[], ["192.0.2.0/24"], expiresAt],
  );
  await edit();
  await dialog().getByLabel("Expires").selectOption("");
  await dialog().getByLabel("Client IP addresses").fill("nonsense");
  await inDialog("Save changes").click();
  await dialog()
    .getByText(/"nonsense": is not an address or a range/)
    .waitFor();
  await dialog().getByLabel("Client IP addresses").fill("");
  await inDialog("Save changes").click();
  await dialog().waitFor({ state: "detached" });
  const again = await find();
  assert.deepEqual([again.allowedAddresses, again.expiresAt], [[], undefined]);
});

test("a key is rotated with an overlap, and its new secret is shown once", { skip: withoutBrowser }, async () => {
  const old = await create({ name: "shop", domains: ["sender.test"] });
  await page.goto("/keys");
  await page.getByRole("button", { name: "Rotate shop", exact: true }).click();
  await dialog().getByLabel("Overlap").selectOption("604800");
  await inspect(page, "keys-rotate");
  await inDialog("Rotate key").click();
  const secret = await dialog().getByLabel("New API key").inputValue();
  await inDialog("I have copied it").click();
  await settled(page, /shop[\s\S]*shop/);
  const all = await keys();
  const [next] = all;
  assert.deepEqual([next!.name, next!.rotatedFrom, next!.domains], ["shop", old, ["sender.test"]]);
  const leftDays = (Date.parse(all.find(({ id }) => id === old)!.expiresAt!) - Date.now()) / 86_400_000;
  assert.ok(Math.abs(leftDays - 7) < 0.1, String(leftDays));
  const denied = await testbed.call("KeyService/ListKeys", {}, { key: secret });
  assert.equal(denied.body.code, "permission_denied", "the secret is a key with the permission send");
  assert.ok(!(await page.content()).includes(secret));
});

/** Of the page, whose types the tests do not have. */
type Styles = { getComputedStyle(of: unknown): { getPropertyValue(name: string): string } };

test("chosen controls and dangerous buttons stand out in both schemes", { skip: withoutBrowser }, async () => {
  await create({ name: "to revoke" });
  await page.goto("/keys");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const token = (name: string) =>
      page.evaluate<string>(`(() => {
        const probe = document.body.appendChild(document.createElement("i"));
        probe.style.color = "var(--${name})";
        const { color } = getComputedStyle(probe);
        probe.remove();
        return color;
      })()`);
    const ground = (of: Locator) =>
      of.evaluate((element) =>
        (globalThis as unknown as Styles).getComputedStyle(element).getPropertyValue("background-color"),
      );
    await page.getByRole("button", { name: "Create key", exact: true }).click();
    const chosen = dialog().getByRole("radio", { name: "Send" });
    await until("the chosen permission in ink", async () => (await ground(chosen)) === (await token("ink")));
    const box = dialog().getByRole("checkbox", { name: "Test key" });
    await box.check();
    await until("the checked box in ink", async () => (await ground(box)) === (await token("ink")));
    await inDialog("Cancel").click();
    await dialog().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Revoke to revoke" }).click();
    const revoke = inDialog("Revoke key");
    await until("a red button", async () => (await ground(revoke)) === (await token("bounced")));
    await inDialog("Keep key").click();
    await dialog().waitFor({ state: "detached" });
  }
});
