/** --help of every command and group, suggestions for mistyped commands, and completions, without the server and without Node 24. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { allCommands } from "../../src/app/cli.ts";
import { settingFlags } from "../../src/app/command.ts";
import { shells } from "../../src/app/completion.ts";
import { completion, groupsOf, version } from "../../src/app/help.ts";
import { needs } from "../harness/foreign.ts";
import { bin, olderNode, withoutOlderNode } from "../harness/started.ts";

const commands = [...(await allCommands()), completion];
const groups = Object.keys(groupsOf(commands));

/** Runs with an invalid setting, which fails every command, so that only output from bin/help.js succeeds. */
function posthorn(args: string[], node: string[] = [process.execPath]) {
  const [program, ...flags] = node;
  const env = { ...process.env, POSTHORN_HTTP: "nonsense" };
  const { status, stdout, stderr } = spawnSync(program!, [...flags, bin, ...args], { encoding: "utf8", env });
  return { status, stdout, stderr };
}

/** Prints at exit which files of the checkout the process loaded, and whether it started another process. */
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
  it("loads only two small files and no part of the server", () => {
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

  it("does not start Node 24 under an older Node", { skip: withoutOlderNode }, () => {
    // Without node_modules, any attempt to start Node 24 fails.
    const folder = mkdtempSync(join(tmpdir(), "posthorn-help-"));
    try {
      for (const name of ["posthorn.js", "help.js", "command-line.json"])
        writeFileSync(join(folder, name), readFileSync(join(bin, "..", name)));
      writeFileSync(join(folder, "package.json"), '{"type":"module"}');
      const { status, stdout, stderr } = spawnSync(olderNode!, [join(folder, "posthorn.js"), "--help"], {
        encoding: "utf8",
      });
      assert.deepEqual([status, stderr], [0, ""]);
      assert.match(stdout, /^Posthorn \S+: self-hosted/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("of the program lists every command, in every spelling of --help", () => {
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

  it("exists for every command, at any position of --help", () => {
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

  it("is suggested for unknown commands, with exit code 2", () => {
    const mistakes: [string[], RegExp][] = [
      [["nonsense"], /no command "nonsense". See: posthorn --help/],
      [["domain"], /no command "domain". Did you mean: posthorn domains\?/],
      [["strat", "--http", "127.0.0.1:0"], /Did you mean: posthorn start, posthorn stats\?/],
      [["keys", "crate"], /no command "keys crate". Did you mean: posthorn keys create\?/],
      [
        ["keys", "nonsense", "--help"],
        /Available: posthorn keys create, posthorn keys list, posthorn keys revoke, posthorn keys update, posthorn keys rotate\./,
      ],
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

  /** Runs a script from a file, because fish cannot read one from a socket, and returns its output. */
  function inShell(shell: string, flags: string[], text: string): string {
    const folder = mkdtempSync(join(tmpdir(), "posthorn-completion-"));
    try {
      writeFileSync(join(folder, "script"), text);
      const { status, stdout, stderr } = spawnSync(shell, [...flags, join(folder, "script")], { encoding: "utf8" });
      assert.deepEqual([status, stderr], [0, ""]);
      return stdout;
    } finally {
      rmSync(folder, { recursive: true });
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

  /** The completions of bash for the last of these words. */
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
    assert.deepEqual(offered("posthorn", "keys", ""), ["create", "list", "revoke", "update", "rotate"]);
    assert.deepEqual(offered("posthorn", "keys", "create", "--pe"), ["--permission"]);
    assert.deepEqual(offered("posthorn", "keys", "create", "--test", "--log-"), ["--log-level", "--log-format"]);
    assert.deepEqual(offered("posthorn", "domains", "add", "shop.test", "--js"), ["--json"]);
    assert.ok(offered("posthorn", "start", "--").includes("--http"));
    assert.deepEqual(offered("posthorn", "keys", "create", "--name", ""), [], "values of options are not completed");
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
    assert.deepEqual(offers("posthorn keys "), ["create", "list", "revoke", "rotate", "update"]);
    assert.deepEqual(offers("posthorn keys create --test --log-"), ["--log-format", "--log-level"]);
  });

  it("know whether an option takes a value: no option name is used both ways", () => {
    const types = new Map<string, string>();
    for (const { name, options } of commands) {
      for (const [flag, { type }] of Object.entries(options)) {
        assert.equal(types.get(flag) ?? type, type, `--${flag} of ${name}`);
        types.set(flag, type);
      }
    }
  });
});
