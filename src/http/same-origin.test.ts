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
  [
    "a page behind a proxy that ends TLS and keeps the host name",
    { origin: "https://mail.a.test", host: "mail.a.test" },
    undefined,
    true,
  ],
  [
    "Sec-Fetch-Site: same-origin, whatever Origin is",
    { site: "same-origin", origin: "https://x.test", host: "y.test" },
    undefined,
    true,
  ],
  ["a request without the headers", { host: "a.test" }, undefined, false],
  ["another site", { origin: "https://evil.test", host: "a.test" }, undefined, false],
  ["another port", { origin: "http://a.test:1", host: "a.test:2" }, undefined, false],
  ["the public name over http", { origin: "http://mail.a.test", host: "10.0.0.1" }, "https://mail.a.test", false],
  ["a name that only starts with ours", { origin: "http://a.test.evil.test", host: "a.test" }, undefined, false],
  ["a frame without an origin", { origin: "null", host: "null" }, undefined, false],
  [
    "the same site, but not the same origin",
    { site: "same-site", origin: "http://a.test", host: "a.test" },
    undefined,
    false,
  ],
  [
    "another site by Sec-Fetch-Site, with our Origin",
    { site: "cross-site", origin: "http://a.test", host: "a.test" },
    undefined,
    false,
  ],
  ["a navigation", { site: "none", host: "a.test" }, undefined, false],
];

for (const [what, { origin, site, host }, publicUrl, same] of cases)
  it(`${what} is ${same ? "accepted" : "rejected"}`, () =>
    assert.equal(isSameOrigin({ origin, site, host }, publicUrl), same));
