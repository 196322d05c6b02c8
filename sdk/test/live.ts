/**
 * Runs the packed client on each Node of this machine against one real program. Each client sends an email and verifies a webhook;
 * then all clients stream events while the program is killed and restarted. package.test.ts calls it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createTestDatabase } from "../../test/harness/database.ts";
import { type RunningProgram, startProgram } from "../../test/harness/program.ts";
import { until } from "../../test/harness/wait.ts";
import { consumer } from "./project.ts";

const env = { POSTHORN_API_KEY: "the-key-of-the-packed-client-0123456789" };
const email = { from: "a@example.test", to: ["b@example.test"], subject: "", body: "Hi" };

/** `nodes` maps each version to its path, as project.ts finds them. */
export async function streamThroughKill(project: string, nodes: Map<string, string>): Promise<void> {
  const database = await createTestDatabase({ example: true });
  let program: RunningProgram | undefined;
  const clients: Client[] = [];
  try {
    program = await startProgram({ databaseUrl: database.url, env });
    for (const [version, path] of nodes) {
      const client = await startClient({ project, version, path, program });
      clients.push(client);
      // Each client has received its own webhook before the next one sends.
      await client.waitForOutput('"streaming":true');
    }
    await program.kill();
    for (const client of clients) await client.waitForOutput('"lost":"unavailable"');
    // On the same port, because the clients reconnect to it.
    const { dataDir, ports } = program;
    const again = { ...env, POSTHORN_HTTP: `127.0.0.1:${ports.http}` };
    program = await startProgram({ databaseUrl: database.url, dataDir, env: again });
    for (const metadata of [{ number: "1" }, { number: "2" }, { last: "yes" }])
      await program.call("EmailService/SendEmail", { ...email, metadata });
    for (const client of clients) checkOutput(client.version, await client.end());
  } finally {
    for (const client of clients) client.kill();
    await program?.remove();
    await database.drop();
  }
}

type Client = {
  version: string;
  /** Waits until the output contains `text`. Fails when the client exits first. */
  waitForOutput(text: string): Promise<void>;
  /** Waits for exit code 0 and returns the output. */
  end(): Promise<string>;
  kill(): void;
};

async function startClient(options: {
  project: string;
  version: string;
  path: string;
  program: RunningProgram;
}): Promise<Client> {
  const { project, version, path, program } = options;
  // The client stores its cursor in its working directory.
  const cwd = join(project, version);
  await mkdir(cwd);
  await copyFile(join(consumer, "live.mjs"), join(cwd, "live.mjs"));
  const child = spawn(path, ["live.mjs"], {
    cwd,
    env: { ...process.env, POSTHORN_KEY: env.POSTHORN_API_KEY, POSTHORN_URL: program.url },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    version,
    async waitForOutput(text) {
      const isPrintedOrEnded = () => output.includes(text) || child.exitCode !== null;
      await until(`${text} from the client on ${version}`, isPrintedOrEnded);
      assert.equal(child.exitCode, null, `${output}\n${program.output()}`);
    },
    async end() {
      assert.equal(await ended, 0, output);
      return output;
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

function checkOutput(version: string, output: string): void {
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(lines[0], { sent: "EMAIL_STATUS_SENT", attachment: 9 });
  assert.deepEqual(lines[1], { webhook: "email.delivered", same: true, forged: 401 });
  const { node, cursors } = lines.at(-1) as { node: string; cursors: string[] };
  assert.equal(node, version);
  // Cursors have no gaps, so this proves that each event arrived once and in order although the server was killed.
  assert.deepEqual(
    cursors,
    cursors.map((_, i) => String(i + 1)),
  );
  assert.ok(cursors.length >= 6, output);
}
