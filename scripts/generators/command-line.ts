// Writes bin/command-line.json: the help texts and completion scripts that bin/posthorn.js prints without loading the server.
import { allCommands } from "../../src/app/cli.ts";
import { completionScripts } from "../../src/app/completion.ts";
import { completion, groupsOf, helpTexts, version } from "../../src/app/help.ts";

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

/** Arrays of lines, so that a change of one line is one line in a diff. */
function inLines(texts: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text.replace(/\n$/, "").split("\n")]));
}
