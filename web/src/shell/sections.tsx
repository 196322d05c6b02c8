/** The entries of the navigation, and the pages that do not need a session. */
import {
  FoldersIcon,
  GlobeIcon,
  HomeIcon,
  HookIcon,
  InboxIcon,
  KeyIcon,
  ListIcon,
  MailIcon,
  PeopleIcon,
  PulseIcon,
  QueueIcon,
  StopIcon,
} from "../parts/icons.tsx";

export const sections = [
  { to: "/", label: "Overview", icon: <HomeIcon /> },
  { to: "/emails", label: "Emails", icon: <MailIcon /> },
  { to: "/events", label: "Events", icon: <PulseIcon /> },
  { to: "/inbound", label: "Inbound", icon: <InboxIcon /> },
  { to: "/queue", label: "Queue", icon: <QueueIcon /> },
  { to: "/suppressions", label: "Suppressions", icon: <StopIcon /> },
  { to: "/domains", label: "Domains", icon: <GlobeIcon /> },
  { to: "/webhooks", label: "Webhooks", icon: <HookIcon /> },
  { to: "/keys", label: "API keys", icon: <KeyIcon /> },
  { to: "/audit", label: "Audit log", icon: <ListIcon /> },
  { to: "/workspace", label: "Workspace", icon: <PeopleIcon /> },
] as const;

/** Only for operators of the service. */
export const operatorSections = [
  { to: "/operator/people", label: "People", icon: <PeopleIcon /> },
  { to: "/operator/workspaces", label: "Workspaces", icon: <FoldersIcon /> },
  { to: "/operator/audit", label: "Service audit log", icon: <ListIcon /> },
] as const;

/** Pages that do not need a session. Links in emails lead to them. */
export const publicPages = ["/sign-up", "/forgot-password", "/reset-password", "/invitation"];

/** `/emails/em_…` belongs to `/emails`. */
export function isWithin(path: string, section: string): boolean {
  return section === "/" ? path === "/" : path === section || path.startsWith(`${section}/`);
}
