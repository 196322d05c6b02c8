// Checks the reference pages: links resolve, every element is on a page, and a shell can run the examples.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { readContract } from "./descriptors.ts";
import { generate } from "./reference.ts";
import { curl } from "./reference-service.ts";
import { pageOf, slug } from "./reference-types.ts";

const contract = await readContract();
const pages = await generate();
const page = (name: string) => pages.get(`docs/reference/${name}`)!;

test("every link resolves to a heading", () => {
  const anchors = new Set<string>();
  for (const [path, text] of pages) {
    anchors.add(path);
    for (const [, heading] of text.matchAll(/^#+ (.+)$/gm)) anchors.add(`${path}#${slug(heading!)}`);
  }
  for (const [path, text] of pages) {
    for (const [, target] of text.matchAll(/\]\(([^)]+)\)/g)) {
      const anchor = target!.startsWith("#") ? path + target : `docs/reference/${target}`;
      assert.ok(anchors.has(anchor), `${path} links to ${target}`);
    }
  }
});

test("no page has two headings with the same anchor", () => {
  for (const [path, text] of pages) {
    const slugs = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slug(heading!));
    const twice = slugs.filter((one, i) => slugs.indexOf(one) !== i);
    assert.deepEqual(twice, [], path);
  }
});

test("every method is on its page with path, permission and errors", () => {
  for (const service of contract.services) {
    const text = page(pageOf(service.file));
    for (const method of service.methods) {
      const section = text.split(/^## /m).find((part) => part.startsWith(`${method.name}\n`)) ?? "";
      assert.match(section, new RegExp(`POST /v1\\.${service.name}/${method.name}. · permission: `), method.name);
      assert.match(section, /errors\.md#invalid_argument/, method.name);
      assert.equal(section.includes("> Planned"), contract.policy(method).planned, method.name);
    }
  }
});

test("every field of every message is in a table", () => {
  for (const type of contract.types) {
    if (type.kind !== "message" || type.typeName === "v1.MethodPolicy") continue;
    const text = page(pageOf(type.file));
    for (const field of type.fields) assert.ok(text.includes(`| \`${field.jsonName}\` | `), field.toString());
  }
});

test("generation is deterministic", async () => {
  assert.deepEqual(await generate(), pages);
});

test("quotes in an example survive a shell", () => {
  const method = contract.services[0]!.methods[0]!;
  const example = { domain: "it's | $HOME `id`.example" };
  const script = curl(method, example).replace(/^curl/, 'print() { for last; do :; done; printf %s "$last"; }; print');
  assert.deepEqual(JSON.parse(execFileSync("sh", ["-c", script], { encoding: "utf8" })), example);
});
