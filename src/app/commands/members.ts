/** posthorn members: the people of one workspace and open invitations. A key may list them; only the operator of the server may change
 * them on the command line. posthorn people has the people of the whole service. */
import type { JsonObject } from "@bufbuild/protobuf";
import { roles } from "../../http/caller.ts";
import { type Command, type Option, UsageError } from "../command.ts";
import { jsonLine, plain, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { type Column, constantText, limitOf, listOptions, pages, printList, timeText } from "./listing.ts";
import { readChoice, readWords } from "./read-options.ts";
import type { Target } from "./target.ts";
import { apiOptions, type CommandApi, targetOf, withApi, withTarget } from "./with-api.ts";

type WireMember = JsonObject & {
  id: string;
  email: string;
  name: string;
  role: string;
  invitedAt?: string;
  joinedAt?: string;
};

const json: Option = { type: "boolean", help: "print the API's response as JSON" };

const columns: Column<WireMember>[] = [
  { head: "ID", of: ({ id }) => id },
  { head: "EMAIL", of: ({ email }) => email },
  { head: "ROLE", of: ({ role }) => constantText(role, "MEMBER_ROLE_") },
  { head: "JOINED", of: ({ joinedAt }) => timeText(joinedAt) || "invited" },
  { head: "NAME", of: ({ name }) => name, cut: true },
];

const membersList: Command = {
  name: "members list",
  summary: "List the members of a workspace and open invitations, by email address.",
  options: { ...listOptions, ...apiOptions },
  async run(input) {
    limitOf(input.options);
    const empty = "No members yet. Invite the first one on the server: posthorn people invite EMAIL";
    const list = { method: "WorkspaceService/ListMembers", request: {}, columns, empty };
    await withApi(input, (api) => printList(api, input.options, list));
  },
};

const membersUpdate: Command = {
  name: "members update",
  summary: "Change the role of a member or of an invited person, on the server itself.",
  words: "EMAIL|MEMBER_ID",
  options: { role: { type: "string", help: `${roles.join(", ")}; required` }, json, ...apiOptions },
  async run(input) {
    const { options } = input;
    const [word] = readWords(input.words, ["a member"], "members update ann@example.com --role viewer");
    if (options.role === undefined) throw new UsageError(`--role is missing: ${roles.join(", ")}`);
    const role = readChoice("role", String(options.role), "MEMBER_ROLE_", roles);
    const target = await targetOf(input);
    requireLocal(target, "change the role of a member");
    await withTarget(input, target, async (api) => {
      const { id } = await findMember(api, word);
      type Updated = { member: WireMember };
      const { member } = await api.call<Updated>("WorkspaceService/UpdateMember", { memberId: id, role });
      const sentence = `${member.email} is now ${constantText(member.role, "MEMBER_ROLE_")}.`;
      await write(options.json ? jsonLine(member) : `${plain(sentence)}\n`);
    });
  },
};

const membersRemove: Command = {
  name: "members remove",
  summary: "Remove a member from a workspace, or withdraw an invitation, on the server itself.",
  words: "EMAIL|MEMBER_ID",
  options: {
    "revoke-keys": { type: "boolean", help: "also revoke the keys that the member created in this workspace" },
    yes: yesOption,
    json,
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const [word] = readWords(input.words, ["a member"], "members remove ann@example.com");
    const target = await targetOf(input);
    requireLocal(target, "remove a member");
    await confirm(`This removes ${word} from the workspace.`, { options });
    await withTarget(input, target, async (api) => {
      const { id } = await findMember(api, word);
      const request = { memberId: id, revokeKeys: options["revoke-keys"] === true };
      const answer = await api.call<{ message: string }>("WorkspaceService/RemoveMember", request);
      await write(options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
    });
  },
};

/** Otherwise every key would be as good as an owner. */
function requireLocal(target: Target, what: string): void {
  if (target)
    throw new UsageError(
      `A key cannot ${what}: this needs a person. Sign in at ${target.url} as an owner of the workspace, or run the command on the server with --profile local.`,
    );
}

async function findMember(api: CommandApi, word: string): Promise<WireMember> {
  const wanted = word.trim().toLowerCase();
  for await (const member of pages<WireMember>(api, "WorkspaceService/ListMembers", {}))
    if (member.id === word || member.email.toLowerCase() === wanted) return member;
  throw new UsageError(`This workspace has no member ${JSON.stringify(word)}. See: posthorn members list`);
}

export const members = [membersList, membersUpdate, membersRemove];
