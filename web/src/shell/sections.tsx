/** The entries of the navigation in their groups, the letters that open them after `g`, and the pages that do not need a session. */

export type SectionGroup = { title: string; links: readonly Section[] };
export type Section = { to: string; label: string; letter?: string };

export const groups = [
  {
    title: "Mail",
    links: [
      { to: "/", label: "Overview", letter: "o" },
      { to: "/emails", label: "Emails", letter: "e" },
      { to: "/inbound", label: "Inbound", letter: "i" },
      { to: "/events", label: "Events", letter: "v" },
    ],
  },
  {
    title: "Sending",
    links: [
      { to: "/domains", label: "Domains", letter: "d" },
      { to: "/queue", label: "Queue", letter: "q" },
      { to: "/suppressions", label: "Suppressions", letter: "s" },
    ],
  },
  {
    title: "Developers",
    links: [
      { to: "/webhooks", label: "Webhooks", letter: "w" },
      { to: "/keys", label: "API keys", letter: "k" },
    ],
  },
  {
    title: "Workspace",
    links: [
      { to: "/workspace", label: "Members and settings", letter: "m" },
      { to: "/audit", label: "Audit log", letter: "a" },
    ],
  },
] as const satisfies readonly SectionGroup[];

/** Only for operators of the service. */
export const operatorGroup = {
  title: "Operator",
  links: [
    { to: "/operator/people", label: "People" },
    { to: "/operator/workspaces", label: "Workspaces" },
    { to: "/operator/mail", label: "System mail" },
    { to: "/operator/wordings", label: "Unknown wordings" },
    { to: "/operator/audit", label: "Service audit log" },
  ],
} as const satisfies SectionGroup;

/** Pages that do not need a session. Links in emails lead to them. */
export const publicPages = ["/sign-up", "/forgot-password", "/reset-password", "/invitation", "/dns"];

/** `/emails/em_…` belongs to `/emails`. */
export function isWithin(path: string, section: string): boolean {
  return section === "/" ? path === "/" : path === section || path.startsWith(`${section}/`);
}
