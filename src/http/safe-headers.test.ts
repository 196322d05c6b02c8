import assert from "node:assert/strict";
import { test } from "node:test";
import { createProxyTrust } from "./forwarded.ts";
import { createSafeHeaders, type SafeHeadersOptions } from "./safe-headers.ts";

function fields(options: SafeHeadersOptions, proto?: string, remoteAddress = "10.0.0.1"): Map<string, string> {
  const request = { headers: { "x-forwarded-proto": proto }, socket: { remoteAddress } };
  const flat = createSafeHeaders(options)(request as never, "the-id");
  return new Map(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]));
}

const hsts = "strict-transport-security";
const proxies = createProxyTrust(["10.0.0.0/8"]);

test("every response isolates its window and has the request id", () => {
  const found = fields({});
  assert.equal(found.get("x-request-id"), "the-id");
  assert.equal(found.get("cross-origin-opener-policy"), "same-origin");
  assert.equal(found.has(hsts), false);
});

test("a header makes browsers use TLS when the public URL is https", () => {
  assert.equal(fields({ publicUrl: "https://mail.example.com" }).get(hsts), "max-age=31536000");
  assert.equal(fields({ publicUrl: "http://mail.example.com" }).has(hsts), false);
});

test("a header makes browsers use TLS when a trusted proxy says that the client did", () => {
  assert.equal(fields({ proxies }, "https").get(hsts), "max-age=31536000");
  assert.equal(fields({ proxies }, "https, http").has(hsts), true);
  assert.equal(fields({ proxies }, "http").has(hsts), false);
  assert.equal(fields({ proxies }, undefined).has(hsts), false);
  assert.equal(fields({ proxies }, "https", "192.0.2.1").has(hsts), false, "anyone can send this field");
});
