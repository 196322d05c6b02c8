/** What commands print to a terminal and to a pipe: tables that fit, colors, questions, progress, and data of strangers. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { widthOf } from "../../src/app/output.ts";
import { type CommandBed, startCommandBed } from "../harness/commands.ts";
import { programEnv } from "../harness/program.ts";
import { bin } from "../harness/started.ts";
import { ctrlC, withoutTerminal as skip, startInTerminal } from "../harness/terminal.ts";
import { until } from "../harness/wait.ts";

/** Clears the screen, sets the title, reverses the text, and hides in a C1 control. */
const hostile = "\u001b[2J\u001b]0;owned\u0007\u202egnp.exe\u009b31m\nsecond line";
const remains = /[\u001b\u0007\u202e\u009b]/;

let bed: CommandBed | undefined;
let { program, succeed, run } = {} as CommandBed;
let emailId: string;
/** Another email with hostile content, whose subject can be composed. */
let contentId: string;

before(async () => {
  bed = await startCommandBed();
  ({ program, succeed, run } = bed);
  const subject = "A long subject that no narrow terminal shows in full, whatever the other columns have";
  const request = { from: "shop@example.test", to: ["bounced@example.test"], subject, body: hostile };
  const sent = await program.call("EmailService/SendEmail", { ...request, metadata: { note: hostile } });
  emailId = sent.body.id as string;
  contentId = (await program.call("EmailService/SendEmail", { ...request, to: ["ada@example.test"] })).body
    .id as string;
  await program.call("SuppressionService/AddSuppression", {
    address: "x@there.test",
    note: hostile.replace("\n", " "),
  });
  // Names in the database are older than the checks of today.
  await bed.database.sql`update keys set name = ${hostile}`;
  await bed.database.sql`update emails set subject = ${hostile} where id = ${emailId.slice(3)}`;
});
after(async () => await bed?.stop());

/** Runs a command in a terminal with this many columns, and returns its output and exit code. */
async function inTerminal(args: string[], { columns = 100, typed = "", env = {} } = {}) {
  const words = args.map((word) => `'${word}'`).join(" ");
  // Node uses no colors where it finds the variable CI.
  const command = `sh -c "unset CI; stty cols ${columns} rows 40; exec ${process.execPath} ${bin} ${words}"`;
  const remote = { POSTHORN_URL: program.url, POSTHORN_KEY: program.key, TERM: "xterm", ...env };
  const started = await startInTerminal(command, { env: remote });
  if (typed !== "") {
    await until("the question", () => /\[y\/N\]|API key/.test(started.output()));
    started.child.stdin!.write(typed);
  }
  const code = await started.ended;
  const output = started.output().replaceAll("\r\n", "\n");
  await started.remove();
  return { code, output };
}

const withoutColors = (text: string) => text.replace(/\u001b\[\d+m/g, "");

test("control characters of strangers reach neither a terminal nor a table, and JSON keeps them", {
  skip,
}, async () => {
  for (const args of [
    ["emails", "list", "--outcome", "bounced"],
    ["emails", "get", emailId],
    ["emails", "content", contentId],
    ["suppressions", "list"],
    ["suppressions", "export"],
    ["emails", "export"],
    ["keys", "list"],
    ["audit"],
  ]) {
    const { code, output } = await inTerminal(args);
    assert.equal(code, 0, output);
    assert.doesNotMatch(withoutColors(output), remains, args.join(" "));
    if (args[0] !== "audit") assert.match(output, /\\u001b\[2J|\\u001b/, args.join(" "));
  }
  const piped = await succeed("remote", "emails", "list", "--outcome", "bounced");
  assert.doesNotMatch(piped, remains);
  assert.equal(piped.trimEnd().split("\n").length, 2, "no cell adds a line");
  const line = await succeed("remote", "emails", "list", "--outcome", "bounced", "--json");
  assert.doesNotMatch(line, /[\u001b\u009b]/);
  assert.equal((JSON.parse(line) as { subject: string }).subject, hostile);
});

test("a table fits the terminal, ids are complete, and NO_COLOR removes colors", { skip }, async () => {
  await bed!.database.sql`update emails set subject = ${"日本語の件名 ".repeat(20)} where id = ${emailId.slice(3)}`;
  for (const columns of [50, 80, 100, 140]) {
    const { output } = await inTerminal(["emails", "list"], { columns });
    assert.match(output, /\u001b\[31mbounced/, "colors on a terminal");
    for (const line of withoutColors(output).trimEnd().split("\n")) assert.ok(widthOf(line) <= columns, line);
    assert.ok(output.includes(emailId));
    assert.ok(output.includes("…"));
  }
  const { output } = await inTerminal(["emails", "list"], { env: { NO_COLOR: "1" } });
  assert.ok(!output.includes("\u001b"), output);
});

test("a destructive command asks, names the instance, and changes nothing unless the answer is yes", {
  skip,
}, async () => {
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  const request = { from: "shop@example.test", to: ["ada@example.test"], subject: "Later", body: "x", scheduledAt };
  const { id } = (await program.call("EmailService/SendEmail", request)).body as { id: string };
  for (const typed of ["\n", "n\n", "\u0004"]) {
    const { code, output } = await inTerminal(["emails", "cancel", id], { typed, columns: 200 });
    assert.equal(code, 1, output);
    assert.ok(output.includes(`cancels ${id} at ${program.url}`), output);
    assert.match(output, /Nothing was changed\./);
  }
  const interrupted = await inTerminal(["emails", "cancel", id], { typed: ctrlC });
  assert.notEqual(interrupted.code, 0);
  const { code, output } = await inTerminal(["emails", "cancel", id], { typed: "y\n" });
  assert.equal(code, 0, output);
  assert.match((await run("remote", ["emails", "cancel", id, "--yes"])).stderr, /cannot be canceled/);
});

test("a key is typed without being shown", { skip }, async () => {
  const args = ["profiles", "add", "typed", program.url];
  const { code, output } = await inTerminal(args, { typed: `${program.key}x\u007f\r`, env: { POSTHORN_KEY: "" } });
  assert.equal(code, 0, output);
  assert.ok(!output.includes(program.key.slice(-20)), output);
});

test("an import shows a bar on a terminal and nothing in a pipe", { skip }, async () => {
  const file = join(bed!.folder, "many.csv");
  await writeFile(file, `address\n${Array.from({ length: 12_000 }, (_, i) => `n${i}@there.test\n`).join("")}`);
  const shown = await inTerminal(["suppressions", "import", file]);
  assert.equal(shown.code, 0, shown.output);
  assert.match(shown.output, /\r\u001b\[K\[-{24}\] {3}0 % 0 addresses/);
  assert.match(shown.output, /\r\u001b\[K12000 added, 0 already on the list, 0 invalid\.\n$/);
  const piped = await run("remote", ["suppressions", "import", file]);
  assert.deepEqual([piped.stdout, piped.stderr], ["0 added, 12000 already on the list, 0 invalid.\n", ""]);
});

test("an attachment is not written to a terminal", { skip }, async () => {
  const { code, output } = await inTerminal(["inbound", "attachment", "in_1", "1"]);
  assert.equal(code, 2);
  assert.match(output, /not text for a terminal\. Use --output FILE, or a pipe/);
});

test("output that cannot be stored is an error", { skip: !existsSync("/dev/full") && "needs /dev/full" }, async () => {
  const env = programEnv(program.dataDir, { env: { POSTHORN_URL: program.url, POSTHORN_KEY: program.key } });
  const full = await open("/dev/full", "w");
  const child = spawn(process.execPath, [bin, "keys", "list"], { env, stdio: ["ignore", full.fd, "pipe"] });
  let errors = "";
  child.stderr!.on("data", (chunk) => (errors += chunk));
  const [code] = await once(child, "close");
  await full.close();
  assert.deepEqual([code, /^Cannot write to standard output: ENOSPC/.test(errors)], [1, true], errors);
});

test("a reader that closes the pipe early ends the command without an error", async () => {
  const env = programEnv(program.dataDir, { env: { POSTHORN_URL: program.url, POSTHORN_KEY: program.key } });
  for (const args of [
    ["suppressions", "list", "--all", "--json"],
    ["suppressions", "list", "--all"],
    ["suppressions", "export"],
    ["keys", "list"],
  ]) {
    const child = spawn(process.execPath, [bin, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    child.stderr.on("data", (chunk) => (errors += chunk));
    child.stdout.destroy();
    const [code] = await once(child, "close");
    assert.deepEqual([code, errors], [0, ""], args.join(" "));
  }
});
