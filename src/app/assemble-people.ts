/** The wiring of people: the room itself, its pages, its callers at the API's gate, and the service of workspaces. Called by assemble. */
import type { Accept } from "../accept/accept.ts";
import type { Page } from "../api/dispatch.ts";
import { peoplePages } from "../api/people-pages.ts";
import type { ServiceEntry } from "../api/service.ts";
import { createSessionCallers, type SessionCallers } from "../api/session-caller.ts";
import { createWorkspaceService } from "../api/workspaces.ts";
import type { Log } from "../ops/log.ts";
import { createInvitations } from "../people/invitations.ts";
import { firstToken, linkTo } from "../people/links.ts";
import { createSystemMail } from "../people/mail.ts";
import { createPeople } from "../people/people.ts";
import type { Clock } from "../store/clock.ts";
import type { Sql } from "../store/db.ts";
import type { Secrets } from "../store/secrets.ts";
import { baseUrl } from "./base-url.ts";
import { type Config, isLoopback } from "./config.ts";

/** `once`: the link itself lets its holder in. */
export type FirstSignUp = { link: string; once: boolean };

export type PeopleParts = {
  service: ServiceEntry;
  sessions: SessionCallers;
  pages: Map<string, Page>;
  /** Links lead to the real port as soon as it is known. Gives the first person's, while there is nobody. */
  listensOn(port: number): Promise<FirstSignUp | undefined>;
  stop(): Promise<void>;
};

type PeopleWiring = {
  config: Config;
  sql: Sql;
  log: Log;
  clock: Clock;
  secrets: Secrets;
  accept: Accept;
  workspaceId: string;
  /** A domain of the first workspace that can send in capture mode. */
  exampleDomain: string | undefined;
};

export function createPeopleParts(wiring: PeopleWiring): PeopleParts {
  const { config, sql, log, clock, secrets } = wiring;
  const { publicUrl, trustedProxies } = config;
  let port = config.http.port;
  const base = () => baseUrl(config, port);
  const from = config.systemFrom ?? (wiring.exampleDomain && `Posthorn <posthorn@${wiring.exampleDomain}>`);
  const mail = createSystemMail({ sql, accept: wiring.accept, workspaceId: wiring.workspaceId, from });
  const secure = publicUrl?.startsWith("https:") ?? false;
  const people = createPeople({ sql, log, secrets, mode: config.signup, mail, secure, base, nowMs: clock.nowMs });
  const invitations = createInvitations({ sql, base, nowMs: clock.nowMs, mail });
  const localOnly = isLocalOnly(config);
  return {
    service: createWorkspaceService({ sql, clock, invitations }),
    sessions: createSessionCallers({ people, publicUrl }),
    pages: peoplePages({ people, log, publicUrl, trustedProxies, localOnly }),
    async listensOn(at) {
      port = at;
      if (config.signup === "closed" || (await people.hasPeople())) return undefined;
      if (localOnly) return { link: `${base()}/sign-up`, once: false };
      return { link: linkTo(base(), "first", firstToken(secrets)), once: true };
    },
    stop: people.stop,
  };
}

/** A public address means that somebody passes the world's requests on to us: then loopback proves nothing. */
function isLocalOnly({ onLoopback, publicUrl }: Config): boolean {
  return onLoopback && (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname.replace(/^\[|\]$/g, "")));
}
