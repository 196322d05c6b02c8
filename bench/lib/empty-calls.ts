/** How many calls with a request of 3 kB and an empty handler a server answers: the limits that accepting is held against. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { runLoad } from "./load.ts";
import { callHeaders, sendBody } from "./stage.ts";

const program = fileURLToPath(new URL("./http-servers.ts", import.meta.url));

/** Before anything is measured, here and where emails are accepted: V8 makes the code of a call fast by and by, and is done with that after
 * about this many. A service that runs has them behind it. */
export const warmUpCalls = 12_000;

export async function emptyCalls(which: "plain" | "connect" | "ours", databaseUrl = ""): Promise<number> {
  const child = fork(program, [which], { env: { ...process.env, BENCH_DATABASE_URL: databaseUrl } });
  const port = await new Promise<number>((resolve) => child.once("message", (value) => resolve(Number(value))));
  const body = sendBody("somebody@there.test");
  const load = {
    ...{ url: `http://127.0.0.1:${port}`, path: "/v1.EmailService/SendEmail", headers: callHeaders },
    ...{ body: () => body, connections: 64 },
  };
  await runLoad({ ...load, count: warmUpCalls });
  const { perSecond, failures } = await runLoad({ ...load, count: 8000 });
  child.disconnect();
  if (failures.length > 0) throw new Error(`${which}: ${failures[0]}`);
  return perSecond;
}
