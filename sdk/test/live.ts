/** The packed client on each Node of this machine against one real program: each sends and verifies a webhook, then all stream, and go
 * on after the program was killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createTestDatabase } from "../../test/harness/database.ts";
import { type RunningProgram, startProgram } from "../../test/harness/program.ts";
import { until } from "../../test/harness/wait.ts";
import { consumer } from "./project.ts";

const env = { POSTHORN_API_KEY: "the-key-of-the-packed-client-0123456789" };
const letter = { from: "a@example.test", to: ["b@example.test"], subject: "", body: "Hi" };

/** `nodes` by their versions, as project.ts finds them. */
export async function followThroughKill(project: string, nodes: Map<string, string>): Promise<void> {
  const database = await createTestDatabase({ example: true });
  let program: RunningProgram | undefined;
  const clients: Client[] = [];
  try {
    program = await startProgram({ databaseUrl: database.url, env });
    for (const [version, path] of nodes) {
      const client = await startClient({ project, version, path, program });
      clients.push(client);
      // Each has had its own webhook's event before the next one sends.
      await client.said('"streaming":true');
    }
    await program.kill();
    for (const client of clients) await client.said('"lost":"unavailable"');
    // On the same port, where the clients look for it.
    const { dataDir, ports } = program;
    const again = { ...env, POSTHORN_HTTP: `127.0.0.1:${ports.http}` };
    program = await startProgram({ databaseUrl: database.url, dataDir, env: again });
    for (const metadata of [{ number: "1" }, { number: "2" }, { last: "yes" }])
      await program.call("EmailService/SendEmail", { ...letter, metadata });
    for (const client of clients) checkOutput(client.version, await client.end());
  } finally {
    for (const client of clients) client.kill();
    await program?.remove();
    await database.drop();
  }
}

type Client = {
  version: string;
  /** Waits for a word of the client, which must not end before it. */
  said(what: string): Promise<void>;
  /** Its output when it has ended well. */
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
  // Its place in the stream is kept in the folder where it runs.
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
    async said(what) {
      const there = () => output.includes(what) || child.exitCode !== null;
      await until(`${what} from the client on ${version}`, there);
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
  // Each event once and in order, over the death of the server: the numbers are dense.
  assert.deepEqual(
    cursors,
    cursors.map((_, i) => String(i + 1)),
  );
  assert.ok(cursors.length >= 6, output);
}
