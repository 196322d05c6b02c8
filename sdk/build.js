// npm run build: compiles the sources to dist/esm for `import` and to dist/cjs for `require`, each with its own types. The entry
// points are listed in scripts/generators/sdk-package.ts. Plain JavaScript, because an install without Node 24 runs it with the
// machine's own Node.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const dist = join(folder, "dist");
rmSync(dist, { recursive: true, force: true });

for (const config of ["tsconfig.node.json", "tsconfig.browser.json", "tsconfig.cjs.json"]) {
  const done = spawnSync("tsc", ["-p", join(folder, config)], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (done.status !== 0) process.exit(done.status ?? 1);
}

// The nearest package.json decides how Node and TypeScript read .js and .d.ts files, and bundlers read sideEffects there.
writeFileSync(join(dist, "cjs/package.json"), '{ "type": "commonjs", "sideEffects": false }\n');

// The compiler rewrites `.ts` in import paths of .js files, but not of .d.ts files, where only newer compilers accept it.
for (const name of readdirSync(dist, { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const path = join(dist, name);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(/(from |import\()"(\.{1,2}\/[^"]+)\.ts"/g, '$1"$2.js"'));
}
