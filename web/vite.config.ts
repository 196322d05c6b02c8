/** Builds the dashboard and the documentation into web/dist. `npm run dev -w web` serves it with live reload and forwards calls to a running server. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { docsPlugin } from "./src/docs/build.ts";

const server = "http://127.0.0.1:8825";

export default defineConfig({
  plugins: [react(), docsPlugin(), brotli()],
  build: {
    target: "es2022",
    rolldownOptions: { input: ["index.html", "docs.html"] },
    // The polyfill is an inline script, which the page's Content-Security-Policy does not allow.
    modulePreload: { polyfill: false },
    // Nor does it allow data: URLs, which Vite uses for small fonts.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // src/build.test.ts checks the actual budget: 300 kB compressed for the first view, with its font.
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "^/v1\\.": server, "/readyz": server, "/auth": server, "/docs": server, "/shared": server } },
});

/** Writes a compressed copy of each text file of the dashboard. Brotli at its best level is a seventh smaller than gzip, but too slow for the running server. */
function brotli(): Plugin {
  const compress = promisify(brotliCompress);
  return {
    name: "brotli",
    async writeBundle({ dir }, bundle) {
      const texts = Object.values(bundle).filter(({ fileName }) => /^(?!docs).*\.(js|css|html|svg)$/.test(fileName));
      await Promise.all(
        texts.map(async (file) => {
          const body = file.type === "chunk" ? file.code : file.source;
          await writeFile(join(dir!, `${file.fileName}.br`), await compress(body));
        }),
      );
    },
  };
}
