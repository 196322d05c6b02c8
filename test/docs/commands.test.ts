/** Commands with their flags, npm scripts, settings and deployment files that the README and the docs name exist. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { targets } from "../../scripts/fuzz/targets.ts";
import { allCommands } from "../../src/app/cli.ts";
import { settingFlags } from "../../src/app/command.ts";
import { completion } from "../../src/app/help.ts";
import { oidcSettings } from "../../src/app/oidc-settings.ts";
import { settings } from "../../src/app/settings.ts";
import { readDatabaseUrl } from "../../src/postgres/database-url.ts";
import { allFaults } from "../faults/all.ts";
import { codeOf, pages, root } from "../harness/pages.ts";

const commands = [...(await allCommands()), completion];
const code = pages().flatMap(({ path, text }) => codeOf(text).map((snippet) => ({ path, snippet })));

/** Lines that run the program: `npx posthorn domains add shop.test`, `$ npx posthorn …`, `posthorn keys create`. */
function calls(): { path: string; line: string; words: string[] }[] {
  return code.flatMap(({ path, snippet }) =>
    [...snippet.matchAll(/(?:^|[\s|;&(])(?:npx )?posthorn ([a-z-][^\n|;&`)]*)/g)]
      // The npm package has the same name.
      .filter((match) => !/npm (install|i) $/.test(snippet.slice(0, match.index! + 1)))
      .map(([line, rest]) => ({ path, line: line.trim(), words: rest!.trim().split(/\s+/) })),
  );
}

test("every posthorn command in the docs exists, with its flags", () => {
  const found = calls();
  assert.ok(found.length > 20, "the docs contain commands");
  for (const { path, line, words } of found) {
    if (words[0]!.startsWith("-")) {
      assert.ok(["--help", "--version"].includes(words[0]!), `${path}: ${line}`);
      continue;
    }
    const command = commands.find(({ name }) => name === words.slice(0, name.split(" ").length).join(" "));
    // `posthorn domains …` stands for the whole group.
    const family =
      commands.some(({ name }) => name.startsWith(`${words[0]} `)) && (words.length === 1 || words[1] === "…");
    assert.ok(command || family, `${path}: ${line}`);
    for (const [, flag] of command ? line.matchAll(/ --([a-z-]+)/g) : [])
      assert.ok(flag === "help" || flag! in command!.options || flag! in settingFlags, `${path}: ${line}: --${flag}`);
  }
});

/** The scripts of the checkout, or of a workspace given with -w. */
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

/** The arguments after `npm test --`, `npm run bench --` and so on, without the comment of a shell line. */
function argumentsOf(script: string): { path: string; words: string[] }[] {
  return code.flatMap(({ path, snippet }) =>
    [...snippet.matchAll(new RegExp(`npm ${script} -- ([^\\n#&;]+)`, "g"))].map(([, rest]) => ({
      path,
      words: rest!.trim().split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/),
    })),
  );
}

test("every test, bench, fault and fuzz target in the docs exists", () => {
  const files = globSync("{src,test,sdk,scripts,web}/**/*.test.ts", {
    cwd: root,
    exclude: (name) => name === "node_modules",
  });
  for (const { path, words } of argumentsOf("test"))
    for (const word of words)
      assert.ok(
        files.some((file) => file.includes(word)),
        `${path}: npm test -- ${word}`,
      );
  for (const { path, words } of argumentsOf("run bench"))
    for (const [i, word] of words.entries()) {
      const isFlag = word.startsWith("--") || (words[i - 1] === "--scale" && Number(word) > 0);
      assert.ok(isFlag || existsSync(join(root, "bench", `${word}.ts`)), `${path}: bench ${word}`);
    }
  for (const { path, words } of argumentsOf("run faults"))
    for (const [i, word] of words.entries()) {
      const name = words[i - 1] === "--only" ? word.replaceAll('"', "").toLowerCase() : "";
      assert.ok(
        allFaults.some((fault) => fault.name.toLowerCase().includes(name)),
        `${path}: fault ${word}`,
      );
    }
  for (const { path, words } of argumentsOf("run fuzz"))
    assert.ok(
      words[0] === "--help" || words[0] === "TARGET" || targets.some(({ name }) => name === words[0]),
      `${path}: fuzz ${words[0]}`,
    );
});

/** Read by clients and by examples in the docs, but not by the server. */
const ofClients = new Set(["POSTHORN_URL", "POSTHORN_KEY", "POSTHORN_PROFILE", "POSTHORN_WEBHOOK_SECRET"]);

/** POSTHORN_OIDC_GOOGLE_ISSUER: the name of a provider, then that of a setting. */
function isOfProvider(name: string): boolean {
  const [, end] = /^POSTHORN_OIDC_[A-Z0-9]+_(\w+)$/.exec(name) ?? [];
  return end !== undefined && end in oidcSettings;
}

test("every setting in the docs and in the deployment files exists", () => {
  const files = ["Dockerfile", "compose.yaml", "deploy/posthorn.service"];
  const texts = files.map((path) => ({ path, snippet: readFileSync(join(root, path), "utf8") }));
  for (const { path, snippet } of [...code, ...texts]) {
    for (const [name] of snippet.matchAll(/\bPOSTHORN_[A-Z_]*[A-Z]\b/g))
      assert.ok(name in settings || ofClients.has(name) || isOfProvider(name), `${path}: ${name}`);
  }
});

test("every DATABASE_URL in the docs is valid", () => {
  const urls = pages().flatMap(({ text }) => [...text.matchAll(/^DATABASE_URL=(\S+)$/gm)].map(([, url]) => url!));
  assert.ok(urls.length >= 3);
  for (const url of urls) assert.ok(readDatabaseUrl(url).hosts.length > 0);
});

test("every command and option has a help text", () => {
  for (const { name, summary, options } of commands) {
    assert.match(summary, /^[A-Z].*\.$/, name);
    for (const [flag, { help }] of Object.entries(options)) assert.ok(help.length > 5, `${name} --${flag}`);
  }
});
