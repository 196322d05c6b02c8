/** Builds the dashboard into web/dist. `npm run dev -w web` serves it with live reload and forwards calls to a running server. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = "http://127.0.0.1:8825";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // The polyfill is an inline script, which the page's Content-Security-Policy does not allow.
    modulePreload: { polyfill: false },
    // Nor does it allow data: URLs, which Vite uses for small fonts.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // src/build.test.ts checks the actual budget: 400 kB compressed for the first view.
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "^/v1\\.": server, "/readyz": server, "/auth": server } },
});
