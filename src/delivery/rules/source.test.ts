import assert from "node:assert/strict";
import { test } from "node:test";
import { readSources, sourceFor } from "./source.ts";

const sources = [
  { address: "192.0.2.1", heloName: undefined, weight: 1 },
  { address: "192.0.2.2", heloName: undefined, weight: 3 },
  { address: "2001:db8::1", heloName: undefined, weight: 1 },
];
const sites = Array.from({ length: 4000 }, (_, i) => `site${i}.test`);

test("a site always gets the same address, and addresses get sites in proportion to their weight", () => {
  const chosen = sites.map((site) => sourceFor(sources, site, 4)!.address);
  assert.deepEqual(
    sites.map((site) => sourceFor(sources, site, 4)!.address),
    chosen,
  );
  const second = chosen.filter((address) => address === "192.0.2.2").length / sites.length;
  assert.ok(second > 0.7 && second < 0.8, `${second} of the sites use an address with 3/4 of the weight`);
});

test("removing an address moves only the sites that used it", () => {
  const more = [...sources, { address: "192.0.2.3", heloName: undefined, weight: 2 }];
  for (const site of sites) {
    const before = sourceFor(more, site, 4)!.address;
    if (before !== "192.0.2.3") assert.equal(sourceFor(sources, site, 4)!.address, before);
  }
});

test("each IP family has its own source; without one the result is undefined", () => {
  assert.equal(sourceFor(sources, "a.test", 6)!.address, "2001:db8::1");
  assert.equal(sourceFor(sources.slice(0, 2), "a.test", 6), undefined);
});

test("a list of sources is parsed with names and weights, and invalid entries are rejected", () => {
  assert.deepEqual(readSources("192.0.2.1=MX1.example.com*3, 2001:db8::5"), {
    ok: true,
    sources: [
      { address: "192.0.2.1", heloName: "mx1.example.com", weight: 3 },
      { address: "2001:db8::5", heloName: undefined, weight: 1 },
    ],
  });
  for (const wrong of ["mail.example.com", "192.0.2.1*0", "192.0.2.300"]) assert.equal(readSources(wrong).ok, false);
});
