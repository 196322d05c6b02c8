import assert from "node:assert/strict";
import { test } from "node:test";
import { completionScripts } from "./completion.ts";
import { type CommandInfo, completion } from "./help.ts";

const table: CommandInfo[] = [
  { name: "start", summary: "Run it, whatever the shell's quotes do.", options: {} },
  {
    name: "keys create",
    summary: "Make a key.",
    options: { test: { type: "boolean", help: "a test key: $(exit 1)" } },
  },
  completion,
];
const scripts = completionScripts(table);

test("help texts are quoted, so that no shell interprets them", () => {
  for (const shell of ["zsh", "fish"] as const) {
    assert.ok(scripts[shell].includes("shell'\\''s quotes"), shell);
    assert.match(scripts[shell], /'[^'\n]*a test key: \$\(exit 1\)'/, shell);
  }
  assert.doesNotMatch(scripts.bash, /exit 1|quotes/, "bash shows no descriptions");
});

test("settings are completed after commands, but not after groups or the name of a shell", () => {
  assert.match(scripts.bash, /^ {4}"keys create "\*\) words="" options="--test --help \$settings" ;;$/m);
  assert.match(scripts.bash, /^ {4}"keys "\) words="create" options="--help" ;;$/m);
  assert.match(scripts.bash, /^ {4}"completion "\*\) words="bash zsh fish" options="--help" ;;$/m);
  assert.match(scripts.fish, /-n '__posthorn_in "start"; or __posthorn_in "keys create"' -l http -r/);
});

test("boolean options take no value, settings take one", () => {
  assert.match(scripts.bash, /^ {4}--help \| --version \| --test\) ;;$/m);
  assert.match(scripts.fish, /-l test -d/);
});
