/** The receiving sides of a bench, in processes of their own: each tells its port first, and how much it has taken whenever it is asked. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Taken = { taken: number; lastBody?: string };
export type Counted = { port: number; ask(): Promise<Taken>; stop(): void };

/** `name`: a file of this folder that calls `serveCounts`. */
export async function startCounted(name: string, args: string[] = []): Promise<Counted> {
  const child: ChildProcess = fork(fileURLToPath(new URL(`./${name}`, import.meta.url)), args);
  const next = async () => (await once(child, "message"))[0];
  const port = Number(await next());
  return {
    port,
    async ask() {
      const told = next();
      child.send("?");
      return (await told) as Taken;
    },
    stop: () => child.disconnect(),
  };
}

/** The other end of it. */
export function serveCounts(port: number, look: () => Taken): void {
  process.on("message", () => process.send!(look()));
  process.on("disconnect", () => process.exit(0));
  process.send!(port);
}
