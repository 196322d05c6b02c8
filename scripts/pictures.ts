/**
 * Takes the pictures of docs/dashboard.md: starts a program in capture mode, sends mail with every outcome, and photographs six pages.
 * `npm run pictures` replaces docs/pictures/after; `npm run pictures -- --checkout DIR --to FOLDER` photographs the program of another
 * checkout, which must be installed and built.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { silentLog } from "../src/ops/log.ts";
import { openDb, type Sql } from "../src/postgres/pool.ts";
import { openBrowser, openTab } from "../test/harness/browser.ts";
import { startTestServer, withDatabase } from "../test/harness/database.ts";
import { type RunningProgram, startProgram } from "../test/harness/program.ts";
import { until } from "../test/harness/wait.ts";

const { values: options } = parseArgs({
  options: { checkout: { type: "string" }, to: { type: "string", default: "docs/pictures/after" } },
});

const senders = ["Northwind Orders <orders@example.test>", "security@example.test", "billing@example.test"];
const subjects = [
  "Your receipt from Northwind",
  "Reset your password",
  "Invoice 2026-1191",
  "Your order 4711 has shipped",
  "Confirm your email address",
];
const sites = ["fastmail.example", "contoso.example", "fabrikam.example", "wingtip.example", "litware.example"];
const names = ["ada", "grace", "lin", "tim", "mary", "ken", "jo", "sam", "eve"];
/** The local parts with which a recipient in capture mode answers otherwise than with a delivery, and how often each is sent to. */
const special = new Map([
  [31, "bounced"],
  [53, "delayed"],
  [71, "complained"],
  [13, "replied"],
  [97, "suppressed"],
]);
const emails = 240;

async function fill(program: RunningProgram): Promise<{ bounced: string; domain: string }> {
  const call = async (method: string, request: object) => {
    const { status, body } = await program.call(method, request);
    if (status !== 200) throw new Error(`${method}: ${JSON.stringify(body)}`);
    return body as Record<string, { id: string }> & { id: string; emails: { id: string }[] };
  };
  const domain = (await call("DomainService/AddDomain", { domain: "mail.contoso.test" })).domain!.id;
  for (const destination of ["slow.example", "full.example"])
    await call("QueueService/PauseDestination", { destination });
  for (let n = 0; n < 9; n++)
    await call("EmailService/SendEmail", {
      from: senders[0],
      to: [`${names[n]}@${n % 3 === 0 ? "full" : "slow"}.example`],
      subject: subjects[0],
      body: "Hello",
      async: true,
    });
  let bounced = "";
  for (let n = 0; n < emails; n++) {
    const kind = [...special].find(([every]) => n % every === every - 1)?.[1];
    const sent = await call("EmailService/SendEmail", {
      from: senders[n % senders.length],
      to: [`${kind ?? names[n % names.length]! + n}@${kind ? "simulator.test" : sites[(n * 7) % sites.length]}`],
      subject: subjects[(n * 3) % subjects.length],
      body: "Dear customer,\n\nyour order is on its way.\n\nNorthwind",
      metadata: { order: String(4_000 + n) },
      async: true,
    });
    if (kind === "bounced") bounced = sent.id;
  }
  await until("the mail to be delivered and counted", async () => {
    const { body } = await program.call("StatsService/GetStats", {});
    const totals = body.totals as { accepted?: number; delivered?: number };
    return totals.accepted! >= emails && totals.delivered! > emails * 0.9;
  });
  return { bounced, domain };
}

/** As WebP, which playwright cannot write, in three quarters of the size. */
async function photograph(page: Page, file: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const clip = { x: 0, y: 0, width: 1440, height: 900, scale: 0.75 };
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 75, clip });
  writeFileSync(file, Buffer.from(data, "base64"));
  console.log(file);
}

/** Mail of the last 30 days, as the count loop would have stored it: the chart of one minute's mail is a single bar. */
async function addHistory(sql: Sql): Promise<void> {
  await sql`
    insert into stats (workspace_id, hour, site, emails, accepted, delivered, sent, bounced, delayed, complained, suppressed, failed, canceled, times)
    select w.id, date_trunc('hour', now()) - n * interval '1 hour', s.site, mail, mail, mail - mail / 80, 0, mail / 80, mail / 40, mail / 1200, 0, 0, 0,
      array[0, 0, mail / 2, mail / 3, mail / 9, mail / 60]
    from (select id from workspaces order by created_at limit 1) w, generate_series(1, 720) n,
      unnest('{"", google.com, outlook.com, icloud.com}'::text[], '{8, 5, 2, 1}'::int[]) as s(site, share),
      lateral (select (share * (60 + 40 * sin(n / 3.8) + n * 37 % 23))::int as mail) m`;
}

function readCheckout(directory: string) {
  const config = readFileSync(join(directory, "src/app/config.ts"), "utf8");
  const settings = new Set([...config.matchAll(/\bPOSTHORN_[A-Z_]+\b/g)].map(([name]) => name));
  return { bin: resolve(directory, "bin/posthorn.js"), settings };
}

const server = await startTestServer();
const admin = openDb({ url: server.url, pool: 1, log: silentLog() });
await admin.unsafe("create database pictures");
await admin.end();
const databaseUrl = withDatabase(server.url, "pictures");
const program = await startProgram({
  databaseUrl,
  env: { POSTHORN_DELIVERY: "capture" },
  ...(options.checkout && { checkout: readCheckout(options.checkout) }),
});
const sql = openDb({ url: databaseUrl, pool: 1, log: silentLog() });
const browser = await openBrowser();
try {
  const { bounced, domain } = await fill(program);
  await addHistory(sql);
  mkdirSync(options.to, { recursive: true });
  for (const [name, path] of [
    ["sign-in", "/"],
    ["overview", "/?range=7d"],
    ["emails", "/emails"],
    ["email", `/emails/${bounced}`],
    ["domain", `/domains/${domain}`],
    ["queue", "/queue"],
  ] as const) {
    const tab = await openTab(browser, program.url, { width: 1440, ...(name !== "sign-in" && { key: program.key }) });
    await tab.page.goto(path);
    await tab.page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => {});
    const guide = tab.page.getByRole("button", { name: "Dismiss guide" });
    if (await guide.isVisible()) await guide.click();
    await photograph(tab.page, join(options.to, `${name}.webp`));
    await tab.close();
  }
} finally {
  await browser.close();
  await sql.end();
  await program.remove();
  await server.stop();
}
