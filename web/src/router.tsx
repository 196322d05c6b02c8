/** The pages of the dashboard and their addresses. A page is loaded when it is first opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { readEmailSearch } from "./emails/search.ts";
import { readEventSearch } from "./events/search.ts";
import { readTexts } from "./parts/search-texts.ts";
import { Layout } from "./shell/layout.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { PageError } from "./shell/page-error.tsx";

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });
const getParentRoute = () => root;

const overview = createRoute({
  ...{ getParentRoute, path: "/" },
  validateSearch: (raw: Record<string, unknown>) => readTexts(raw, ["range"]),
  component: lazyRouteComponent(() => import("./pages/overview.tsx"), "OverviewPage"),
});
const emails = createRoute({
  ...{ getParentRoute, path: "/emails", validateSearch: readEmailSearch },
  component: lazyRouteComponent(() => import("./pages/emails.tsx"), "EmailsPage"),
});
const email = createRoute({
  ...{ getParentRoute, path: "/emails/$id" },
  component: lazyRouteComponent(() => import("./pages/email.tsx"), "EmailPage"),
});
const send = createRoute({
  ...{ getParentRoute, path: "/send" },
  component: lazyRouteComponent(() => import("./pages/send.tsx"), "SendPage"),
});
const events = createRoute({
  ...{ getParentRoute, path: "/events", validateSearch: readEventSearch },
  component: lazyRouteComponent(() => import("./pages/events.tsx"), "EventsPage"),
});
const inbounds = createRoute({
  ...{ getParentRoute, path: "/inbound" },
  validateSearch: (raw: Record<string, unknown>) => readTexts(raw, ["q", "parent"]),
  component: lazyRouteComponent(() => import("./pages/inbounds.tsx"), "InboundsPage"),
});
const inbound = createRoute({
  ...{ getParentRoute, path: "/inbound/$id" },
  component: lazyRouteComponent(() => import("./pages/inbound.tsx"), "InboundPage"),
});
const queue = createRoute({
  ...{ getParentRoute, path: "/queue" },
  validateSearch: (raw: Record<string, unknown>) => readTexts(raw, ["q"]),
  component: lazyRouteComponent(() => import("./pages/queue.tsx"), "QueuePage"),
});
const suppressions = createRoute({
  ...{ getParentRoute, path: "/suppressions" },
  validateSearch: (raw: Record<string, unknown>) => readTexts(raw, ["q", "reason"]),
  component: lazyRouteComponent(() => import("./pages/suppressions.tsx"), "SuppressionsPage"),
});
const domains = createRoute({
  ...{ getParentRoute, path: "/domains" },
  component: lazyRouteComponent(() => import("./pages/domains.tsx"), "DomainsPage"),
});
const domain = createRoute({
  ...{ getParentRoute, path: "/domains/$id" },
  component: lazyRouteComponent(() => import("./pages/domain.tsx"), "DomainPage"),
});
const webhooks = createRoute({
  ...{ getParentRoute, path: "/webhooks" },
  component: lazyRouteComponent(() => import("./pages/webhooks.tsx"), "WebhooksPage"),
});
const webhook = createRoute({
  ...{ getParentRoute, path: "/webhooks/$id" },
  component: lazyRouteComponent(() => import("./pages/webhook.tsx"), "WebhookPage"),
});
const keys = createRoute({
  ...{ getParentRoute, path: "/keys" },
  component: lazyRouteComponent(() => import("./pages/keys.tsx"), "KeysPage"),
});
const workspace = createRoute({
  ...{ getParentRoute, path: "/workspace" },
  component: lazyRouteComponent(() => import("./pages/workspace.tsx"), "WorkspacePage"),
});
const account = createRoute({
  ...{ getParentRoute, path: "/account" },
  component: lazyRouteComponent(() => import("./pages/account.tsx"), "AccountPage"),
});
const signUp = createRoute({
  ...{ getParentRoute, path: "/sign-up" },
  component: lazyRouteComponent(() => import("./pages/sign-up.tsx"), "SignUpPage"),
});
const forgotPassword = createRoute({
  ...{ getParentRoute, path: "/forgot-password" },
  component: lazyRouteComponent(() => import("./pages/forgot-password.tsx"), "ForgotPasswordPage"),
});
const resetPassword = createRoute({
  ...{ getParentRoute, path: "/reset-password" },
  component: lazyRouteComponent(() => import("./pages/reset-password.tsx"), "ResetPasswordPage"),
});
const invitation = createRoute({
  ...{ getParentRoute, path: "/invitation" },
  component: lazyRouteComponent(() => import("./pages/invitation.tsx"), "InvitationPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    ...[overview, emails, email, send, events, inbounds, inbound, queue, suppressions],
    ...[domains, domain, webhooks, webhook, keys, workspace, account],
    ...[signUp, forgotPassword, resetPassword, invitation],
  ]),
  defaultErrorComponent: PageError,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
