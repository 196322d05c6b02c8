import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostReport } from "../../../postgres/host-watch.ts";
import { replicationFinding } from "./replication.ts";

const server = (host: number, standby: boolean, timeline = 2, system = "1"): HostReport => ({
  host,
  address: { host: `db${host}`, port: 5432 },
  view: { standby, readOnly: standby, system, timeline },
});
const away: HostReport = {
  host: 3,
  address: { host: "db3", port: 5432 },
  error: new Error("no answer within 2000 ms"),
};
const synchronous = { synchronous: "ANY 1 (*)", standbys: 1 };

test("a primary with a synchronous standby is fine", () => {
  const found = replicationFinding([server(1, false), server(2, true)], synchronous);
  assert.equal(found.result, "ok");
  assert.equal(
    found.found,
    "db1:5432 primary on timeline 2, db2:5432 standby on timeline 2; commits wait for a standby (ANY 1 (*)), 1 standbys connected",
  );
});

test("every other state is a warning or a failure with its fix", () => {
  const asynchronous = { synchronous: undefined, standbys: 1 };
  const cases: [HostReport[], typeof asynchronous | typeof synchronous, string, RegExp][] = [
    [[server(1, false), server(2, true)], asynchronous, "warn", /synchronous_standby_names/],
    [[server(1, false), server(2, true)], { ...synchronous, standbys: 0 }, "warn", /primary_conninfo/],
    [[server(1, false), server(2, true), away], synchronous, "warn", /Start these servers/],
    [[server(1, false, 2), server(2, false, 3)], synchronous, "fail", /Stop the old primary/],
    [[server(1, false), server(2, true, 2, "9")], synchronous, "fail", /other cluster/],
  ];
  for (const [reports, replication, result, fix] of cases) {
    const found = replicationFinding(reports, replication);
    assert.equal(found.result, result);
    assert.match(found.fix!, fix);
  }
});
