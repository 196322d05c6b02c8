// The health check of the Docker image: asks the operations port whether this node is ready. Exit code 0: ready.
// The port is read from ports.json. The address is that of POSTHORN_OPS, or loopback if it listens on all addresses.
import { readFileSync } from "node:fs";
import { join } from "node:path";

try {
  const { ops } = JSON.parse(readFileSync(join(process.env.POSTHORN_DATA_DIR ?? "data", "ports.json"), "utf8"));
  const set = /^(.+):\d+$/.exec(process.env.POSTHORN_OPS?.trim() ?? "")?.[1];
  const host = { "0.0.0.0": "127.0.0.1", "[::]": "[::1]" }[set ?? "0.0.0.0"] ?? set;
  const answer = await fetch(`http://${host}:${ops}/readyz`, { signal: AbortSignal.timeout(4000) });
  process.stdout.write(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`${error.cause?.message ?? error.message}\n`);
  process.exitCode = 1;
}
