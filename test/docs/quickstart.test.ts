/** docs/quickstart.md and the snippets of the dashboard: each one sends an email, with the key from the environment and written into it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { shownValues } from "../../scripts/generators/quickstart.ts";
import { languages } from "../../web/src/docs/snippets.ts";
import { needs, pathOf } from "../harness/foreign.ts";
import { blocksOf, root } from "../harness/pages.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { shell } from "../harness/shell.ts";

type Id = (typeof languages)[number]["id"];

const run = promisify(execFile);
/** Compiling a Go program for the first time takes long. */
const timeoutMs = 120_000;

let program: RunningProgram;
let folder: string;
before(async () => {
  program = await startProgram();
  // Inside the checkout, so that the SDK resolves by its name.
  await mkdir(join(root, "test/output"), { recursive: true });
  folder = await mkdtemp(join(root, "test/output/quickstart-"));
});
after(async () => {
  await program?.remove();
  await rm(folder, { recursive: true, force: true });
});

const skips: Record<Id, string | false> = {
  curl: false,
  ts: false,
  python: needs("python3"),
  go: needs("go"),
  php: needs("php"),
  ruby: needs("ruby"),
};

/** Runs code as a person would, and returns what it prints. */
async function runCode(id: Id, code: string): Promise<string> {
  const env = {
    ...process.env,
    POSTHORN_KEY: program.key,
    GO111MODULE: "off",
    GOFLAGS: "",
    GOCACHE: join(folder, "go"),
  };
  const options = { cwd: folder, env, timeout: timeoutMs };
  if (id === "curl") return (await shell(code, { cwd: folder, env, timeoutMs })).stdout;
  const file = join(
    folder,
    `${id}-${Math.random().toString(36).slice(2)}.${{ ts: "ts", python: "py", go: "go", php: "php", ruby: "rb" }[id]}`,
  );
  await writeFile(file, code);
  const commands = {
    ts: () => [process.execPath, file],
    python: () => [pathOf("python3"), file],
    go: () => [pathOf("go"), "run", file],
    php: () => [pathOf("php"), file],
    ruby: () => [pathOf("ruby"), file],
  };
  const [command, ...args] = commands[id]();
  return (await run(command!, args, options)).stdout;
}

/** Signs that one of the languages treats specially in a string. */
const hostile = `It's "100%" \\ #{1} $x \${y} \`z\` é 🚀`;

for (const { id, label, write } of languages) {
  test(`the code in ${label} sends an email with any text`, { skip: skips[id], timeout: timeoutMs }, async () => {
    const values = { ...shownValues, origin: program.url, subject: hostile, body: `${hostile}\nSecond line.` };
    const keys = id === "go" ? [program.key] : [undefined, program.key];
    for (const key of keys) {
      const output = await runCode(id, write({ ...values, key }));
      const email = /em_[0-9a-f-]{36}/.exec(output)?.[0];
      assert.ok(email, output);
      const content = await program.call("EmailService/GetEmailContent", { id: email });
      assert.ok(
        JSON.stringify(content.body).includes(JSON.stringify(values.body).slice(0, -1)),
        JSON.stringify(content.body),
      );
      const stored = await program.call("EmailService/GetEmail", { id: email });
      const sent = JSON.stringify(stored.body);
      assert.ok(sent.includes(JSON.stringify(hostile)), sent);
      assert.ok(sent.includes(values.from) && sent.includes(values.to), sent);
    }
  });

  test(`the page shows the code in ${label}, and it runs`, { skip: skips[id], timeout: timeoutMs }, async () => {
    const page = await readFile(join(root, "docs/quickstart.md"), "utf8");
    const shown = blocksOf(page).filter(({ language }) => language === (id === "curl" ? "sh" : id));
    assert.equal(shown.length, id === "curl" ? 3 : 1, "run each block here");
    const output = await runCode(id, shown[0]!.text.replaceAll(shownValues.origin, program.url));
    assert.match(output, /em_[0-9a-f-]{36}/);
  });
}

test("the page's calls list the events and create a webhook", async () => {
  const page = await readFile(join(root, "docs/quickstart.md"), "utf8");
  const [, list, create] = blocksOf(page).filter(({ language }) => language === "sh");
  const paste = (text: string) => runCode("curl", text.replaceAll(shownValues.origin, program.url));
  const { data } = JSON.parse(await paste(list!.text)) as { data: { event: { type: string } }[] };
  assert.ok(
    data.some(({ event }) => event.type === "email.delivered"),
    JSON.stringify(data),
  );
  assert.match(JSON.parse(await paste(create!.text)).signingSecret, /^whsec_/);
});
