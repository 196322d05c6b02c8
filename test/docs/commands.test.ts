/** What the README and the docs tell people to type exists: commands with their flags, npm scripts, settings, files to deploy. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { allCommands } from "../../src/app/cli.ts";
import { settingFlags } from "../../src/app/command.ts";
import { settings } from "../../src/app/config.ts";
import { completion } from "../../src/app/help.ts";
import { codeOf, pages, root } from "../harness/pages.ts";

const commands = [...(await allCommands()), completion];
const code = pages().flatMap(({ path, text }) => codeOf(text).map((snippet) => ({ path, snippet })));

/** Lines that call the program: `npx posthorn domains add shop.test`, `$ npx posthorn …`, `posthorn keys create`. */
function calls(): { path: string; line: string; words: string[] }[] {
  return code.flatMap(({ path, snippet }) =>
    [...snippet.matchAll(/(?:^|[\s|;&(])(?:npx )?posthorn ([a-z-][^\n|;&`)]*)/g)]
      // The package of the same name is installed and imported.
      .filter((match) => !/npm (install|i) $/.test(snippet.slice(0, match.index! + 1)))
      .map(([line, rest]) => ({ path, line: line.trim(), words: rest!.trim().split(/\s+/) })),
  );
}

test("every posthorn command in the docs exists, with its flags", () => {
  const found = calls();
  assert.ok(found.length > 20, "the docs name commands");
  for (const { path, line, words } of found) {
    if (words[0]!.startsWith("-")) {
      assert.ok(["--help", "--version"].includes(words[0]!), `${path}: ${line}`);
      continue;
    }
    const command = commands.find(({ name }) => name === words.slice(0, name.split(" ").length).join(" "));
    // `posthorn domains …` stands for all of its kind.
    const family =
      commands.some(({ name }) => name.startsWith(`${words[0]} `)) && (words.length === 1 || words[1] === "…");
    assert.ok(command || family, `${path}: ${line}`);
    for (const [, flag] of command ? line.matchAll(/ --([a-z-]+)/g) : [])
      assert.ok(flag === "help" || flag! in command!.options || flag! in settingFlags, `${path}: ${line}: --${flag}`);
  }
});

/** Of the whole checkout, or of a part of it with -w. */
function scriptsOf(part: string): Record<string, string> {
  return (JSON.parse(readFileSync(join(root, part, "package.json"), "utf8")) as { scripts: Record<string, string> })
    .scripts;
}

test("every npm script in the docs exists", () => {
  for (const { path, snippet } of code) {
    for (const [line, before, name, after] of snippet.matchAll(
      /npm (?:(-w \w+) )?(?:run )?(start|test|(?<=run )[\w:-]+)( -w \w+)?/g,
    )) {
      const part = (before ?? after ?? "").trim().replace("-w ", "");
      assert.ok(name! in scriptsOf(part), `${path}: ${line}`);
    }
  }
});

/** Read by clients and by examples in the docs, not by the server. */
const ofClients = new Set(["POSTHORN_URL", "POSTHORN_KEY", "POSTHORN_WEBHOOK_SECRET"]);

test("every setting in the docs and in the files to deploy exists", () => {
  const files = ["Dockerfile", "compose.yaml", "deploy/posthorn.service"];
  const texts = files.map((path) => ({ path, snippet: readFileSync(join(root, path), "utf8") }));
  for (const { path, snippet } of [...code, ...texts]) {
    for (const [name] of snippet.matchAll(/\bPOSTHORN_[A-Z_]*[A-Z]\b/g))
      assert.ok(name in settings || ofClients.has(name), `${path}: ${name}`);
  }
});

test("every command tells its own help", () => {
  for (const { name, summary, options } of commands) {
    assert.match(summary, /^[A-Z].*\.$/, name);
    for (const [flag, { help }] of Object.entries(options)) assert.ok(help.length > 5, `${name} --${flag}`);
  }
});
