import assert from "node:assert/strict";
import { test } from "node:test";
import { dmarcParents, queriesOf } from "./check-plan.ts";
import { expectedRecords, nameInZone, recordKeys } from "./records.ts";

const expected = expectedRecords({ domain: "news.shop.example", token: "tok", zone: "mail.test" });

test("a domain has seven expected records, each once", () => {
  assert.deepEqual(
    expected.map((one) => one.key),
    recordKeys,
  );
  assert.deepEqual(
    expected.map((one) => [one.type, one.nameShort, one.name, one.value, one.priority, one.need]),
    [
      ["CNAME", "ph1._domainkey", "ph1._domainkey.news.shop.example", "tok-1.dkim.mail.test", undefined, "required"],
      ["CNAME", "ph2._domainkey", "ph2._domainkey.news.shop.example", "tok-2.dkim.mail.test", undefined, "required"],
      ["TXT", "@", "news.shop.example", "v=spf1 include:spf.mail.test ~all", undefined, "recommended"],
      [
        ...["TXT", "_dmarc", "_dmarc.news.shop.example", "v=DMARC1; p=none; rua=mailto:tok@reports.mail.test"],
        ...[undefined, "required"],
      ],
      ["MX", "@", "news.shop.example", "inbound.mail.test", 10, "optional"],
      ["MX", "bounce", "bounce.news.shop.example", "feedback.mail.test", 10, "required"],
      ["TXT", "bounce", "bounce.news.shop.example", "v=spf1 include:spf.mail.test ~all", undefined, "required"],
    ],
  );
});

test("a domain that receives mail has a record for TLS reports, with a public https address in it", () => {
  const receiving = { domain: "shop.example", token: "tok", zone: "mail.test", canReceive: true };
  const recordOf = (publicUrl?: string) => expectedRecords({ ...receiving, publicUrl }).at(-1)!;
  assert.deepEqual(
    [recordOf().name, recordOf().value, recordOf().need],
    ["_smtp._tls.shop.example", "v=TLSRPTv1; rua=mailto:tok@reports.mail.test", "optional"],
  );
  assert.equal(recordOf("http://mail.test").value, recordOf().value);
  assert.equal(
    recordOf("https://mail.test").value,
    "v=TLSRPTv1; rua=mailto:tok@reports.mail.test,https://mail.test/tls-reports/tok",
  );
});

test("the MAIL FROM records use the chosen label", () => {
  const other = expectedRecords({ domain: "shop.example", token: "tok", zone: "mail.test", mailFromLabel: "returns" });
  assert.deepEqual(
    other.filter((one) => one.purpose.startsWith("MAIL_FROM")).map((one) => one.name),
    ["returns.shop.example", "returns.shop.example"],
  );
});

test("the name in the zone is relative to the provider's zone, and @ only for the zone itself", () => {
  const names = (domain: string, dnsZone?: string) =>
    expectedRecords({ domain, token: "tok", zone: "mail.test", dnsZone }).map(nameInZone);
  const ofNews = [
    ...["ph1._domainkey.news", "ph2._domainkey.news", "news", "_dmarc.news"],
    ...["news", "bounce.news", "bounce.news"],
  ];
  assert.deepEqual(names("news.shop.example", "shop.example"), ofNews);
  assert.deepEqual(names("news.shop.example"), ofNews, "while the zone is unknown");
  const atApex = ["ph1._domainkey", "ph2._domainkey", "@", "_dmarc", "@", "bounce", "bounce"];
  assert.deepEqual(names("shop.example", "shop.example"), atApex);
  assert.deepEqual(names("news.shop.example", "news.shop.example"), atApex, "a zone of its own");
});

test("the records of a domain need these DNS queries, each once", () => {
  const own = expected.flatMap(queriesOf).map(({ name, type }) => `${name} ${type}`);
  const queries = [...own, ...dmarcParents("news.shop.example").map((parent) => `_dmarc.${parent} TXT`)];
  assert.equal(new Set(queries).size, queries.length);
  assert.deepEqual(queries.toSorted(), [
    "_dmarc.example TXT",
    "_dmarc.news.shop.example TXT",
    "_dmarc.shop.example TXT",
    "bounce.news.shop.example MX",
    "bounce.news.shop.example TXT",
    "news.shop.example MX",
    "news.shop.example TXT",
    "ph1._domainkey.news.shop.example CNAME",
    "ph1._domainkey.news.shop.example TXT",
    "ph2._domainkey.news.shop.example CNAME",
    "ph2._domainkey.news.shop.example TXT",
  ]);
});
