/** posthorn people operator, disable, enable and delete: what the operator of the service does with people, on a running or a
 * stopped instance. */
import { commandLine } from "../../audit/record.ts";
import { appoint, deletePerson, disablePerson, enablePerson } from "../../operators/people.ts";
import { keysSentence } from "../../operators/service.ts";
import { findFactors } from "../../people/store/factors.ts";
import { listIdentities } from "../../people/store/identities.ts";
import { findPerson, type Person } from "../../people/store.ts";
import { toWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { readEmail } from "../../workspaces/rules.ts";
import { type Command, type Option, UsageError } from "../command.ts";
import { withStore } from "./with-store.ts";
import { finish } from "./workspace-quotas.ts";

const json: Option = { type: "boolean", help: "print JSON" };
const revokeKeys: Option = { type: "boolean", help: "also revoke every key that the person created" };

const peopleOperator: Command = {
  name: "people operator",
  summary: "Make a person with a second factor an operator, who manages all people and workspaces.",
  words: "EMAIL",
  options: { remove: { type: "boolean", help: "the person is no longer an operator" }, json },
  async run({ words, options, config: read }) {
    const config = read();
    await withStore(config, async ({ sql }) => {
      const { id, email } = await findPersonByWord(sql, words);
      const isOperator = options.remove !== true;
      const changed = await appoint(sql, { personId: id, isOperator, actor: commandLine, providers: config.providers });
      const state = isOperator
        ? `is ${changed ? "now" : "already"} an operator`
        : changed
          ? "is no longer an operator"
          : "is not an operator";
      // A factor that someone else has added would open all workspaces.
      const hint = isOperator ? ` Check that they know all of these: ${await signInText(sql, id)}.` : "";
      finish(options, { ...answerOf(id, email), isOperator }, `${email} ${state}.${hint}`);
    });
  },
};

/** What opens the account of a person besides the password. */
async function signInText(sql: Sql, personId: string): Promise<string> {
  const { totp, passkeys } = await findFactors(sql, personId);
  const linked = await listIdentities(sql, personId);
  const count = (n: number, what: string) => (n === 0 ? [] : [`${n} ${what}${n === 1 ? "" : "s"}`]);
  return [
    ...(totp ? ["an authenticator app"] : []),
    ...count(passkeys, "passkey"),
    ...linked.map(({ issuer }) => `an account at ${issuer}`),
  ].join(", ");
}

const peopleDisable: Command = {
  name: "people disable",
  summary: "End every session of a person and refuse their sign-in. Keys that they created stay valid.",
  words: "EMAIL",
  options: { "revoke-keys": revokeKeys, json },
  async run({ words, options, config }) {
    await withStore(config(), async ({ sql }) => {
      const { id, email } = await findPersonByWord(sql, words);
      const change = { personId: id, revokeKeys: options["revoke-keys"] === true, actor: commandLine };
      const { revokedKeys, person } = (await disablePerson(sql, change)) ?? gone(email);
      const sentence = `${email} is disabled: every session has ended, and they cannot sign in.`;
      const answer = {
        ...answerOf(id, email),
        disabledAt: person.disabledAt,
        revokedKeys,
        validKeys: person.validKeys,
      };
      finish(options, answer, `${sentence}${keysSentence(person.validKeys, revokedKeys)}`);
    });
  },
};

const peopleEnable: Command = {
  name: "people enable",
  summary: "Let a disabled person sign in again.",
  words: "EMAIL",
  options: { json },
  async run({ words, options, config }) {
    await withStore(config(), async ({ sql }) => {
      const { id, email } = await findPersonByWord(sql, words);
      const { changed } = (await enablePerson(sql, { personId: id, actor: commandLine })) ?? gone(email);
      finish(options, answerOf(id, email), changed ? `${email} can sign in again.` : `${email} is not disabled.`);
    });
  },
};

const peopleDelete: Command = {
  name: "people delete",
  summary: "Delete a person with all personal data. This cannot be undone: export the person first.",
  words: "EMAIL",
  options: {
    yes: { type: "boolean", help: "required: confirms the deletion" },
    "revoke-keys": revokeKeys,
    json,
  },
  async run({ words, options, config }) {
    await withStore(config(), async ({ sql }) => {
      const { id, email } = await findPersonByWord(sql, words);
      if (!options.yes)
        throw new UsageError(
          `This deletes ${email} for good. Export the person first: posthorn people export ${email} DIR\nThen repeat the command with --yes.`,
        );
      const change = { personId: id, revokeKeys: options["revoke-keys"] === true, actor: commandLine };
      const { revokedKeys, validKeys } = (await deletePerson(sql, change)) ?? gone(email);
      const answer = { ...answerOf(id, email), revokedKeys, validKeys };
      finish(options, answer, `${email} is deleted.${keysSentence(validKeys, revokedKeys)}`);
    });
  },
};

function answerOf(id: string, email: string) {
  return { id: toWireId("person", id), email };
}

export async function findPersonByWord(sql: Sql, words: readonly string[]): Promise<Person> {
  const email = words.length === 1 ? readEmail(words[0]!) : undefined;
  if (!email) throw new UsageError("Give one email address, for example: ann@example.com");
  const person = await findPerson(sql, email);
  return person ?? gone(email);
}

function gone(email: string): never {
  throw new UsageError(`No person signed up with ${email}. See: posthorn people list`);
}

export const peopleOperators = [peopleOperator, peopleDisable, peopleEnable, peopleDelete];
