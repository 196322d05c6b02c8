/** Which page of the documentation explains a page of the dashboard. The help menu links to it. */

export type Help = { address: string; label: string };

/** The first entry that a path begins with. `$id` stands for an id. */
const pages: readonly (readonly [path: string, address: string, label: string])[] = [
  ["/emails", "/docs/dashboard", "The email log"],
  ["/send", "/docs/quickstart#send", "Sending email"],
  ["/inbound", "/docs/inbound", "Inbound mail"],
  ["/events", "/docs/events", "Events"],
  ["/domains/$id/reports", "/docs/reports", "Reports about a domain"],
  ["/domains", "/docs/domains", "Sending domains"],
  ["/queue", "/docs/delivery", "Queue and delivery"],
  ["/suppressions", "/docs/inbound#the-suppression-list", "Suppressions"],
  ["/webhooks", "/docs/webhooks", "Webhooks"],
  ["/keys", "/docs/keys", "API keys"],
  ["/workspace", "/docs/people", "Members and workspaces"],
  ["/audit", "/docs/audit", "Audit log"],
  ["/account", "/docs/people", "Your account"],
  ["/operator/audit", "/docs/audit", "Audit log"],
  ["/operator/mail", "/docs/people#mail-to-people", "Mail to people"],
  ["/operator", "/docs/people#operators", "Operators"],
  ["/sign", "/docs/people", "Accounts and sign-in"],
  ["/forgot-password", "/docs/people", "Accounts and sign-in"],
  ["/reset-password", "/docs/people", "Accounts and sign-in"],
  ["/invitation", "/docs/people", "Invitations"],
  ["/dns", "/docs/domains", "DNS records"],
  ["/", "/docs/insight", "Overview and insight"],
];

export function helpFor(path: string): Help {
  const [, address, label] = pages.find(([start]) => begins(path, start)) ?? pages.at(-1)!;
  return { address, label };
}

export const allHelp: readonly string[] = pages.map(([, address]) => address);

function begins(path: string, start: string): boolean {
  return new RegExp(`^${start.replace("$id", "[^/]+")}`).test(path);
}
