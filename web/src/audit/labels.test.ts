import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { actionText, nounText } from "./labels.ts";

test("every action that the program records has words", () => {
  const root = new URL("../../../", import.meta.url);
  const sources = globSync("src/**/*.ts", { cwd: root, exclude: (name) => name.endsWith(".test.ts") });
  const recorded = new Set<string>();
  for (const file of sources) {
    const text = readFileSync(new URL(file, root), "utf8");
    if (!text.includes("audit/")) continue;
    for (const [, action] of text.matchAll(/(?:action: |[cC]hange(?:Of)?\(|inLog\(call, )"([a-z_]+\.[a-z_]+)"/g))
      recorded.add(action!);
  }
  assert.ok(recorded.size > 30, [...recorded].join(" "));
  assert.deepEqual(
    [...recorded].filter((action) => actionText(action) === action),
    [],
  );
});

test("a badge names the noun in sentence case", () => {
  assert.equal(nounText("key.created"), "API key");
  assert.equal(nounText("sign_in.refused"), "Sign-in");
  assert.equal(nounText("queue.paused"), "Queue");
});
