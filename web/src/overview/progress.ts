/** What is done of the first steps. Pure: guide.tsx passes what the server lists and what the browser remembers. */

/** What a new instance in capture mode has of its own (src/domains/example.ts, src/app/first-start.ts). It ticks no step. */
const builtIn = { domain: "example.test", keys: ["first key", "POSTHORN_API_KEY"] };

/** What the browser remembers of the guide in one workspace. */
export type Remembered = {
  state?: "open" | "dismissed";
  /** The email that was sent with the guide. */
  sentId?: string;
  isKeySkipped?: boolean;
  areEventsSeen?: boolean;
};

export type Facts = {
  /** The newest first. */
  domains: readonly { id: string; domain: string; canSend: boolean }[];
  keys: readonly { name: string; isRevoked: boolean }[];
  hasWebhook: boolean;
  /** The newest email from the domain of the guide. */
  emailId: string | undefined;
};

export const stepIds = ["domain", "records", "key", "send", "events", "webhook"] as const;
export type StepId = (typeof stepIds)[number];

export type Progress = {
  done: Record<StepId, boolean>;
  /** The first step that is not done; undefined when all are. */
  current: StepId | undefined;
  /** The domain that the guide is about: one that can send, else the newest. */
  domain: Facts["domains"][number] | undefined;
  sentId: string | undefined;
};

export function ownDomain(domains: Facts["domains"]): Facts["domains"][number] | undefined {
  const own = domains.filter(({ domain }) => domain !== builtIn.domain);
  return own.find(({ canSend }) => canSend) ?? own[0];
}

export function progressOf(facts: Facts, remembered: Remembered): Progress {
  const domain = ownDomain(facts.domains);
  const sentId = remembered.sentId ?? facts.emailId;
  const done = {
    domain: domain !== undefined,
    records: domain?.canSend === true,
    key:
      remembered.isKeySkipped === true ||
      facts.keys.some(({ name, isRevoked }) => !isRevoked && !builtIn.keys.includes(name)),
    send: sentId !== undefined,
    events: remembered.areEventsSeen === true || facts.hasWebhook,
    webhook: facts.hasWebhook,
  };
  return { done, current: stepIds.find((id) => !done[id]), domain, sentId };
}

/** True for a workspace that this browser sees for the first time, and that sends already: it needs no first steps. */
export function isEstablished({ done }: Progress, remembered: Remembered): boolean {
  return remembered.state === undefined && done.records && done.send;
}
