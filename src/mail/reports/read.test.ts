import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { readReport } from "./read.ts";

const xml = readFileSync("test/corpus/reports/dmarc-rfc9990.xml");
const tls = readFileSync("test/corpus/reports/tls.json");

test("finds the report in any kind of message", async () => {
  for (const [type, content] of [
    ["application/gzip", gzipSync(xml)],
    ["application/octet-stream", gzipSync(xml)],
    ["application/zip", gzipSync(xml)],
    ["text/xml", xml],
    ["application/tlsrpt+gzip", gzipSync(tls)],
    ["application/json", tls],
  ] as const) {
    const attached = await readReport(mail(attachedAs(type, content)), "message");
    assert.ok("report" in attached, `${type}: ${JSON.stringify(attached)}`);
    const whole = await readReport(mail(partOf(type, content)), "message");
    assert.ok("report" in whole, `${type} as the whole body`);
  }
});

test("reads a report in plain text, and one that is not in a message", async () => {
  assert.ok("report" in (await readReport(mail(`Content-Type: text/plain\r\n\r\n${crlf(String(xml))}`), "message")));
  assert.ok("report" in (await readReport(gzipSync(tls), "report")));
});

test("an attached page is not taken for a report", async () => {
  const page = partOf("text/html; name=about.html", Buffer.from("<!DOCTYPE html><html><body>Report</body></html>"));
  const attachment = page.replace("\r\n", "\r\nContent-Disposition: attachment; filename=about.html\r\n");
  const message = attachedAs("application/gzip", gzipSync(xml)).replace(
    "--b\r\nContent-Type: app",
    `--b\r\n${attachment}--b\r\nContent-Type: app`,
  );
  assert.ok("report" in (await readReport(mail(message), "message")));
});

test("says why a message has no report", async () => {
  assert.deepEqual(await readReport(mail("Content-Type: text/plain\r\n\r\nHello\r\n"), "message"), {
    problem: "the message has no DMARC or TLS report",
    reason: "invalid",
  });
  const broken = await readReport(mail(partOf("application/gzip", gzipSync(xml).subarray(0, 50))), "message");
  assert.deepEqual(broken, { problem: "the gzip data is damaged", reason: "unreadable" });
});

function mail(rest: string): Buffer {
  return Buffer.from(`From: reports@receiver.example\r\nSubject: Report\r\nMIME-Version: 1.0\r\n${rest}`);
}

function partOf(type: string, content: Buffer): string {
  return `Content-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n${content.toString("base64").replace(/.{76}/g, "$&\r\n")}\r\n`;
}

function attachedAs(type: string, content: Buffer): string {
  return `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nThis is a report.\r\n--b\r\n${partOf(type, content)}--b--\r\n`;
}

function crlf(text: string): string {
  return text.replaceAll("\n", "\r\n");
}

test("reads the mail that OpenDMARC writes, with a zip archive", async () => {
  const result = await readReport(readFileSync("test/corpus/reports/opendmarc.eml"), "message");
  assert.ok("report" in result && result.report.kind === "dmarc", JSON.stringify(result));
  const { organization, domain, rows, beginMs, endMs } = result.report;
  assert.deepEqual([organization, domain, endMs - beginMs], ["reporter.test", "sender.test", 86_400_000]);
  assert.deepEqual(
    rows.map(({ ip, counts, overrides, spfDomains }) => [ip, counts.messages, counts.aligned, overrides, spfDomains]),
    [
      ["192.0.2.10", 1, 1, ["local_policy"], ["sender.test"]],
      ["2001:db8::66", 1, 0, ["local_policy"], ["spam.test"]],
    ],
  );
});

test("reads the mail that rspamd writes", async () => {
  const result = await readReport(readFileSync("test/corpus/reports/rspamd.eml"), "message");
  assert.ok("report" in result && result.report.kind === "dmarc", JSON.stringify(result));
  assert.deepEqual(
    result.report.rows.map(({ ip, counts }) => [ip, counts.messages, counts.aligned]),
    [
      ["192.0.2.10", 1, 1],
      ["192.0.2.66", 1, 0],
    ],
  );
});
