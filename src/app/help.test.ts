import assert from "node:assert/strict";
import { test } from "node:test";
import { type CommandInfo, groupsOf, helpTexts } from "./help.ts";

const table: CommandInfo[] = [
  { name: "start", summary: "Run it.", options: {} },
  {
    name: "keys create",
    summary: "Make a key.",
    words: "NAME",
    options: {
      role: { type: "string", help: "full or read", value: "full" },
      json: { type: "boolean", help: "as JSON" },
    },
  },
  { name: "keys list", summary: "List keys.", options: {} },
];

test("commands that share a first word form a group", () => {
  assert.deepEqual(groupsOf(table), { keys: ["create", "list"] });
});

test("the program, each group and each command have a help text", () => {
  const texts = helpTexts(table);
  assert.deepEqual(Object.keys(texts), ["", "keys", "start", "keys create", "keys list"]);
  assert.match(texts[""]!, /^ {2}keys create NAME {2}Make a key\.$/m);
  assert.match(texts.keys!, /^Usage: posthorn keys COMMAND[\s\S]*keys list/);
  assert.doesNotMatch(texts.keys!, /start/);
  assert.match(texts["keys create"]!, /^Make a key\.\n\nUsage: posthorn keys create NAME \[options\]/);
  assert.match(texts["keys create"]!, /^ {2}--role ROLE {2}full or read \(default full\)$/m);
  assert.match(texts["keys create"]!, /^ {2}--json {7}as JSON$/m);
  assert.match(texts.start!, /^ {2}--http +POSTHORN_HTTP /m);
});
