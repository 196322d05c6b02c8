/** Calls per second with a 3 kB request and an empty handler: the limit that accepting is compared with. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { callHeaders, sendBody } from "./environment.ts";
import { runLoad } from "./load.ts";
import { quick } from "./scale.ts";
import { measured, type Shares } from "./shares.ts";

const program = fileURLToPath(new URL("./http-servers.ts", import.meta.url));

/** Calls before the measurement, here and in send.ts: V8 has optimized the code of a call after about this many. A running service is past
 * that point. */
export const warmUpCalls = quick ? 5000 : 12_000;
const calls = quick ? 4000 : 6000;

export type EmptyCalls = { perSecond: number; shares: Shares | undefined };
export type EmptyServer = { measure(): Promise<EmptyCalls>; stop(): void };

/** Starts the server in its own process and warms it up. */
export async function startEmptyServer(which: "plain" | "connect" | "ours", databaseUrl = ""): Promise<EmptyServer> {
  const child = fork(program, [which], { env: { ...process.env, BENCH_DATABASE_URL: databaseUrl } });
  const port = await new Promise<number>((resolve) => child.once("message", (value) => resolve(Number(value))));
  const body = sendBody("user@there.test");
  const load = {
    url: `http://127.0.0.1:${port}`,
    path: "/v1.EmailService/SendEmail",
    headers: callHeaders,
    body: () => body,
    connections: 64,
  };
  await runLoad({ ...load, count: warmUpCalls });
  return {
    async measure() {
      const node = { pid: child.pid! };
      const { result, shares } = await measured({ node }, async () => await runLoad({ ...load, count: calls }));
      if (result.failures.length > 0) throw new Error(`${which}: ${result.failures[0]}`);
      return { perSecond: result.perSecond, shares };
    },
    stop: () => child.disconnect(),
  };
}
