import assert from "node:assert/strict";
import { test } from "node:test";
import { dashboardRoutes, readPages } from "./build.ts";
import { allHelp, helpFor } from "./help.ts";

test("every help entry leads to an existing section of the documentation", () => {
  const pages = new Map(readPages().map(({ address, headings }) => [address, headings]));
  const broken = allHelp.filter((target) => {
    const [address, anchor] = target.split("#");
    const headings = pages.get(address!);
    return !headings || (anchor !== undefined && !headings.some((heading) => heading.anchor === anchor));
  });
  assert.deepEqual(broken, []);
});

test("every page of the dashboard except the overview has help of its own", () => {
  const start = helpFor("/").address;
  assert.deepEqual(
    dashboardRoutes().filter((path) => path !== "/" && helpFor(path).address === start),
    [],
  );
  assert.equal(helpFor("/domains/dom_1").address, "/docs/domains");
  assert.equal(helpFor("/domains/dom_1/reports").address, "/docs/reports");
});
