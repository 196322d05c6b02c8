/** Every system mail in a browser, as a mail program shows it: light and dark, wide and narrow, accessible, with nothing from elsewhere. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { type SystemText, systemHtml } from "../../src/emails/rules/system-html.ts";
import { expiryNotice } from "../../src/keys/reminders.ts";
import { accountExistsMail, invitationMail, resetMail, signUpMail } from "../../src/people/links.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { quotaNotice, resumptionNotice, suspensionNotice, warningNotice } from "../../src/quotas/notice-text.ts";
import type { WorkspaceUsage } from "../../src/quotas/store/usage.ts";
import { alertNotice } from "../../src/stats/alert-loop.ts";
import { findings, openBrowser, shoot, withoutBrowser } from "../harness/browser.ts";

const base = "https://mail.example.test";
const link = `${base}/invitation#token=${"q7Rt".repeat(10)}abc`;
const workspace = { workspaceId: makeUuid(0), name: "Müller & Söhne <Shop>" };
const nowMs = Date.UTC(2026, 10, 18);
const warning = { figure: "bounces", count: 40, recipients: 200, message: "40 of 200 recipients bounced." } as const;
const alert = { figure: "complaints", rate: 0.004, threshold: 0.001, count: 4, recipients: 1000 } as const;
const usage = {
  id: workspace.workspaceId,
  name: workspace.name,
  used: { emailsPerDay: 800 },
  serviceMs: nowMs,
  lagMs: 0,
} as unknown as WorkspaceUsage;
const key = {
  id: makeUuid(0),
  workspaceId: workspace.workspaceId,
  workspace: workspace.name,
  name: "shop backend",
  prefix: "ph_live_abcd",
  expiresAt: new Date(nowMs),
  lastUsedAt: null,
  days: 7,
};
const judged = {
  ...workspace,
  ...{ delivered: 996, sent: 0, bounced: 0, complained: 4, eventsTo: "9", raised: [] },
  settings: {} as Parameters<typeof alertNotice>[0]["settings"],
};

const mails: Record<string, SystemText> = {
  reset: resetMail(link),
  "sign-up": signUpMail(link),
  "account-exists": accountExistsMail(base),
  invitation: invitationMail({ inviter: "Ann O'Hara", workspace: "Shop & Söhne", role: "owner", link }),
  "quota-near": quotaNotice(usage, { kind: "emailsPerDay", percent: 80, limit: 1000 }, nowMs).mail,
  "quota-full": quotaNotice(usage, { kind: "emailsPerDay", percent: 100, limit: 800 }, nowMs).mail,
  suspended: suspensionNotice(workspace, "Too many <b>complaints</b>.", warning, nowMs).mail,
  resumed: resumptionNotice(workspace, new Date(nowMs), nowMs).mail,
  warning: warningNotice(workspace, warning, nowMs).mail,
  "key-expires": expiryNotice(key, nowMs).mail,
  alert: alertNotice(judged, { ...alert, message: "0.4 % complaints: 4 of 1,000 recipients." }, nowMs).mail,
};

let browser: Browser;
before(async () => {
  if (!withoutBrowser) browser = await openBrowser();
});
after(async () => await browser?.close());

for (const [name, mail] of Object.entries(mails))
  test(`the mail "${name}" is readable everywhere and says what its text says`, { skip: withoutBrowser }, async () => {
    const requests: string[] = [];
    const page = await browser.newPage({ viewport: { width: 820, height: 700 }, colorScheme: "light" });
    page.on("request", ({ url }) => requests.push(url()));
    await page.setContent(systemHtml(mail));
    assert.deepEqual(await findings(page), []);
    await shoot(page, `mail-${name}-light`);
    const shown = (await page.locator("body").innerText()).replace(/\s+/g, " ");
    for (const line of mail.body.split("\n").filter(Boolean)) {
      const words = line.replace(/\s+/g, " ");
      assert.ok(shown.includes(words) || shown.includes(words.replace(": ", " ")), line);
    }
    const links = await page.locator("a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    assert.deepEqual(links, mail.link ? [mail.link.url] : []);
    if (mail.link) assert.ok(mail.body.split("\n").includes(mail.link.url), "the text has the same link");
    for (const width of [700, 390]) {
      await page.setViewportSize({ width, height: 700 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, "it fits");
        assert.deepEqual(await findings(page, ["color-contrast"]), []);
      }
    }
    await shoot(page, `mail-${name}-dark-narrow`);
    assert.deepEqual(requests, [], "nothing is loaded");
    await page.close();
  });
