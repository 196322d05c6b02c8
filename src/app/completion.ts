/** Completion scripts for bash, zsh and fish, made from the command table. The scripts are static: pressing Tab starts no process.
 * scripts/generators/command-line.ts writes them to bin/command-line.json. */
import { settingFlags } from "./command.ts";
import { type CommandInfo, completion, groupsOf } from "./help.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** What can be completed after the words typed so far. */
type Position = {
  /** The words, without options: "", "keys", "keys create". */
  typed: string;
  isCommand: boolean;
  words: { name: string; about: string }[];
  options: { name: string; about: string; takesValue: boolean }[];
};

export function completionScripts(commands: readonly CommandInfo[]): Record<Shell, string> {
  const positions = positionsOf(commands);
  return { bash: bash(positions), zsh: zsh(positions), fish: fish(positions) };
}

const help = { name: "help", about: "show this help", takesValue: false };

function positionsOf(commands: readonly CommandInfo[]): Position[] {
  const groups = groupsOf(commands);
  const firstWords = [...new Set(commands.map(({ name }) => name.split(" ")[0]!))];
  const aboutOf = (name: string) => commands.find((command) => command.name === name)?.summary ?? "";
  return [
    {
      typed: "",
      isCommand: false,
      words: firstWords.map((name) => ({
        name,
        about: groups[name] ? `Commands: ${groups[name].join(", ")}.` : aboutOf(name),
      })),
      options: [help, { name: "version", about: "print the version", takesValue: false }],
    },
    ...Object.entries(groups).map(([group, seconds]) => ({
      typed: group,
      isCommand: false,
      words: seconds.map((name) => ({ name, about: aboutOf(`${group} ${name}`) })),
      options: [help],
    })),
    ...commands.map((command) => ({
      typed: command.name,
      isCommand: true,
      words: command.name === completion.name ? shells.map((name) => ({ name, about: "" })) : [],
      options: [
        ...Object.entries(command.options).map(([name, option]) => ({
          name,
          about: option.help,
          takesValue: option.type === "string",
        })),
        help,
      ],
    })),
  ];
}

const settings = Object.entries(settingFlags).map(([name, { help: about }]) => ({ name, about, takesValue: true }));

/** Options without a value, of all commands. The word after one is completed as if the option were not there. */
function switchesOf(positions: Position[]): string[] {
  const all = positions.flatMap(({ options }) => options).filter(({ takesValue }) => !takesValue);
  return [...new Set(all.map(({ name }) => `--${name}`))];
}

const flagsOf = (options: { name: string }[]) => options.map(({ name }) => `--${name}`).join(" ");

function bash(positions: Position[]): string {
  const cases = positions.map(({ typed, isCommand, words, options }) => {
    const pattern = typed === "" ? '""' : `"${typed} "${isCommand ? "*" : ""}`;
    const flags = `${flagsOf(options)}${isCommand && typed !== completion.name ? " $settings" : ""}`;
    return `    ${pattern}) words="${words.map(({ name }) => name).join(" ")}" options="${flags}" ;;`;
  });
  return `# Completions of posthorn for bash. In ~/.bashrc: source <(posthorn completion bash)
_posthorn() {
  local current=\${COMP_WORDS[COMP_CWORD]} typed="" word words="" options=""
  local settings="${flagsOf(settings)}"
  COMPREPLY=()
  case \${COMP_WORDS[COMP_CWORD - 1]} in
    ${switchesOf(positions).join(" | ")}) ;;
    # The value of an option: bash completes file names.
    --* | =) return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    typed+="$word "
  done
  case $typed in
${cases.join("\n")}
  esac
  [[ $current == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _posthorn posthorn
`;
}

function zsh(positions: Position[]): string {
  const items = (list: { name: string; about: string }[], prefix = "") =>
    list.map(({ name, about }) => quoted(`${prefix}${name}${about ? `:${about}` : ""}`)).join(" ");
  const cases = positions.map(({ typed, isCommand, words, options }) => {
    const pattern = typed === "" ? '""' : `"${typed} "${isCommand ? "*" : ""}`;
    const more = isCommand && typed !== completion.name ? ' "$settings[@]"' : "";
    return `    ${pattern}) names=(${items(words)}) options=(${items(options, "--")}${more}) ;;`;
  });
  return `#compdef posthorn
# Completions of posthorn for zsh. In ~/.zshrc, after compinit: source <(posthorn completion zsh)
_posthorn() {
  local typed="" word
  local -a names options settings
  case $words[CURRENT-1] in
    ${switchesOf(positions).join(" | ")}) ;;
    --*) _files; return ;;
  esac
  settings=(
${settings.map((setting) => `    ${items([setting], "--")}`).join("\n")}
  )
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && break
    typed+="$word "
  done
  case $typed in
${cases.join("\n")}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o option options
  elif (( $#names )); then
    _describe command names
  else
    _files
  fi
}
if [[ $funcstack[1] == _posthorn ]]; then
  _posthorn "$@"
else
  compdef _posthorn posthorn
fi
`;
}

function fish(positions: Position[]): string {
  const lines = positions.flatMap(({ typed, isCommand, words, options }) => {
    const when = quoted(`${isCommand ? "__posthorn_in" : "__posthorn_at"} ${JSON.stringify(typed)}`);
    return [
      ...words.map(({ name, about }) => `complete -c posthorn -n ${when} -f -a ${name}${aboutIn(about)}`),
      ...options.map(
        ({ name, about, takesValue }) =>
          `complete -c posthorn -n ${when} -l ${name}${takesValue ? " -r" : ""}${aboutIn(about)}`,
      ),
    ];
  });
  const commands = positions.filter(({ typed, isCommand }) => isCommand && typed !== completion.name);
  const inCommand = quoted(commands.map(({ typed }) => `__posthorn_in ${JSON.stringify(typed)}`).join("; or "));
  return `# Completions of posthorn for fish. Once: posthorn completion fish > ~/.config/fish/completions/posthorn.fish
function __posthorn_typed
    set -l typed
    set -l given (commandline -opc)
    for word in $given[2..]
        string match -q -- '-*' $word; and break
        set -a typed $word
    end
    string join ' ' -- $typed
end
function __posthorn_at
    test (__posthorn_typed | string collect -a) = "$argv[1]"
end
function __posthorn_in
    string match -q -- "$argv[1] *" (__posthorn_typed | string collect -a)" "
end
${lines.join("\n")}
${settings.map(({ name, about }) => `complete -c posthorn -n ${inCommand} -l ${name} -r${aboutIn(about)}`).join("\n")}
`;
}

function aboutIn(about: string): string {
  return about ? ` -d ${quoted(about)}` : "";
}

/** The text as one shell word. Only fish interprets a backslash within single quotes, and no help line contains one. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
