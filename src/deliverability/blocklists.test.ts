import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lookup, LookupFunction } from "../dns/record.ts";
import { askAddressLists, askDomainLists, interpretListing, reversed } from "./blocklists.ts";

const found = (...addresses: string[]): Lookup<"A"> => ({
  kind: "found",
  records: addresses.map((address) => ({ type: "A", name: "x", ttl: 1, address })),
  chain: [],
  ttlSeconds: 1,
});

test("only an address that means a listing is one", () => {
  const answers: [Lookup<"A">, string][] = [
    [found("127.0.0.2"), "listed"],
    [found("127.0.0.10"), "listed"],
    [found("127.0.1.2"), "listed"],
    [found("127.255.255.254", "127.0.0.4"), "listed"],
    [found("127.255.255.252"), "refused"],
    [found("127.255.255.254"), "refused"],
    [found("127.255.255.255"), "refused"],
    [found("127.255.255.1"), "refused"],
    [found("127.0.0.1"), "refused"],
    [found("127.0.1.255"), "refused"],
    [found("203.0.113.9"), "refused"],
    [{ kind: "servfail", reason: "refused" }, "refused"],
    [{ kind: "servfail", reason: "servfail" }, "unanswered"],
    [{ kind: "timeout" }, "unanswered"],
    [{ kind: "nxdomain", chain: [], ttlSeconds: 1 }, "not_listed"],
    [{ kind: "nodata", chain: [], ttlSeconds: 1 }, "not_listed"],
  ];
  for (const [answer, expected] of answers) {
    const { answer: read, detail } = interpretListing(answer);
    assert.equal(read, expected, JSON.stringify(answer));
    assert.equal(detail === "", read === "not_listed");
  }
});

test("addresses are reversed, and private ones are not asked", async () => {
  assert.equal(reversed("203.0.113.5"), "5.113.0.203");
  assert.equal(reversed("::ffff:1.2.3.4"), "4.3.2.1");
  assert.equal(reversed("2001:db8::1"), "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2");
  const asked: string[] = [];
  const lookup = (async (name: string) => {
    asked.push(name);
    return found("127.0.0.2");
  }) as unknown as LookupFunction;
  const addresses = ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.1", "fd00::1", "::1", "1.2.3.4"];
  const listings = await askAddressLists(["zen.test", "bl.test"], addresses, lookup);
  assert.deepEqual(asked, ["4.3.2.1.zen.test", "4.3.2.1.bl.test"]);
  assert.deepEqual(
    listings.map(({ subject, answer }) => [subject, answer]),
    [
      ["1.2.3.4", "listed"],
      ["1.2.3.4", "listed"],
    ],
  );
  await askDomainLists(["dbl.test"], ["shop.test"], lookup);
  assert.equal(asked.at(-1), "shop.test.dbl.test");
});

test("a domain that is too long to ask for is not called unlisted", async () => {
  const lookup = (async () => ({ kind: "nxdomain", chain: [], ttlSeconds: 0 })) as unknown as LookupFunction;
  const long = `${"a.".repeat(120)}test`;
  const answers = (await askDomainLists(["dbl.lists.test"], [long, "b.test"], lookup)).map(({ answer }) => answer);
  assert.deepEqual(answers, ["unanswered", "not_listed"]);
});
