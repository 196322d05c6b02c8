/** The packed client on each Node of this machine against the real program: it sends, verifies a webhook, streams, and goes on after the
 * program was killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase } from "../../test/harness/database.ts";
import { startProgram } from "../../test/harness/program.ts";
import { until } from "../../test/harness/wait.ts";
import { consumer, makeProject, nodes } from "./project.ts";

let project: string;
before(async () => {
  project = await makeProject();
  await copyFile(join(consumer, "live.mjs"), join(project, "live.mjs"));
});
after(() => rm(project, { recursive: true, force: true }));

test("from the tarball, on each Node", async (t) => {
  for (const [version, path] of await nodes()) await t.test(version, () => live(version, path));
});

async function live(version: string, path: string): Promise<void> {
  await rm(join(project, "place"), { force: true });
  const database = await createTestDatabase();
  const env = { POSTHORN_API_KEY: "the-key-of-the-packed-client-0123456789" };
  let program = await startProgram({ databaseUrl: database.url, env });
  const letter = { from: "a@example.test", to: ["b@example.test"], subject: "", body: "" };
  const child = spawn(path, ["live.mjs"], {
    cwd: project,
    env: { ...process.env, POSTHORN_KEY: env.POSTHORN_API_KEY, POSTHORN_URL: program.url },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const said = async (what: string) => {
    const there = () => output.includes(what) || child.exitCode !== null;
    await until(`${what} from the client`, there, { withinMs: 60_000 });
    assert.equal(child.exitCode, null, `${output}\n${program.output()}`);
  };
  try {
    await said('"streaming":true');
    await program.kill();
    await said('"lost":"unavailable"');
    // On the same port, where the client looks for it.
    const { dataDir, ports } = program;
    const again = { ...env, POSTHORN_HTTP: `127.0.0.1:${ports.http}` };
    program = await startProgram({ databaseUrl: database.url, dataDir, env: again });
    for (const metadata of [{ number: "1" }, { number: "2" }, { last: "yes" }])
      await program.call("EmailService/SendEmail", { ...letter, metadata });
    assert.equal(await ended, 0, output);
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
  } finally {
    child.kill("SIGKILL");
    await program.remove();
    await database.drop();
  }
}
