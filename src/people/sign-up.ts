/** Sign-up: by the link of the first person, by an invitation, or by a link in a mail, depending on POSTHORN_SIGNUP. Every link in a mail
 * proves an address, and the answers do not reveal whether an address has an account. Called by people.ts. */
import { record } from "../audit/record.ts";
import { makeToken } from "../ops/one-time-token.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import { createClientLimit } from "../shares/guessing.ts";
import { invalidEmail, judgeName, readEmail } from "../workspaces/rules.ts";
import type { MostOwned } from "../workspaces/store.ts";
import type { SignUpMode } from "./access.ts";
import type { AccountMail } from "./account-mail.ts";
import { findInvitation, proofRequired } from "./invitation-links.ts";
import { accountExistsMail, isFirstToken, linkLifetimeMs, linkTo, looksLikeToken, signUpMail } from "./links.ts";
import { type HashTurns, hashPassword, judgePassword } from "./password.ts";
import {
  addFirstPerson,
  addLink,
  addPersonByInvite,
  addPersonByLink,
  findLink,
  findPerson,
  hasPeople,
  type Person,
} from "./store.ts";

/** How a person without a link can sign up now. `no mail`: sign-up is open, but no address can be confirmed. `provider`: passwords are
 * turned off. */
export type SignUpBy = "mail" | "link" | "closed" | "no mail" | "provider";

export type SignUpInput = { email: string; name: string; password: string; token: string };

export type SignUpDeps = {
  sql: Sql;
  secrets: Pick<Secrets, "isMac">;
  mode: SignUpMode;
  passwordSignIn: boolean;
  mail: AccountMail;
  hashTurns: HashTurns;
  mostOwned: MostOwned;
  base(): string;
  nowMs(): number;
  /** Called after a person was added, which makes the first person's link invalid. */
  onPerson(): Promise<void>;
};

export function createSignUp(deps: SignUpDeps) {
  const { sql, mode } = deps;
  const byClient = createClientLimit({ burst: 50, periodMs: 20_000 }, "sign-ups");

  async function signUpOptions(): Promise<{ by: SignUpBy; first: boolean }> {
    if (!deps.passwordSignIn) return { by: "provider", first: false };
    const first = !(await hasPeople(sql));
    if (mode === "closed") return { by: "closed", first };
    // On loopback too: every user of the machine and every page in its browsers can reach loopback.
    if (first) return { by: "link", first };
    if (mode === "first") return { by: "closed", first };
    // Without a confirmed address a stranger could take the address of another person, and would learn which addresses are taken.
    return { by: (await deps.mail.canSend()) ? "mail" : "no mail", first };
  }

  /** The new person, or undefined when a link was sent by mail instead. */
  async function signUp(input: SignUpInput, client: { address: string }): Promise<Person | undefined> {
    byClient.check(client.address, performance.now());
    byClient.take(client.address, performance.now());
    if (input.token !== "") return await notifyAdded(addByToken(input, client.address));
    const { by } = await signUpOptions();
    if (by !== "mail") throw signUpRefused(by);
    const email = readEmail(input.email);
    if (!email) throw invalid([invalidEmail]);
    await deps.mail.checkClient(client.address);
    deps.mail.sendLater({ kind: "sign_up", email, address: client.address }, () => sendSignUpMail(email));
    return undefined;
  }

  async function notifyAdded(adding: Promise<Person>): Promise<Person> {
    const person = await adding;
    await deps.onPerson();
    return person;
  }

  async function addByToken(input: SignUpInput, address: string): Promise<Person> {
    if (!looksLikeToken(input.token)) throw invalidLink();
    if (isFirstToken(deps.secrets, input.token)) {
      if (mode === "closed" || (await hasPeople(sql))) throw invalidLink();
      const email = readEmail(input.email);
      const problems = await judge(input, email);
      if (!email || problems.length > 0) throw invalid(email ? problems : [invalidEmail, ...problems]);
      return await addFirst(email, input, address);
    }
    const invitation = await findInvitation(sql, input.token, mode);
    if (invitation && !invitation.mayCreateAccount) throw proofRequired();
    const email = invitation?.email ?? (await emailOfLink(input.token));
    if (email === undefined) throw invalidLink();
    const problems = await judge(input, email);
    if (problems.length > 0) throw invalid(problems);
    const person = await prepare(input, address);
    const added = await recorded(
      (tx) =>
        invitation
          ? addPersonByInvite(tx, person, { ...invitation, most: deps.mostOwned })
          : addPersonByLink(tx, person, input.token),
      { address, workspaceId: invitation?.workspaceId },
    );
    return requireAdded(added);
  }

  /** The address of a sign-up link. A link from a time of open sign-up is invalid once sign-up is closed. */
  async function emailOfLink(token: string): Promise<string | undefined> {
    const link = mode === "open" ? await findLink(sql, token) : undefined;
    return link?.kind === "sign_up" ? link.email : undefined;
  }

  async function addFirst(email: string, input: SignUpInput, address: string): Promise<Person> {
    const prepared = await prepare(input, address);
    const person = await recorded((tx) => addFirstPerson(tx, { ...prepared, email }), { address });
    if (!person) throw signUpRefused("closed");
    return person;
  }

  /** Adds the person and the entries of the audit log, both or neither. */
  async function recorded<T extends Person | string | undefined>(
    add: (tx: Sql) => Promise<T>,
    { address, workspaceId }: { address: string; workspaceId?: string },
  ): Promise<T> {
    return await sql.begin(async (tx) => {
      const added = await add(tx);
      if (typeof added !== "object") return added;
      const target = { kind: "person", id: added.id } as const;
      const actor = { kind: "person", id: added.id, personId: added.id, address } as const;
      await record(tx, actor, { action: "person.signed_up", target });
      if (workspaceId !== undefined) await record(tx, actor, { action: "member.joined", workspaceId, target });
      return added;
    });
  }

  async function prepare({ name, password }: SignUpInput, address: string) {
    const passwordHash = await deps.hashTurns.run(address, () => hashPassword(password));
    return { name: name.trim(), passwordHash, nowMs: deps.nowMs() };
  }

  async function sendSignUpMail(email: string): Promise<void> {
    if (await findPerson(sql, email)) return await deps.mail.send(email, accountExistsMail(deps.base()));
    const token = makeToken();
    await addLink(sql, { token, kind: "sign_up", email, forMs: linkLifetimeMs.sign_up, byMail: true });
    await deps.mail.send(email, signUpMail(linkTo(deps.base(), "sign_up", token)));
  }

  return { signUpOptions, signUp };
}

async function judge({ name, password }: SignUpInput, email: string | undefined): Promise<Violation[]> {
  return [...judgeName(name.trim()), ...(await judgePassword(password, { field: "password", email }))];
}

/** The holder of the link has proved the address, or is trusted by the operator, and so may hear that it has an account. */
function requireAdded(person: Person | "no link" | "has account"): Person {
  if (person === "no link") throw invalidLink();
  if (person === "has account")
    throw new Problem("already_exists", "This address already has an account. Sign in, or request a new password.");
  return person;
}

export function invalidLink(): Problem {
  return new Problem("not_found", "This link is unknown, already used or expired. Request a new one.");
}

function signUpRefused(by: Exclude<SignUpBy, "mail">): Problem {
  return new Problem("permission_denied", signUpHelp[by]);
}

/** What the dashboard shows for each option, and the message of a refused sign-up. */
export const signUpHelp: Record<SignUpBy, string> = {
  mail: "Sign up with your address. You get a link by mail to continue.",
  link: "The first person signs up with a one-time link. It is in the file first-sign-up in the server's data directory, and posthorn people first-link prints it. Open it in this browser.",
  closed: "Sign-up is closed. Ask an owner of a workspace for an invitation.",
  provider:
    "Passwords are turned off on this server. Sign in with one of its providers, or open the link of an invitation.",
  "no mail":
    "Sign-up is closed, because this server cannot send mail and so cannot confirm addresses. Its operator sets POSTHORN_SYSTEM_FROM to a sender whose domain can send; posthorn doctor says what is missing.",
};
