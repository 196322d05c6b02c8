/** The pages of the dashboard and their paths. The code of a page is loaded when the page is first opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { readAuditSearch } from "./audit/search.ts";
import { readEmailSearch } from "./emails/search.ts";
import { readEventSearch } from "./events/search.ts";
import { readTextParams } from "./parts/search-params.ts";
import { readReportSearch } from "./reports/range.ts";
import { Layout } from "./shell/layout.tsx";
import { NotFound, PageError } from "./shell/not-found.tsx";

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound });
const getParentRoute = () => root;

/** The router loads the code of a page together with its URL. A visitor without a session sees the sign-in page there instead. */
function onlyWhenShown<Component extends { preload?: unknown }>(component: Component): Component {
  component.preload = undefined;
  return component;
}

const overview = createRoute({
  getParentRoute,
  path: "/",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["range", "by"]),
  component: onlyWhenShown(lazyRouteComponent(() => import("./overview/overview-page.tsx"), "OverviewPage")),
});
const emails = createRoute({
  getParentRoute,
  path: "/emails",
  validateSearch: readEmailSearch,
  component: lazyRouteComponent(() => import("./emails/emails-page.tsx"), "EmailsPage"),
});
const email = createRoute({
  getParentRoute,
  path: "/emails/$id",
  component: lazyRouteComponent(() => import("./emails/email-page.tsx"), "EmailPage"),
});
const send = createRoute({
  getParentRoute,
  path: "/send",
  component: lazyRouteComponent(() => import("./emails/send-form.tsx"), "SendPage"),
});
const events = createRoute({
  getParentRoute,
  path: "/events",
  validateSearch: readEventSearch,
  component: lazyRouteComponent(() => import("./events/events-page.tsx"), "EventsPage"),
});
const inbounds = createRoute({
  getParentRoute,
  path: "/inbound",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["q", "parent"]),
  component: lazyRouteComponent(() => import("./inbound/inbound-page.tsx"), "InboundsPage"),
});
const inbound = createRoute({
  getParentRoute,
  path: "/inbound/$id",
  component: lazyRouteComponent(() => import("./inbound/message-page.tsx"), "InboundPage"),
});
const queue = createRoute({
  getParentRoute,
  path: "/queue",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["q"]),
  component: lazyRouteComponent(() => import("./queue/queue-page.tsx"), "QueuePage"),
});
const suppressions = createRoute({
  getParentRoute,
  path: "/suppressions",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["q", "reason"]),
  component: lazyRouteComponent(() => import("./suppressions/suppressions-page.tsx"), "SuppressionsPage"),
});
const domains = createRoute({
  getParentRoute,
  path: "/domains",
  component: lazyRouteComponent(() => import("./domains/domains-page.tsx"), "DomainsPage"),
});
const domain = createRoute({
  getParentRoute,
  path: "/domains/$id",
  component: lazyRouteComponent(() => import("./domains/domain-page.tsx"), "DomainPage"),
});
const deliverability = createRoute({
  getParentRoute,
  path: "/domains/$id/deliverability",
  component: lazyRouteComponent(() => import("./deliverability/deliverability-page.tsx"), "DeliverabilityPage"),
});
const domainReports = createRoute({
  getParentRoute,
  path: "/domains/$id/reports",
  validateSearch: readReportSearch,
  component: lazyRouteComponent(() => import("./reports/reports-page.tsx"), "ReportsPage"),
});
const sharedDomain = createRoute({
  getParentRoute,
  path: "/dns",
  component: lazyRouteComponent(() => import("./domains/shared-page.tsx"), "SharedDomainPage"),
});
const webhooks = createRoute({
  getParentRoute,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("./webhooks/webhooks-page.tsx"), "WebhooksPage"),
});
const webhook = createRoute({
  getParentRoute,
  path: "/webhooks/$id",
  component: lazyRouteComponent(() => import("./webhooks/webhook-page.tsx"), "WebhookPage"),
});
const keys = createRoute({
  getParentRoute,
  path: "/keys",
  component: lazyRouteComponent(() => import("./keys/keys-page.tsx"), "KeysPage"),
});
const workspace = createRoute({
  getParentRoute,
  path: "/workspace",
  component: lazyRouteComponent(() => import("./workspaces/workspace-page.tsx"), "WorkspacePage"),
});
const audit = createRoute({
  getParentRoute,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("./audit/audit-page.tsx"), "AuditPage"),
});
const account = createRoute({
  getParentRoute,
  path: "/account",
  component: lazyRouteComponent(() => import("./people/account-page.tsx"), "AccountPage"),
});
const operatorPeople = createRoute({
  getParentRoute,
  path: "/operator/people",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["q", "state"]),
  component: lazyRouteComponent(() => import("./operators/people-page.tsx"), "OperatorPeoplePage"),
});
const operatorAudit = createRoute({
  getParentRoute,
  path: "/operator/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("./operators/audit-page.tsx"), "OperatorAuditPage"),
});
const operatorMail = createRoute({
  getParentRoute,
  path: "/operator/mail",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["q", "outcome"]),
  component: lazyRouteComponent(() => import("./operators/system-mail-page.tsx"), "OperatorMailPage"),
});
const operatorWordings = createRoute({
  getParentRoute,
  path: "/operator/wordings",
  component: lazyRouteComponent(() => import("./operators/wordings-page.tsx"), "OperatorWordingsPage"),
});
const operatorWorkspaces = createRoute({
  getParentRoute,
  path: "/operator/workspaces",
  validateSearch: (raw: Record<string, unknown>) => readTextParams(raw, ["q", "state"]),
  component: lazyRouteComponent(() => import("./operators/workspaces-page.tsx"), "OperatorWorkspacesPage"),
});
const signUp = createRoute({
  getParentRoute,
  path: "/sign-up",
  component: lazyRouteComponent(() => import("./people/sign-up-page.tsx"), "SignUpPage"),
});
const signIn = createRoute({
  getParentRoute,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./people/sign-in-page.tsx"), "SignInPage"),
});
const forgotPassword = createRoute({
  getParentRoute,
  path: "/forgot-password",
  component: lazyRouteComponent(() => import("./people/forgot-password-page.tsx"), "ForgotPasswordPage"),
});
const resetPassword = createRoute({
  getParentRoute,
  path: "/reset-password",
  component: lazyRouteComponent(() => import("./people/reset-password-page.tsx"), "ResetPasswordPage"),
});
const invitation = createRoute({
  getParentRoute,
  path: "/invitation",
  component: lazyRouteComponent(() => import("./people/invitation-page.tsx"), "InvitationPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    ...[overview, emails, email, send, events, inbounds, inbound, queue, suppressions],
    ...[
      domains,
      domain,
      deliverability,
      domainReports,
      sharedDomain,
      webhooks,
      webhook,
      keys,
      workspace,
      audit,
      account,
    ],
    ...[operatorPeople, operatorWorkspaces, operatorMail, operatorWordings, operatorAudit],
    ...[signIn, signUp, forgotPassword, resetPassword, invitation],
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
