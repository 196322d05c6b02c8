/** How the dashboard is built into web/dist, and how `npm run dev -w web` reaches a running server. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = "http://127.0.0.1:8825";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // The policy that the files are served with allows no inline script.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The budget that counts, 400 kB compressed for the first view, is held by a test.
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "^/v1\\.": server, "/readyz": server, "/auth": server } },
});
