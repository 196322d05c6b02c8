/** Every text color of tokens.css has a contrast of at least 4.5:1 (WCAG 1.4.3) on every ground that it appears on, in both schemes. Marks
 * without text need 3:1 (WCAG 1.4.11). */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

const css = await readFile(new URL("tokens.css", import.meta.url), "utf8");
const schemes = {
  light: tokens(":root"),
  dark: { ...tokens(":root"), ...tokens('[data-mantine-color-scheme="dark"]') },
};

/** The colors of the rule with this selector. */
function tokens(selector: string): Record<string, string> {
  const rule = css.slice(css.indexOf(`${selector} {`)).split("}")[0]!;
  return Object.fromEntries([...rule.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((match) => [match[1]!, match[2]!]));
}

/** WCAG 2: relative luminance. */
function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

const grounds = ["paper", "surface", "sunken"];
const washes = Object.keys(schemes.light).filter((name) => name.endsWith("-wash"));
const outcomes = washes.map((name) => name.slice(0, -5)).filter((name) => name !== "gold");
/** Text and the grounds that it appears on. */
const pairs = [
  ...["ink", "ink-2", "ink-3", "link", "gold-strong", ...outcomes].flatMap((text) => grounds.map((on) => [text, on])),
  ...outcomes.map((name) => [name, `${name}-wash`]),
  ["gold-strong", "gold-wash"],
  // Sentences, and what a reader scans, on the wash of an outcome or on the current entry.
  ...["ink", "ink-2", "link"].flatMap((text) => washes.map((on) => [text, on])),
  // Filled buttons.
  ["paper", "ink"],
  ["paper", "ink-2"],
  ...outcomes.map((name) => ["surface", name]),
  ["night-ink", "night"],
  ["night-ink-2", "night"],
  ["night-gold", "night"],
  ["night-green", "night"],
] as [string, string][];

for (const [scheme, colors] of Object.entries(schemes)) {
  test(`text is readable on its ground in the ${scheme} scheme`, () => {
    assert.equal(outcomes.length, 10);
    const weak = pairs
      .map(([text, ground]) => ({ text, ground, ratio: contrast(colors[text]!, colors[ground]!) }))
      .filter(({ ratio }) => !(ratio >= 4.5))
      .map(({ text, ground, ratio }) => `${text} on ${ground}: ${ratio.toFixed(2)}`);
    assert.deepEqual(weak, []);
  });

  test(`borders of fields, focus rings and the horn are visible in the ${scheme} scheme`, () => {
    const weak = ["control-line", "focus", "gold"]
      .flatMap((mark) => grounds.map((ground) => ({ mark, ground, ratio: contrast(colors[mark]!, colors[ground]!) })))
      .filter(({ ratio }) => !(ratio >= 3))
      .map(({ mark, ground, ratio }) => `${mark} on ${ground}: ${ratio.toFixed(2)}`);
    assert.deepEqual(weak, []);
  });
}

test("styles use tokens instead of colors of their own", async () => {
  const root = new URL("../", import.meta.url);
  const files = await readdir(root, { recursive: true });
  const names = files.filter((name) => name.endsWith(".css") && name !== join("design", "tokens.css"));
  assert.ok(names.length > 5);
  for (const name of names) {
    const text = await readFile(new URL(name, root), "utf8");
    assert.deepEqual(text.match(/#[0-9a-f]{3,8}\b(?!\w)/gi) ?? [], [], name);
  }
});
