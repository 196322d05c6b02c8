/** Database faults: PostgreSQL killed or stopped under load, and a full disk. */

import { startTestServer } from "../harness/database.ts";
import { submitAgain } from "../harness/submission.ts";
import type { Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, type UnderLoad, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { fillDisk, withoutMount } from "./disk-full.ts";
import type { Fault } from "./fault.ts";

export const databases: Fault[] = [
  {
    name: "PostgreSQL killed with SIGKILL under load",
    promise: "callers get `unavailable`, nothing hangs, the service recovers by itself",
    times: 5,
    inject: (times, progress) => endServer("SIGKILL", times, progress),
  },
  {
    name: "PostgreSQL killed with SIGKILL under load, mail submitted over SMTP",
    promise: "clients get 451, nothing hangs, the service recovers by itself",
    times: 5,
    inject: (times, progress) => endServer("SIGKILL", times, progress, submitAgain),
  },
  {
    name: "PostgreSQL stopped at once (SIGQUIT) under load",
    promise: "the same",
    times: 5,
    inject: (times, progress) => endServer("SIGQUIT", times, progress),
  },
  {
    name: "the disk of the database is full",
    promise: "`unavailable` and 45x, never a false acknowledgement; the service recovers by itself when space is free",
    times: 3,
    cannot: () => withoutMount || undefined,
    inject: fillDisk,
  },
];

async function endServer(
  signal: NodeJS.Signals,
  times: number,
  progress: Progress,
  send?: UnderLoad<Testbed>["send"],
): Promise<Findings> {
  const server = await startTestServer();
  try {
    return await underLoad({ testbed: { server }, send }, async ({ injectFault }) => {
      for (let i = 1; i <= times; i++) {
        const pid = await until("the server to run", () => server.pid());
        await injectFault(async () => {
          process.kill(pid, signal);
          await until("the server to end", () => server.pid() !== pid);
        });
        progress(`${i} of ${times}`);
      }
    });
  } finally {
    await server.stop();
  }
}
