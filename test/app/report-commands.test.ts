/** posthorn reports, on the local store and at a remote instance: before the first report, and with reports of 20 days. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import {
  daysBefore,
  failingAddress,
  fewAddresses,
  ownAddress,
  reportedDays,
  storeReports,
} from "../harness/report-data.ts";

let dns: ScriptedDns;
let bed: CommandBed | undefined;
let succeed: CommandBed["succeed"];
let rowsOf: CommandBed["rowsOf"];
let fails: CommandBed["fails"];

const domain = "shop.test";

before(async () => {
  dns = await startScriptedDns();
  dns.zone("test");
  dns.zone("arpa");
  dns.set("7.100.51.198.in-addr.arpa", "PTR", "out.news.example");
  dns.set("out.news.example", "A", failingAddress);
  bed = await startCommandBed({ POSTHORN_RESOLVERS: `127.0.0.1:${dns.port}`, POSTHORN_PUBLIC_IPS: ownAddress });
  ({ succeed, rowsOf, fails } = bed);
  await succeed("remote", "domains", "add", domain);
});
after(async () => {
  await bed?.stop();
  await dns?.stop();
});

type Summary = { reportAddress: string; total: { messages: number; aligned: number }; days: object[] };
type Source = { ip: string; host: string; own: boolean };

describe("before the first report", () => {
  it("each command says how the first report comes", async () => {
    for (const where of everywhere) {
      const [summary] = await rowsOf<Summary>(where, "reports", "summary", domain);
      assert.match(summary!.reportAddress, /@reports\./);
      const text = await succeed(where, "reports", "summary", domain);
      assert.ok(text.includes(`to ${summary!.reportAddress}, when the domain's DMARC record names this address`), text);
      assert.match(text, /^Next step: /m);
      assert.match(
        await succeed(where, "reports", "sources", domain),
        /^No reported mail in this time\. See: posthorn/,
      );
      assert.match(await succeed(where, "reports", "list", domain), /^No reports have arrived yet\./);
      assert.match(
        await succeed(where, "reports", "tls", domain),
        /^No TLS reports have arrived yet\.[\s\S]*^ {2}TXT {2}_smtp\._tls\.shop\.test {2}v=TLSRPTv1; rua=mailto:/m,
      );
    }
  });
});

describe("with reports", () => {
  let today: string;
  before(async () => {
    today = await storeReports(bed!.database.sql, domain);
  });

  it("the summary has each day and the total", async () => {
    for (const where of everywhere) {
      const text = await succeed(where, "reports", "summary", domain);
      assert.equal(text.match(/^\d{4}-\d\d-\d\d +10\d\d +1004 /gm)?.length, reportedDays, text);
      assert.match(text, /^shop\.test: 2 reporters, 28 sources, last report \d{4}-/m);
      assert.match(text, /^total +20626 +20080 +97\.3 /m);
      const [week] = await rowsOf<Summary>(
        where,
        "reports",
        "summary",
        domain,
        "--from",
        daysBefore(today, 7),
        "--to",
        today,
      );
      assert.equal(week!.days.length, 7);
      assert.equal(week!.total.aligned, 7 * 1004);
    }
  });

  it("sources are listed page by page, with their hosts, and can be filtered", async () => {
    for (const where of everywhere) {
      const sources = await rowsOf<Source>(where, "reports", "sources", domain);
      assert.equal(sources.length, 4 + fewAddresses);
      assert.deepEqual([sources[0]!.ip, sources[0]!.own], [ownAddress, true]);
      assert.deepEqual([sources[1]!.ip, sources[1]!.host], [failingAddress, "out.news.example"]);
      const failing = await rowsOf<Source>(where, "reports", "sources", domain, "--failing", "--limit", "2");
      assert.deepEqual(
        failing.map(({ ip }) => ip),
        [failingAddress, "198.51.100.9"],
      );
      const text = await succeed(where, "reports", "sources", domain);
      assert.match(text, /^203\.0\.113\.10 +this service +20000 +100\.0 /m);
      assert.match(text, /^198\.51\.100\.7 +out\.news\.example +400 +0\.0 +400 .* news\.example +news\.example$/m);
      assert.match(text, /^\(other\) +1 +0\.0 /m);
    }
  });

  it("reports are listed newest first, also those of one kind, with those that are not authenticated marked", async () => {
    for (const where of everywhere) {
      assert.equal((await rowsOf(where, "reports", "list", domain)).length, 2 * (reportedDays + 1));
      const text = await succeed(where, "reports", "list", domain, "--kind", "tls");
      assert.match(text, /^\S+ +tls +\S+ +162 +12 +google\.com +Google Inc\.$/m);
      assert.match(text, / no \(https\) +<img /);
      assert.equal(text.trimEnd().split("\n").length, reportedDays + 2);
    }
  });

  it("TLS failures have their explanation", async () => {
    for (const where of everywhere) {
      const text = await succeed(where, "reports", "tls", domain);
      assert.match(text, /^total +3000 +12 +150 +40$/m);
      assert.match(text, /^Anyone can write an unauthenticated report\.$/m);
      assert.match(
        text,
        /^certificate-expired: 12 sessions from 198\.51\.100\.20 to mx\.shop\.test, reported by Google/m,
      );
      assert.match(text, /^ {2}The certificate of the mail server has expired\./m);
      assert.match(text, /^starttls-not-supported: 40 sessions, reported by <img .*\(not authenticated\)/m);
      const [tls] = await rowsOf<{ failures: object[] }>(where, "reports", "tls", domain);
      assert.equal(tls!.failures.length, 2);
    }
  });

  it("the event log has a line for a new source", async () => {
    for (const where of everywhere)
      assert.match(
        await succeed(where, "events"),
        /domain\.report +shop\.test {2}20 messages from 198\.51\.100\.7 failed DMARC$/m,
      );
  });

  it("mistakes name the option and the fix", async () => {
    await fails(2, /Give one domain/, "remote", ["reports", "summary"]);
    await fails(2, /no domain "other\.test"/, "remote", ["reports", "sources", "other.test"]);
    await fails(2, /--from must be a day or a time/, "remote", ["reports", "tls", domain, "--from", "soon"]);
    await fails(2, /--from must be before --to/, "local", [
      ...["reports", "summary", domain, "--from", "2026-11-02", "--to", "2026-11-01"],
    ]);
    await fails(1, /longer than 400 days/, "remote", ["reports", "summary", domain, "--from", "500d"]);
    await fails(2, /--kind must be one of dmarc, tls/, "remote", ["reports", "list", domain, "--kind", "spf"]);
  });
});
