/** posthorn people: lists and invites people and resets their passwords, on a running or a stopped instance. */
import { audited, commandLine, record } from "../../audit/record.ts";
import { type Role, roles } from "../../http/caller.ts";
import { getPersonEntry } from "../../operators/store/people.ts";
import { Problem } from "../../ops/problem.ts";
import { createInvitations } from "../../people/invitations.ts";
import { firstToken, linkTo } from "../../people/links.ts";
import { makeResetLink } from "../../people/resets.ts";
import { endOperator, removeAllFactors } from "../../people/store/factors.ts";
import { findPerson, hasPeople, listPeople } from "../../people/store.ts";
import { toWireId } from "../../postgres/ids.ts";
import { readEmail } from "../../workspaces/rules.ts";
import { type Command, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { baseUrl } from "../config.ts";
import { readPorts } from "../files.ts";
import { table } from "../output.ts";
import { peopleExport } from "./export.ts";
import { peopleOperators } from "./people-operators.ts";
import { withStore } from "./with-store.ts";
import { workspaceFrom, workspaceOption } from "./workspace-option.ts";

const peopleList: Command = {
  name: "people list",
  summary: "List the people who signed up, with their state, second factors and workspaces.",
  options: { json: { type: "boolean", help: "one JSON object per line" } },
  async run({ options, config }) {
    await withStore(config(), async ({ sql }) => {
      const people = (await listPeople(sql)).map((person) => ({ ...person, id: toWireId("person", person.id) }));
      if (options.json) for (const person of people) process.stdout.write(`${JSON.stringify(person)}\n`);
      else {
        const rows = people.map((p) => [
          p.email,
          p.name,
          `${p.disabledAt ? "disabled" : "active"}${p.isOperator ? ", operator" : ""}`,
          p.lastSeenAt?.toISOString() ?? "never",
          p.workspaces ?? "none",
          factorsText(p),
        ]);
        const head = ["EMAIL", "NAME", "STATE", "LAST SEEN", "WORKSPACES", "SECOND FACTORS"];
        process.stdout.write(table([head, ...rows], ""));
      }
    });
  },
};

const peopleFirstLink: Command = {
  name: "people first-link",
  summary: "Print only the one-time link with which the first person signs up.",
  options: {},
  async run({ config: read }) {
    const config = read();
    if (config.signup === "closed")
      throw new UsageError("POSTHORN_SIGNUP is closed. Invite the first person with: posthorn people invite EMAIL");
    if (!config.passwordSignIn)
      throw new UsageError(
        "POSTHORN_PASSWORD_SIGN_IN is off. Invite the first person, who signs in with a provider: posthorn people invite EMAIL",
      );
    const base = await currentBaseUrl(config);
    await withStore(config, async ({ sql, secrets }) => {
      if (await hasPeople(sql))
        throw new Problem(
          "failed_precondition",
          "A person has signed up already. Invite others with: posthorn people invite EMAIL",
        );
      process.stdout.write(`${linkTo(base, "first", firstToken(secrets))}\n`);
    });
  },
};

const peopleInvite: Command = {
  name: "people invite",
  summary:
    "Invite a person to a workspace and print only the link on standard output. Works with every POSTHORN_SIGNUP.",
  words: "EMAIL",
  options: {
    workspace: workspaceOption,
    role: { type: "string", help: roles.join(", "), value: "owner" },
  },
  async run({ words, options, config: read }) {
    const role = String(options.role ?? "owner");
    if (!(roles as readonly string[]).includes(role))
      throw new UsageError(`--role must be one of ${roles.join(", ")}, not ${JSON.stringify(role)}`);
    const email = oneEmail(words);
    const config = read();
    const base = await currentBaseUrl(config);
    await withStore(config, async ({ sql, nowMs }) => {
      const person = await findPerson(sql, email);
      if (person && (await getPersonEntry(sql, person.id))?.disabledAt)
        throw new UsageError(
          `${email} is disabled, so an invitation would not work. First: posthorn people enable ${email}`,
        );
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      const invitations = createInvitations({ sql, base: () => base, nowMs, mode: config.signup, mail: undefined });
      const { url } = await invitations.invite({
        workspaceId,
        email,
        role: role as Role,
        inviter: undefined,
        actor: commandLine,
      });
      process.stdout.write(`${url}\n`);
    });
  },
};

const peopleResetPassword: Command = {
  name: "people reset-password",
  summary: "Print only a link with which a person can set a new password within an hour.",
  words: "EMAIL",
  options: {},
  async run({ words, config: read }) {
    const email = oneEmail(words);
    const config = read();
    if (!config.passwordSignIn)
      throw new UsageError(
        "POSTHORN_PASSWORD_SIGN_IN is off, so a password opens no account. To let a person in who has linked no provider, set it to on, restart, run this command again, and let the person link a provider on the account page.",
      );
    const base = await currentBaseUrl(config);
    await withStore(config, async ({ sql }) => {
      const person = await findPerson(sql, email);
      if (!person) throw new UsageError(`No person signed up with ${email}. See: posthorn people list`);
      const link = await audited(
        sql,
        commandLine,
        (tx) => makeResetLink(tx, email, { base, byMail: false }),
        () => ({ action: "person.reset_link_created", target: { kind: "person", id: person.id } }),
      );
      process.stdout.write(`${link}\n`);
    });
  },
};

const peopleRemoveFactors: Command = {
  name: "people remove-factors",
  summary:
    "Remove the lost second factors of a person: authenticator app, recovery codes and passkeys. Ends all sessions and the rights of an operator.",
  words: "EMAIL",
  options: {},
  async run({ words, config }) {
    const email = oneEmail(words);
    await withStore(config(), async ({ sql }) => {
      const person = await findPerson(sql, email);
      if (!person) throw new UsageError(`No person signed up with ${email}. See: posthorn people list`);
      const target = { kind: "person", id: person.id } as const;
      const { removed, wasOperator } = await sql.begin(async (tx) => {
        const removed = await removeAllFactors(tx, person.id);
        const fields = [...(removed.totp ? ["totp"] : []), ...(removed.passkeys > 0 ? ["passkey"] : [])];
        // Otherwise the next one to sign in with the password could add a factor and be an operator.
        const wasOperator = await endOperator(tx, person.id);
        await record(tx, commandLine, { action: "factor.removed", target, fields });
        if (wasOperator) await record(tx, commandLine, { action: "operator.removed", target });
        return { removed, wasOperator };
      });
      const operator = wasOperator
        ? ` ${email} is no longer an operator: when they have a new second factor, run posthorn people operator ${email}`
        : "";
      process.stdout.write(
        removed.totp || removed.passkeys > 0
          ? `Removed from ${email}: ${factorsText(removed)}. All sessions have ended. The next sign-in needs no second factor.${operator}\n`
          : `${email} had no second factor. All sessions have ended.${operator}\n`,
      );
    });
  },
};

function factorsText({ totp, passkeys }: { totp: boolean; passkeys: number }): string {
  const parts = [
    ...(totp ? ["app"] : []),
    ...(passkeys > 0 ? [`${passkeys} passkey${passkeys === 1 ? "" : "s"}`] : []),
  ];
  return parts.join(", ") || "none";
}

function oneEmail(words: readonly string[]): string {
  const email = words.length === 1 ? readEmail(words[0]!) : undefined;
  if (!email) throw new UsageError("Give one email address, for example: ann@example.com");
  return email;
}

/** The URL with the port of the last started program in this data directory, or else the configured port. */
async function currentBaseUrl(config: Config): Promise<string> {
  return baseUrl(config, (await readPorts(config.dataDir))?.ports.http ?? config.http.port);
}

export const people = [
  peopleList,
  peopleFirstLink,
  peopleInvite,
  peopleResetPassword,
  peopleRemoveFactors,
  ...peopleOperators,
  peopleExport,
];
