import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostReport } from "../../../postgres/host-watch.ts";
import type { Replication } from "../../../postgres/pool.ts";
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
const synchronous = { names: "ANY 1 (*)", level: "on", standbys: 1 };

test("a primary with a synchronous standby is fine", () => {
  const found = replicationFinding([server(1, false), server(2, true)], synchronous);
  assert.equal(found.result, "ok");
  const applied = replicationFinding([server(1, false), server(2, true)], { ...synchronous, level: "remote_apply" });
  assert.equal(applied.result, "ok");
  assert.equal(
    found.found,
    "db1:5432 primary on timeline 2, db2:5432 standby on timeline 2; commits wait for a standby (ANY 1 (*)), 1 standbys connected",
  );
});

test("every other state is a warning or a failure with its fix", () => {
  const asynchronous = { ...synchronous, names: "" };
  type Case = [HostReport[], Replication, string, RegExp];
  const cases: Case[] = [
    [[server(1, false), server(2, true)], asynchronous, "warn", /synchronous_standby_names/],
    ...["off", "local", "remote_write"].map(
      (level): Case => [
        [server(1, false), server(2, true)],
        { ...synchronous, level },
        "warn",
        /Set synchronous_commit to on/,
      ],
    ),
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
