/** The pages of the dashboard, as they stand in its menu. */
import {
  GlobeIcon,
  HookIcon,
  HouseIcon,
  InboxIcon,
  KeyIcon,
  LetterIcon,
  PeopleIcon,
  PulseIcon,
  QueueIcon,
  StopIcon,
} from "../parts/icons.tsx";

export const sections = [
  { to: "/", label: "Overview", icon: <HouseIcon /> },
  { to: "/emails", label: "Emails", icon: <LetterIcon /> },
  { to: "/events", label: "Events", icon: <PulseIcon /> },
  { to: "/inbound", label: "Inbound", icon: <InboxIcon /> },
  { to: "/queue", label: "Queue", icon: <QueueIcon /> },
  { to: "/suppressions", label: "Suppressions", icon: <StopIcon /> },
  { to: "/domains", label: "Domains", icon: <GlobeIcon /> },
  { to: "/webhooks", label: "Webhooks", icon: <HookIcon /> },
  { to: "/keys", label: "API keys", icon: <KeyIcon /> },
  { to: "/workspace", label: "Workspace", icon: <PeopleIcon /> },
] as const;

/** Pages that need nobody signed in: links from mails lead there. */
export const openPages = ["/sign-up", "/forgot-password", "/reset-password", "/invitation"];

/** `/emails/em_…` belongs to `/emails`. */
export function isWithin(path: string, section: string): boolean {
  return section === "/" ? path === "/" : path === section || path.startsWith(`${section}/`);
}
