/** How many calls with a request of 3 kB and an empty handler a server answers: the limits that accepting is held against. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { runLoad } from "./load.ts";
import { callHeaders, sendBody } from "./stage.ts";

const program = fileURLToPath(new URL("./http-servers.ts", import.meta.url));

export async function emptyCalls(which: "plain" | "connect" | "ours", databaseUrl = ""): Promise<number> {
  const child = fork(program, [which], { env: { ...process.env, BENCH_DATABASE_URL: databaseUrl } });
  const port = await new Promise<number>((resolve) => child.once("message", (value) => resolve(Number(value))));
  const body = sendBody("somebody@there.test");
  const load = {
    ...{ url: `http://127.0.0.1:${port}`, path: "/v1.EmailService/SendEmail", headers: callHeaders },
    ...{ body: () => body, connections: 64 },
  };
  await runLoad({ ...load, count: 3000 });
  const { perSecond, failures } = await runLoad({ ...load, count: 8000 });
  child.disconnect();
  if (failures.length > 0) throw new Error(`${which}: ${failures[0]}`);
  return perSecond;
}
