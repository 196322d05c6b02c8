import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { StatsCountsSchema } from "../../../src/gen/v1/stats_pb.ts";
import { deliveredIn, isEmpty, series } from "./counts.ts";

test("mail that a relay accepted counts as delivered, and a complaint alone is not nothing", () => {
  const counts = create(StatsCountsSchema, { delivered: 3, sent: 4, bounced: 2, complained: 1 });
  assert.equal(deliveredIn(counts), 7);
  assert.deepEqual(
    series.map(({ read }) => read(counts)),
    [7, 0, 2, 1],
  );
  assert.ok(!isEmpty(create(StatsCountsSchema, { complained: 1 })));
  assert.ok(isEmpty(create(StatsCountsSchema, {})) && isEmpty(undefined));
});
