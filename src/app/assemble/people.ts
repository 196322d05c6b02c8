/** Wires people: sign-up and sign-in, their HTTP pages, session callers for the API's gate, and WorkspaceService. Called by assemble.ts. */
import { rm } from "node:fs/promises";
import type { Accept } from "../../emails/accept.ts";
import { createSystemMail, type SystemMail } from "../../emails/system-mail.ts";
import type { ServiceEntry } from "../../http/call.ts";
import type { PageHandler } from "../../http/dispatch.ts";
import type { SessionCallers } from "../../http/gate.ts";
import { forgetDeletedInviter } from "../../operators/store/person-deletion.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { createAccess } from "../../people/access.ts";
import { createAccountMail } from "../../people/account-mail.ts";
import { createInvitations } from "../../people/invitations.ts";
import { firstToken, linkTo } from "../../people/links.ts";
import { createOidc } from "../../people/oidc/flow.ts";
import { createMethods } from "../../people/oidc/methods.ts";
import { oidcActions, oidcRedirects } from "../../people/oidc/pages.ts";
import { createOidcRefusals } from "../../people/oidc/refusals.ts";
import { peoplePages } from "../../people/pages.ts";
import { createPeople } from "../../people/people.ts";
import { createRefusalRecorder } from "../../people/refusals.ts";
import { oidcReasons } from "../../people/rules/oidc-refusal.ts";
import type { Provider } from "../../people/rules/provider.ts";
import { createSessionCallers } from "../../people/session-caller.ts";
import { countPasswordOnly } from "../../people/store/identities.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Secrets } from "../../postgres/sealing.ts";
import type { Quotas } from "../../quotas/quotas.ts";
import { createWorkspaceService } from "../../workspaces/service.ts";
import type { Config } from "../config.ts";
import { baseUrl } from "../config.ts";
import { firstSignUpFile, writePrivate } from "../files.ts";

/** The one-time link of the first person, and the file that holds it. */
export type FirstSignUp = { link: string; file: string };

export type PeopleParts = {
  mail: SystemMail;
  service: ServiceEntry;
  sessions: SessionCallers;
  pages: Map<string, PageHandler>;
  /** Called once the HTTP port is known: links name that port from then on. Returns the first person's link until a person exists. */
  onListening(port: number): Promise<FirstSignUp | undefined>;
  stop(): Promise<void>;
};

type PeopleWiring = {
  config: Config;
  sql: Sql;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  secrets: Secrets;
  accept: Accept;
  quotas: Quotas;
  /** The providers of single sign-on, whose workspaces exist. */
  providers: readonly Provider[];
  workspaceId: string;
  systemWorkspaceId: string;
  /** A domain of the first workspace that can send in capture mode. */
  exampleDomain: string | undefined;
};

export function createPeopleParts(wiring: PeopleWiring): PeopleParts {
  const { config, sql, log, clock, secrets } = wiring;
  const { publicUrl, trustedProxies, mostOwned, requireSecondFactor } = config;
  let port = config.http.port;
  const base = () => baseUrl(config, port);
  const from = config.systemFrom ?? (wiring.exampleDomain && `Posthorn <posthorn@${wiring.exampleDomain}>`);
  const { accept, workspaceId, systemWorkspaceId } = wiring;
  const system = createSystemMail({ sql, accept, firstWorkspaceId: workspaceId, systemWorkspaceId, from });
  const mail = createAccountMail({ sql, log, mail: system, nowMs: clock.nowMs });
  const access = createAccess({ sql, mode: config.signup });
  const secure = publicUrl?.startsWith("https:") ?? false;
  const linkFile = firstSignUpFile(config.dataDir);
  const removeLink = () =>
    rm(linkFile, { force: true }).catch((error) => log.warn({ err: error }, `cannot remove ${linkFile}`));
  const recordRefusal = createRefusalRecorder({ sql, log });
  const people = createPeople({
    sql,
    log,
    secrets,
    mode: config.signup,
    passwordSignIn: config.passwordSignIn,
    providers: wiring.providers,
    mail,
    access,
    mostOwned,
    secure,
    publicUrl,
    requireSecondFactor,
    base,
    nowMs: clock.nowMs,
    recordRefusal,
    countRefusal: (reason) => wiring.metrics.signInRefusals.inc({ reason }),
    onPerson: removeLink,
  });
  const { quotas, providers, metrics } = wiring;
  const { passwordSignIn } = config;
  const { requireSession, requireRecentSession } = people;
  // rate() sees the first refusal only as an increase from 0.
  for (const result of ["ok", ...oidcReasons]) metrics.oidcSignIns.inc({ result }, 0);
  const oidc = createOidc({
    sql,
    log,
    access,
    quotas,
    mostOwned,
    nowMs: clock.nowMs,
    onPerson: removeLink,
    providers,
    mode: config.signup,
    secure,
    base,
    refusals: createOidcRefusals({ log, metrics, record: recordRefusal }),
    async begin(person, proof, visitor) {
      const { value, cookies } = await people.signInSteps.begin(person, proof, visitor);
      return { cookies, needsSecondFactor: "secondFactor" in value };
    },
    requireSession,
    requireRecentSession,
  });
  const methods = createMethods({ sql, providers, passwordSignIn, requireSession, requireRecentSession });
  const invitations = createInvitations({
    sql,
    base,
    nowMs: clock.nowMs,
    mode: config.signup,
    mail,
    quotas,
    forgetDeletedInviter: (personId) => forgetDeletedInviter(sql, personId),
  });
  const signUpIsOpen = config.signup === "open";
  /** Writes the file again when the secret was replaced. */
  async function writeLink(): Promise<FirstSignUp | undefined> {
    if (config.signup === "closed" || !passwordSignIn || (await people.hasPeople())) return void (await removeLink());
    const link = linkTo(base(), "first", firstToken(secrets));
    await writePrivate(linkFile, `${link}\n`);
    return { link, file: linkFile };
  }
  const warnOfPasswordOnly = async () => {
    const count = await countPasswordOnly(sql);
    if (count > 0) log.warn({ people: count }, "passwords are turned off, but these people have linked no provider");
  };
  return {
    mail: system,
    service: createWorkspaceService({ sql, clock, invitations, quotas, signUpIsOpen, mostOwned }),
    sessions: createSessionCallers({ people, access, publicUrl, requireSecondFactor }),
    pages: peoplePages({
      people,
      log,
      publicUrl,
      trustedProxies,
      passwordSignIn,
      providers,
      actions: oidcActions(oidc, methods),
      redirects: oidcRedirects(oidc),
    }),
    async onListening(httpPort) {
      port = httpPort;
      if (config.signup === "open") {
        const problem = await system.problem();
        if (problem) log.warn(`POSTHORN_SIGNUP is open, but sign-up stays closed: ${problem}`);
      }
      if (!passwordSignIn) await warnOfPasswordOnly();
      const rewrite = () => writeLink().catch((error) => log.warn({ err: error }, `cannot write ${linkFile}`));
      secrets.onChange(() => void rewrite());
      return await writeLink();
    },
    async stop() {
      await people.stop();
      await mail.stop();
    },
  };
}
