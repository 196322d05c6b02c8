/**
 * Starts the dashboard: renders the router with the providers that all pages share (theme, API transport, query cache).
 * router.tsx lists the pages, one folder per noun. api/ calls the server, parts/ has shared components, shell/ the frame around pages.
 * Continue with router.tsx, then the page that you want to change.
 */
import { queryClient } from "./api/query-client.ts";
import "@fontsource-variable/inter/wght.css";
import "@fontsource/jetbrains-mono/400.css";
import "./design/mantine.css";
import "./design/tokens.css";
import "./design/base.css";
import "./main.css";
import { TransportProvider } from "@connectrpc/connect-query";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { transport } from "./api/transport.ts";
import { colors, theme } from "./design/theme.ts";
import { router } from "./router.tsx";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={colors} defaultColorScheme="auto">
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TransportProvider>
    </MantineProvider>
  </StrictMode>,
);
