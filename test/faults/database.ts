/** PostgreSQL stopped hard under load, and a disk without room. */

import { startTestServer } from "../harness/database.ts";
import { type Findings, type Say, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { fillDisk, withoutMount } from "./disk-full.ts";
import type { Fault } from "./fault.ts";

export const databases: Fault[] = [
  {
    name: "PostgreSQL killed with SIGKILL under load",
    promise: "callers hear `unavailable`, nothing hangs, it goes on by itself",
    times: 5,
    inject: (times, say) => endServer("SIGKILL", times, say),
  },
  {
    name: "PostgreSQL stopped at once (SIGQUIT) under load",
    promise: "the same",
    times: 5,
    inject: (times, say) => endServer("SIGQUIT", times, say),
  },
  {
    name: "the disk of the database is full",
    promise: "`unavailable` and 45x, never a false acknowledgement; it goes on by itself when there is room",
    times: 3,
    cannot: () => withoutMount || undefined,
    inject: fillDisk,
  },
];

async function endServer(signal: NodeJS.Signals, times: number, say: Say): Promise<Findings> {
  const server = await startTestServer();
  try {
    return await underLoad({ world: { server } }, async ({ strike }) => {
      for (let i = 1; i <= times; i++) {
        const pid = await until("the server to run", () => server.pid());
        await strike(async () => {
          process.kill(pid, signal);
          await until("its end", () => server.pid() !== pid);
        });
        say(`${i} of ${times}`);
      }
    });
  } finally {
    await server.stop();
  }
}
