import assert from "node:assert/strict";
import { test } from "node:test";
import { completionScripts } from "./completion.ts";
import { completion, type Described } from "./help.ts";

const table: Described[] = [
  { name: "start", summary: "Run it, whatever the shell's quotes do.", options: {} },
  {
    name: "keys create",
    summary: "Make a key.",
    options: { test: { type: "boolean", help: "a test key: $(exit 1)" } },
  },
  completion,
];
const scripts = completionScripts(table);

test("what help says is quoted: no shell runs or ends at it", () => {
  for (const shell of ["zsh", "fish"] as const) {
    assert.ok(scripts[shell].includes("shell'\\''s quotes"), shell);
    assert.match(scripts[shell], /'[^'\n]*a test key: \$\(exit 1\)'/, shell);
  }
  assert.doesNotMatch(scripts.bash, /exit 1|quotes/, "bash shows no descriptions");
});

test("settings are offered behind commands, not behind groups or a shell's name", () => {
  assert.match(scripts.bash, /^ {4}"keys create "\*\) words="" options="--test --help \$settings" ;;$/m);
  assert.match(scripts.bash, /^ {4}"keys "\) words="create" options="--help" ;;$/m);
  assert.match(scripts.bash, /^ {4}"completion "\*\) words="bash zsh fish" options="--help" ;;$/m);
  assert.match(scripts.fish, /-n '__posthorn_in "start"; or __posthorn_in "keys create"' -l http -r/);
});

test("a switch takes no value, a setting takes one", () => {
  assert.match(scripts.bash, /^ {4}--help \| --version \| --test\) ;;$/m);
  assert.match(scripts.fish, /-l test -d/);
});
