/** Every Mantine component in use has its styles in mantine.css. Without its line, a component renders unstyled. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tokenOf } from "./theme.ts";

const src = fileURLToPath(new URL("..", import.meta.url));
const styles = join(dirname(createRequire(import.meta.url).resolve("@mantine/core/styles.css")), "styles");

test("mantine.css imports the styles of every component in use", () => {
  const imported = readFileSync(join(src, "design/mantine.css"), "utf8");
  const used = globSync("**/*.tsx", { cwd: src }).flatMap((file) =>
    [...readFileSync(join(src, file), "utf8").matchAll(/import \{([^}]*)\} from "@mantine\/core"/g)].flatMap((match) =>
      match[1]!.split(",").map((name) => name.trim()),
    ),
  );
  assert.ok(used.includes("Button"));
  const missing = [...new Set(used)].filter(
    (name) => existsSync(join(styles, `${name}.css`)) && !imported.includes(`/${name}.css"`),
  );
  assert.deepEqual(missing, []);
});

test("components name colors that the theme knows", () => {
  const named = globSync("**/*.tsx", { cwd: src }).flatMap((file) =>
    [...readFileSync(join(src, file), "utf8").matchAll(/\bcolor=(?:"([^"]+)"|\{[^}\n]*?"([^"]+)"\})/g)].map(
      (match) => ({
        file,
        color: match[1] ?? match[2]!,
      }),
    ),
  );
  assert.ok(named.length > 10);
  // A shade such as red.9 is no name in the theme: the button would be black.
  const unknown = named.filter(({ color }) => !color.startsWith("var(--") && tokenOf[color] === undefined);
  assert.deepEqual(unknown, []);
});
