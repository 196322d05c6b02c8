/** --help of every command and group, suggestions for mistyped ones, and completions: answered without the server and without a second Node. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { allCommands } from "../../src/app/cli.ts";
import { settingFlags } from "../../src/app/command.ts";
import { shells } from "../../src/app/completion.ts";
import { completion, groupsOf } from "../../src/app/help.ts";
import { version } from "../../src/app/version.ts";
import { needs } from "../harness/foreign.ts";
import { bin, olderNode, withoutOlderNode } from "../harness/started.ts";

const commands = [...(await allCommands()), completion];
const groups = Object.keys(groupsOf(commands));

/** Settings that would stop every command, so that only an answer without the server succeeds. */
function posthorn(args: string[], node: string[] = [process.execPath]) {
  const [program, ...flags] = node;
  const env = { ...process.env, POSTHORN_HTTP: "nonsense" };
  const { status, stdout, stderr } = spawnSync(program!, [...flags, bin, ...args], { encoding: "utf8", env });
  return { status, stdout, stderr };
}

/** Says at its exit which files of ours a process has read and whether it started another process. */
const witness = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { ChildProcess } from "node:child_process";
  const seen = [];
  registerHooks({ load(url, context, next) { if (url.startsWith("file:")) seen.push(url); return next(url, context); } });
  const spawn = ChildProcess.prototype.spawn;
  ChildProcess.prototype.spawn = function (...args) { seen.push("a process"); return spawn.apply(this, args); };
  process.on("exit", () => console.error(seen.join("\\n")));
`)}`;

describe("help", () => {
  it("loads two small files and nothing of the server", () => {
    for (const args of [
      ["--help"],
      ["help"],
      ["--version"],
      ["start", "--help"],
      ["domains", "--help"],
      ["completion", "bash"],
    ]) {
      const { status, stderr } = posthorn(args, [process.execPath, "--import", witness]);
      assert.equal(status, 0);
      const names = stderr
        .trim()
        .split("\n")
        .map((url) => url.split("/").slice(-2).join("/"));
      assert.deepEqual(names, ["bin/posthorn.js", "bin/help.js"], args.join(" "));
    }
  });

  it("starts no second Node under an older one", { skip: withoutOlderNode }, () => {
    // With no folder to find Node 24 in, any attempt to start it fails.
    const place = mkdtempSync(join(tmpdir(), "posthorn-help-"));
    try {
      for (const name of ["posthorn.js", "help.js", "command-line.json"])
        writeFileSync(join(place, name), readFileSync(join(bin, "..", name)));
      writeFileSync(join(place, "package.json"), '{"type":"module"}');
      const { status, stdout, stderr } = spawnSync(olderNode!, [join(place, "posthorn.js"), "--help"], {
        encoding: "utf8",
      });
      assert.deepEqual([status, stderr], [0, ""]);
      assert.match(stdout, /^Posthorn \S+: self-hosted/);
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it("of the program lists every command, by every name that it goes by", () => {
    const { status, stdout, stderr } = posthorn(["--help"]);
    assert.deepEqual([status, stderr], [0, ""]);
    for (const { name } of commands) assert.match(stdout, new RegExp(`^ {2}${name}\\b`, "m"));
    for (const args of [[], ["-h"], ["help"], ["help", "--help"]]) assert.equal(posthorn(args).stdout, stdout);
    assert.equal(posthorn(["--version"]).stdout, `${version}\n`);
  });

  it("exists for every group", () => {
    assert.ok(groups.length >= 5);
    for (const group of groups) {
      const { status, stdout, stderr } = posthorn([group, "--help"]);
      assert.deepEqual([status, stderr], [0, ""], group);
      for (const { name } of commands.filter((one) => one.name.startsWith(`${group} `)))
        assert.match(stdout, new RegExp(`^ {2}${name}\\b`, "m"));
      assert.equal(posthorn(["help", group]).stdout, stdout);
      const alone = posthorn([group]);
      assert.deepEqual([alone.status, alone.stdout, alone.stderr], [2, "", stdout]);
    }
  });

  it("exists for every command, wherever --help stands", () => {
    for (const { name, summary, options } of commands) {
      const { status, stdout } = posthorn([...name.split(" "), "--help"]);
      assert.equal(status, 0, name);
      assert.ok(stdout.startsWith(`${summary}\n\nUsage: posthorn ${name}`), stdout);
      for (const flag of Object.keys(options)) assert.match(stdout, new RegExp(`^ {2}--${flag}\\b`, "m"));
    }
    const shown = posthorn(["keys", "create", "--help"]).stdout;
    assert.equal(posthorn(["keys", "create", "--name", "x", "-h"]).stdout, shown);
    const start = posthorn(["start", "--help"]).stdout;
    for (const flag of Object.keys(settingFlags)) assert.match(start, new RegExp(`^ {2}--${flag} `, "m"));
  });

  it("is suggested for what does not exist, with exit code 2", () => {
    const mistakes: [string[], RegExp][] = [
      [["nonsense"], /no command "nonsense". See: posthorn --help/],
      [["domain"], /no command "domain". Did you mean: posthorn domains\?/],
      [["strat", "--http", "127.0.0.1:0"], /Did you mean: posthorn start\?/],
      [["keys", "crate"], /no command "keys crate". Did you mean: posthorn keys create\?/],
      [["keys", "nonsense", "--help"], /There is: posthorn keys create, posthorn keys list, posthorn keys revoke\./],
      [["toString"], /no command "toString"/],
      [["__proto__", "--help"], /no command "__proto__"/],
      [["--http", "127.0.0.1:0", "start"], /a command before --http/],
      [["completion"], /bash\|zsh\|fish/],
      [["completion", "tcsh"], /bash\|zsh\|fish/],
    ];
    for (const [args, words] of mistakes) {
      const { status, stdout, stderr } = posthorn(args);
      assert.deepEqual([status, stdout], [2, ""], args.join(" "));
      assert.match(stderr, words);
    }
  });
});

describe("completions", () => {
  const script = (shell: string) => posthorn(["completion", shell]).stdout;

  /** The output of a script, in a file: fish cannot read one from a socket. */
  function inShell(shell: string, flags: string[], text: string): string {
    const place = mkdtempSync(join(tmpdir(), "posthorn-completion-"));
    try {
      writeFileSync(join(place, "script"), text);
      const { status, stdout, stderr } = spawnSync(shell, [...flags, join(place, "script")], { encoding: "utf8" });
      assert.deepEqual([status, stderr], [0, ""]);
      return stdout;
    } finally {
      rmSync(place, { recursive: true });
    }
  }

  for (const shell of shells) {
    it(`for ${shell} are a valid script`, { skip: needs(shell) }, () => {
      assert.equal(inShell(shell, ["-n"], script(shell)), "");
    });
  }

  it("name every command, option and setting in every shell", () => {
    for (const shell of shells) {
      const text = script(shell);
      for (const { name, options } of commands) {
        assert.ok(text.includes(name), `${name} for ${shell}`);
        const dashes = shell === "fish" ? "-l " : "--";
        for (const flag of [...Object.keys(options), ...Object.keys(settingFlags)])
          assert.ok(text.includes(`${dashes}${flag}`), `${flag} of ${name} for ${shell}`);
      }
    }
  });

  /** What bash would offer for the last of these words. */
  function offered(...words: string[]): string[] {
    const line = words.map((word) => `'${word}'`).join(" ");
    const input = `${script("bash")}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _posthorn; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return inShell("bash", ["--norc"], input)
      .split("\n")
      .filter((word) => word !== "");
  }

  it("complete commands, groups, options and settings in bash", {
    skip: needs("bash"),
  }, () => {
    assert.deepEqual(offered("posthorn", ""), [...new Set(commands.map(({ name }) => name.split(" ")[0]!))]);
    assert.deepEqual(offered("posthorn", "do"), ["domains", "doctor"]);
    assert.deepEqual(offered("posthorn", "--"), ["--help", "--version"]);
    assert.deepEqual(offered("posthorn", "keys", ""), ["create", "list", "revoke"]);
    assert.deepEqual(offered("posthorn", "keys", "create", "--pe"), ["--permission"]);
    assert.deepEqual(offered("posthorn", "keys", "create", "--test", "--log-"), ["--log-level", "--log-format"]);
    assert.deepEqual(offered("posthorn", "domains", "add", "shop.test", "--js"), ["--json"]);
    assert.ok(offered("posthorn", "start", "--").includes("--http"));
    assert.deepEqual(offered("posthorn", "keys", "create", "--name", ""), [], "a value is not ours to complete");
    assert.deepEqual(offered("posthorn", "completion", ""), [...shells]);
    assert.deepEqual(offered("posthorn", "nonsense", ""), []);
  });

  it("complete commands, groups, options and settings in fish", {
    skip: needs("fish"),
  }, () => {
    const offers = (line: string) => {
      const input = `${script("fish")}\ncomplete -C '${line}'`;
      return inShell("fish", ["--no-config"], input)
        .trim()
        .split("\n")
        .map((offer) => offer.split("\t")[0]);
    };
    assert.deepEqual(offers("posthorn do"), ["doctor", "domains"]);
    assert.deepEqual(offers("posthorn keys "), ["create", "list", "revoke"]);
    assert.deepEqual(offers("posthorn keys create --test --log-"), ["--log-format", "--log-level"]);
  });

  it("know whether an option takes a value: no name means both", () => {
    const types = new Map<string, string>();
    for (const { name, options } of commands) {
      for (const [flag, { type }] of Object.entries(options)) {
        assert.equal(types.get(flag) ?? type, type, `--${flag} of ${name}`);
        types.set(flag, type);
      }
    }
  });
});
