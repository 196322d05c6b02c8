// Writes bin/command-line.json: the help texts and completions that bin/posthorn.js prints without loading the server.
import { allCommands } from "../../src/app/cli.ts";
import { completionScripts } from "../../src/app/completion.ts";
import { completion, groupsOf, helpTexts } from "../../src/app/help.ts";
import { version } from "../../src/app/version.ts";

export const name = "command line";

export async function generate(): Promise<Map<string, string>> {
  const commands = [...(await allCommands()), completion];
  const facts = {
    version,
    groups: groupsOf(commands),
    help: inLines(helpTexts(commands)),
    completion: inLines(completionScripts(commands)),
  };
  return new Map([["bin/command-line.json", `${JSON.stringify(facts, null, 2)}\n`]]);
}

/** Lines, so that a change shows as one. */
function inLines(texts: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text.replace(/\n$/, "").split("\n")]));
}
