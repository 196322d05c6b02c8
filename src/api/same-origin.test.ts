import assert from "node:assert/strict";
import { it } from "node:test";
import { isSameOrigin } from "./same-origin.ts";

const cases: [
  what: string,
  headers: Partial<Record<"origin" | "site" | "host", string>>,
  publicUrl: string | undefined,
  same: boolean,
][] = [
  ["a page of ours", { origin: "http://a.test:8825", host: "a.test:8825" }, undefined, true],
  [
    "a page of ours under the public name",
    { origin: "https://mail.a.test", host: "10.0.0.1:8825" },
    "https://mail.a.test/",
    true,
  ],
  ["a proxy that ends TLS and keeps the name", { origin: "https://mail.a.test", host: "mail.a.test" }, undefined, true],
  ["the browser's own word", { site: "same-origin", origin: "https://x.test", host: "y.test" }, undefined, true],
  ["nothing said", { host: "a.test" }, undefined, false],
  ["another site", { origin: "https://evil.test", host: "a.test" }, undefined, false],
  ["another port", { origin: "http://a.test:1", host: "a.test:2" }, undefined, false],
  ["the public name over http", { origin: "http://mail.a.test", host: "10.0.0.1" }, "https://mail.a.test", false],
  ["a name that only begins like ours", { origin: "http://a.test.evil.test", host: "a.test" }, undefined, false],
  ["a frame without an origin", { origin: "null", host: "null" }, undefined, false],
  ["the same site", { site: "same-site", origin: "http://a.test", host: "a.test" }, undefined, false],
  ["another site, said twice", { site: "cross-site", origin: "http://a.test", host: "a.test" }, undefined, false],
  ["a navigation", { site: "none", host: "a.test" }, undefined, false],
];

for (const [what, { origin, site, host }, publicUrl, same] of cases)
  it(`${what}: ${same}`, () => assert.equal(isSameOrigin({ origin, site, host }, publicUrl), same));
