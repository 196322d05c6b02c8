import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DmarcSummary,
  type Report,
  reportColumns,
  showDmarc,
  showTls,
  sourceColumns,
  type TlsSummary,
} from "./reports-show.ts";

const none = {
  messages: 0,
  aligned: 0,
  dkimAligned: 0,
  spfAligned: 0,
  delivered: 0,
  quarantined: 0,
  rejected: 0,
};
const some = {
  ...none,
  messages: 3000,
  aligned: 2999,
  dkimAligned: 2998,
  spfAligned: 10,
  delivered: 2999,
  rejected: 1,
};

const summary: DmarcSummary = {
  total: some,
  days: [
    { start: "2026-11-01T00:00:00Z", counts: none },
    { start: "2026-11-02T00:00:00Z", counts: some },
  ],
  progress: {
    policy: "none",
    policyName: "_dmarc.example.test",
    message: "3,000 messages: publish p=quarantine.",
    recordName: "_dmarc.example.test",
    recordValue: "v=DMARC1; p=quarantine",
  },
  reporters: 1,
  sources: 2,
  lastReportAt: "2026-11-03T04:05:06.789Z",
  reportAddress: "t@reports.posthorn.test",
};

test("the summary has the days with reports, the total, the policy and the record of the next step", () => {
  const lines = showDmarc("example.test", summary).replace(/ +/g, " ").split("\n");
  assert.deepEqual(lines, [
    "example.test: 1 reporter, 2 sources, last report 2026-11-03T04:05:06Z. Days without reports are left out.",
    "",
    "DAY MESSAGES ALIGNED % DKIM SPF DELIVERED QUARANTINED REJECTED",
    "2026-11-02 3000 2999 99.9 2998 10 2999 0 1",
    "total 3000 2999 99.9 2998 10 2999 0 1",
    "",
    "Policy: p=none at _dmarc.example.test",
    "Next step: 3,000 messages: publish p=quarantine.",
    " TXT _dmarc.example.test v=DMARC1; p=quarantine",
    "",
  ]);
});

test("before the first report, the summary says where reports arrive", () => {
  const { lastReportAt: _, ...rest } = summary;
  const progress = { ...summary.progress, policy: "", policyName: "", recordName: "" };
  const text = showDmarc("example.test", { ...rest, progress });
  assert.match(text, /^No reports have arrived yet\. .* to t@reports\.posthorn\.test, when/);
  assert.match(text, /^Policy: none was found in DNS\.\nNext step: /m);
  assert.doesNotMatch(text, /TXT|MESSAGES/);
});

test("a source that fails is marked, and the service's own address has its name", () => {
  const source = {
    ip: "192.0.2.1",
    host: "a.test",
    own: false,
    counts: some,
    dkimDomains: ["a.test", "b.test"],
    spfDomains: [],
    firstSeenAt: "2026-11-02T00:00:00Z",
    lastSeenAt: "2026-11-02T00:00:00Z",
  };
  const cells = (row: typeof source) => sourceColumns.map(({ of }) => of(row));
  assert.deepEqual(cells(source).slice(0, 4), ["192.0.2.1", "a.test", "3000", { text: "99.9", tone: "red" }]);
  assert.deepEqual(cells(source).slice(6), ["2026-11-02", "2026-11-02", "a.test,b.test", ""]);
  assert.deepEqual(cells({ ...source, own: true })[1], { text: "this service", tone: "green" });
  assert.equal(cells({ ...source, ip: "" })[0], "(other)");
});

test("a report that is not authenticated is marked", () => {
  const report: Report = {
    kind: "REPORT_KIND_TLS",
    organization: "Example",
    authenticatedDomain: "",
    via: "https",
    beginAt: "2026-11-02T00:00:00Z",
    receivedAt: "2026-11-03T04:05:06.789Z",
    total: 5,
    failed: 0,
  };
  const cells = reportColumns.map(({ of }) => of(report));
  assert.deepEqual(cells, [
    "2026-11-03T04:05:06Z",
    "tls",
    "2026-11-02",
    "5",
    "0",
    { text: "no (https)", tone: "yellow" },
    "Example",
  ]);
});

test("TLS failures have their explanation, and text of strangers cannot control the terminal", () => {
  const tls: TlsSummary = {
    total: { succeeded: 9, failed: 1 },
    unauthenticated: { succeeded: 0, failed: 0 },
    days: [
      {
        start: "2026-11-02T00:00:00Z",
        counts: { succeeded: 9, failed: 1 },
        unauthenticated: { succeeded: 0, failed: 0 },
      },
    ],
    failures: [
      {
        resultType: "certificate-expired",
        explanation: "Renew the certificate.",
        organization: "Evil\u001b[2J",
        sendingIp: "192.0.2.1",
        receivingMx: "",
        sessions: 1,
        authenticated: true,
        lastSeenAt: "2026-11-02T00:00:00Z",
      },
    ],
    lastReportAt: "2026-11-03T04:05:06.789Z",
    recordName: "_smtp._tls.example.test",
    recordValue: "v=TLSRPTv1; rua=mailto:t@reports.posthorn.test",
  };
  const text = showTls("example.test", tls);
  assert.match(text, /^total +9 +1 +0 +0$/m);
  assert.match(
    text,
    /^certificate-expired: 1 session from 192\.0\.2\.1, reported by Evil\\u001b\[2J, last on 2026-11-02\n {2}Renew/m,
  );
  assert.doesNotMatch(text, /unauthenticated report/);
  const forgeable = showTls("example.test", { ...tls, unauthenticated: { succeeded: 1, failed: 0 } });
  assert.match(forgeable, /^Anyone can write an unauthenticated report\.$/m);
  const { lastReportAt: _, ...rest } = tls;
  assert.match(showTls("example.test", rest as TlsSummary), /^ {2}TXT {2}_smtp\._tls\.example\.test {2}v=TLSRPTv1/m);
});
