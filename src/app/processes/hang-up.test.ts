import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { withoutTerminal as skip, startInTerminal } from "../../../test/harness/terminal.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-hang-up-"));
});
after(async () => await rm(folder, { recursive: true, force: true }));

const module = JSON.stringify(fileURLToPath(new URL("hang-up.ts", import.meta.url)));
const code = `import { writeFileSync } from "node:fs"; import { hangUpStops } from ${module};
  writeFileSync(process.argv[1], String(hangUpStops()));`;
const commandOf = (file: string) => `${process.execPath} --input-type=module --eval '${code}' ${file}`;

/** What a program that is started with this command finds, as the shell of a terminal runs it. */
async function inTerminal(name: string, write: (command: string) => string): Promise<string> {
  const file = join(folder, name);
  const started = await startInTerminal(write(commandOf(file)));
  await started.ended;
  await started.remove();
  return await readFile(file, "utf8");
}

test("a closed terminal stops the program that writes to it", { skip }, async () => {
  assert.equal(await inTerminal("both", (command) => command), "true");
  assert.equal(await inTerminal("errors", (command) => `${command} > ${folder}/output`), "true");
});

test("a program whose output goes elsewhere survives its terminal, as under nohup", { skip }, async () => {
  assert.equal(await inTerminal("neither", (command) => `${command} > ${folder}/output 2>&1`), "false");
  assert.equal(
    await inTerminal("nohup", (command) => `env HOME=${folder} sh -c 'cd ${folder} && exec nohup "$@"' sh ${command}`),
    "false",
  );
});

test("without a terminal, SIGHUP does not stop the program", async () => {
  const file = join(folder, "none");
  // In a session of its own, a process has no controlling terminal.
  await once(spawn("sh", ["-c", commandOf(file)], { detached: true, stdio: "ignore" }), "close");
  assert.equal(await readFile(file, "utf8"), "false");
});
