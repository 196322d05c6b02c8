/** The pages of the dashboard and their addresses. A page is loaded when it is first opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { OverviewPage } from "./pages/overview.tsx";
import { Layout } from "./shell/layout.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { PageError } from "./shell/page-error.tsx";

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });

const overview = createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage });

const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: lazyRouteComponent(() => import("./pages/keys.tsx"), "KeysPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([overview, keys]),
  defaultErrorComponent: PageError,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
