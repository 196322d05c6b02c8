import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createLeaseLoop } from "./lease-loop.ts";
import { ConnectionLost } from "./lost-connection.ts";

/** A loop whose worker ids are counted. `turn` runs once for each ring. */
function startLoop(turn: () => Promise<boolean> = async () => false) {
  const renewed: number[] = [];
  const retired: number[] = [];
  let id = 1;
  let changeServer = () => {};
  let duringRenewal = () => {};
  const loop = createLeaseLoop({
    log: silentLog(),
    name: "test",
    worker: {
      workerId: () => id,
      async renew(done) {
        duringRenewal();
        renewed.push(id++);
        await done;
      },
    },
    health: {
      onServerChange(listener) {
        changeServer = listener;
      },
    },
    turn,
    waitMs: () => 60_000,
    onFailure() {},
    onRetired: async (workerId) => void retired.push(workerId),
  });
  loop.start();
  return {
    loop,
    renewed,
    retired,
    changeServer: () => changeServer(),
    onRenewal(work: () => void) {
      duringRenewal = () => {
        duringRenewal = () => {};
        work();
      };
    },
  };
}

test("on another server the loop continues under a new worker id, so that leases of lost results become free", async (t) => {
  const { loop, renewed, retired, changeServer } = startLoop();
  t.after(() => loop.stop(0));
  changeServer();
  await until("a new worker id", () => retired.length === 1);
  assert.deepEqual([renewed, retired], [[1], [1]]);
});

test("a server that changes during the renewal causes another one", async (t) => {
  const { loop, renewed, changeServer, onRenewal } = startLoop();
  t.after(() => loop.stop(0));
  onRenewal(changeServer);
  changeServer();
  await until("two new worker ids", () => renewed.length === 2);
});

test("after an outage the loop renews its worker id, because the database may have been restored", async (t) => {
  let turns = 0;
  const { loop, renewed } = startLoop(async () => {
    if (turns++ === 0) throw new ConnectionLost(new Error("Connection terminated"));
    return false;
  });
  t.after(() => loop.stop(0));
  await until("a new worker id", () => renewed.length === 1);
});
