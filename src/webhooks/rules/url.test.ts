import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createWebhookGuard } from "./url.ts";

const strict = createWebhookGuard({ allowCidrs: [] });
const open = createWebhookGuard({ allowCidrs: ["10.0.0.0/8", "127.0.0.0/8", "::1/128"] });

const problemOf = (guard: typeof strict, text: string) => {
  const read = guard.read(text);
  return "problem" in read ? read.problem : undefined;
};

test("an https URL with a host name or a public address is accepted and normalized", () => {
  const cases: [string, { url: string; host: string; port: number }][] = [
    ["https://example.com", { url: "https://example.com/", host: "example.com", port: 443 }],
    [
      "HTTPS://Example.COM:8443/Hook?a=b",
      { url: "https://example.com:8443/Hook?a=b", host: "example.com", port: 8443 },
    ],
    ["https://example.com./x#part", { url: "https://example.com/x", host: "example.com", port: 443 }],
    ["https://bücher.example/", { url: "https://xn--bcher-kva.example/", host: "xn--bcher-kva.example", port: 443 }],
    ["https://8.8.8.8/x", { url: "https://8.8.8.8/x", host: "8.8.8.8", port: 443 }],
    [
      "https://[2606:4700:4700::1111]/",
      { url: "https://[2606:4700:4700::1111]/", host: "2606:4700:4700::1111", port: 443 },
    ],
  ];
  for (const [text, expected] of cases) assert.deepEqual(strict.read(text), { protocol: "https:", ...expected }, text);
});

/** Spellings of loopback, private, link-local and cloud metadata addresses. */
const internalHosts = [
  "127.0.0.1",
  "127.0.0.1.",
  "127.1",
  "0177.0.0.1",
  "0x7f.0.0.1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "１２７.0.0.1",
  "127。0。0。1",
  "0.0.0.0",
  "0",
  "10.1.2.3",
  "172.16.0.1",
  "192.168.0.1",
  "169.254.169.254",
  "2852039166",
  "100.100.100.200",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:169.254.169.254]",
  "[::127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "[fd00:ec2::254]",
];

test("every spelling of an address that is not public is rejected", () => {
  for (const host of internalHosts) {
    assert.match(problemOf(strict, `https://${host}/`) ?? "accepted", /private or reserved address/, host);
    assert.match(problemOf(strict, `https://${host}:8443/x`) ?? "accepted", /private or reserved address/, host);
  }
});

test("an invalid URL is rejected with the reason", () => {
  const cases: [string, RegExp][] = [
    ["", /is required/],
    ["example.com/hook", /is not a URL/],
    ["https://", /is not a URL/],
    ["https://[::1", /is not a URL/],
    ["https://256.1.1.1/", /is not a URL/],
    ["http://example.com/", /must start with https:\/\/, starts with http:/],
    ["ftp://example.com/", /must start with https/],
    ["file:///etc/passwd", /must start with https/],
    ["javascript:alert(1)", /must start with https/],
    ["https://user:pass@example.com/", /user name or password/],
    ["https://evil.example@127.0.0.1/", /user name or password/],
    ["https://exa\nmple.com/", /control characters/],
    [" https://example.com/", /spaces/],
    ["https://example.com/\u0000", /control characters/],
    ["https://example.com/\ud800", /control characters/],
    ["https://[fe80::1%25eth0]/", /is not a URL/],
    ["https://.example.com/", /no valid host name/],
    ["https://a..example.com/", /no valid host name/],
    ["https://-a.example.com/", /no valid host name/],
    [`https://${"a".repeat(64)}.example/`, /no valid host name/],
    ["https://example.com:25/", /port 25/],
    ["https://example.com:22/", /port 22/],
    [`https://example.com/${"x".repeat(2048)}`, /at most 2048 characters/],
    [`https://example.com/${"ü".repeat(1000)}`, /once encoded/],
  ];
  for (const [text, reason] of cases) assert.match(problemOf(strict, text) ?? "accepted", reason, text);
});

test("http is accepted only for ranges that the operator allows", () => {
  assert.equal(problemOf(open, "http://127.0.0.1:9000/"), undefined);
  assert.equal(problemOf(open, "https://10.1.2.3/"), undefined);
  assert.equal(problemOf(open, "http://[::1]:9000/"), undefined);
  assert.equal(problemOf(open, "http://[::ffff:127.0.0.1]:9000/"), undefined);
  assert.match(problemOf(open, "http://8.8.8.8/")!, /http is allowed only for ranges/);
  assert.match(problemOf(open, "https://192.168.0.1/")!, /private or reserved/);

  const named = open.read("http://hooks.example/");
  assert.ok(!("problem" in named));
  assert.equal(open.allows(named, "10.9.9.9"), true);
  assert.equal(open.allows(named, "8.8.8.8"), false, "a host name with http must resolve into an allowed range");
  assert.equal(open.allows({ ...named, protocol: "https:" }, "8.8.8.8"), true);
  assert.equal(open.allows({ ...named, protocol: "https:" }, "192.168.0.1"), false);
});

test("no accepted URL contains an address that the guard refuses", () => {
  const host = fc.oneof(
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6().map((ip) => `[${ip}]`),
    fc.webAuthority({ withUserInfo: true, withIPv4: true, withIPv6: true, withIPv4Extended: true, withPort: true }),
    fc.string(),
  );
  fc.assert(
    fc.property(host, fc.string(), (authority, rest) => {
      const read = strict.read(`https://${authority}/${rest}`);
      if ("problem" in read) return;
      const again = strict.read(read.url);
      assert.deepEqual(again, read, "normalizing twice changes nothing");
      const { hostname } = new URL(read.url);
      if (/^[\d.]+$|^\[/.test(hostname)) assert.ok(strict.allows(read, read.host), hostname);
    }),
  );
});
