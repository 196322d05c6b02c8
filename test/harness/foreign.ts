/** Lists all programs outside the checkout that tests may run. A test declares the programs it needs and is skipped if one is
 * missing; scripts/skipped-programs.ts counts these skips. With TEST_REQUIRE_FOREIGN=1 the test fails instead, unless the
 * program is optional. */
import { spawnSync } from "node:child_process";
import { accessSync, constants, globSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

type Foreign = {
  /** The name of the executable file. */
  command: string;
  /** The Debian package that installs it. */
  package: string;
  /** Arguments with which the program ends successfully only if it finds the libraries that tests need. */
  probe?: readonly string[];
  /** Where the package puts the file, if that is not in PATH: a pattern of folders. */
  folders?: string;
  /** Never required and not installed by .ci/run: only a bench needs it, or containers may lack it. */
  optional?: true;
};

export const foreign = {
  caddy: { command: "caddy", package: "caddy" },
  chromium: { command: "chromium-headless-shell", package: "chromium-headless-shell" },
  bash: { command: "bash", package: "bash" },
  curl: { command: "curl", package: "curl" },
  dig: { command: "dig", package: "bind9-dnsutils" },
  fish: { command: "fish", package: "fish" },
  etcd: { command: "etcd", package: "etcd-server", optional: true },
  gcc: { command: "gcc", package: "gcc libc6-dev", probe: ["-E", "-include", "time.h", "-x", "c", "/dev/null"] },
  // A download of 80 MB.
  go: { command: "go", package: "golang-go", optional: true },
  mount: { command: "mount", package: "mount" },
  msmtp: { command: "msmtp", package: "msmtp" },
  named: { command: "named", package: "bind9" },
  "named-checkzone": { command: "named-checkzone", package: "bind9-utils" },
  nsupdate: { command: "nsupdate", package: "bind9-dnsutils" },
  opendkim: { command: "opendkim", package: "opendkim", optional: true },
  openssl: { command: "openssl", package: "openssl" },
  patroni: { command: "patroni", package: "patroni python3-etcd", optional: true },
  pgbouncer: { command: "pgbouncer", package: "pgbouncer" },
  php: { command: "php", package: "php-cli" },
  "php-symfony-mailer": {
    command: "php",
    package: "php-cli php-symfony-mailer",
    probe: ["-r", 'require "Symfony/Component/Mailer/autoload.php";'],
  },
  postfix: { command: "postfix", package: "postfix" },
  promtool: { command: "promtool", package: "prometheus" },
  python3: { command: "python3", package: "python3" },
  "python3-django": { command: "python3", package: "python3-django", probe: ["-c", "import django"] },
  "python3-dkim": { command: "python3", package: "python3-dkim python3-dnspython", probe: ["-c", "import dkim"] },
  "python3-grpcio": {
    command: "python3",
    package: "python3-grpcio python3-protobuf",
    probe: ["-c", "import grpc, google.protobuf"],
  },
  // The server of the machine with its programs for standbys; the newest version that is installed.
  pg_rewind: { command: "pg_rewind", package: "postgresql", folders: "/usr/lib/postgresql/*/bin" },
  "redis-server": { command: "redis-server", package: "redis-server" },
  rspamadm: { command: "rspamadm", package: "rspamd" },
  rspamd: { command: "rspamd", package: "rspamd" },
  ruby: { command: "ruby", package: "ruby" },
  "ruby-actionmailer": { command: "ruby", package: "ruby-actionmailer", probe: ["-e", 'require "action_mailer"'] },
  "s-nail": { command: "s-nail", package: "s-nail" },
  script: { command: "script", package: "bsdutils" },
  spamd: { command: "spamd", package: "spamd" },
  swaks: { command: "swaks", package: "swaks libnet-ssleay-perl libio-socket-ssl-perl" },
  "systemd-analyze": { command: "systemd-analyze", package: "systemd", optional: true },
  zsh: { command: "zsh", package: "zsh" },
  unbound: { command: "unbound", package: "unbound" },
  "unbound-control": { command: "unbound-control", package: "unbound" },
} as const satisfies Record<string, Foreign>;

export type ForeignName = keyof typeof foreign;

/** Programs on every machine with a shell. Tests may run them without a declaration. */
export const always = ["sh", "node", "npm", "npx", "git", "sleep", "cat", "cp", "mv", "mkfifo", "chown", "umount"];

/** Debian installs servers into sbin, which is not in the PATH of ordinary users. TEST_PATH_ONLY=1 leaves sbin out. */
export const searchPath = process.env.TEST_PATH_ONLY
  ? (process.env.PATH ?? "")
  : [process.env.PATH, "/usr/sbin", "/usr/local/sbin", "/sbin"].join(delimiter);

/** False if all programs are installed, otherwise the skip reason in the form that `missingIn` parses. */
export function needs(...names: ForeignName[]): string | false {
  const missing = names.filter((name) => locate(name) === undefined);
  if (missing.length === 0) return false;
  const reason = missing.map((name) => `needs ${name} (apt-get install ${foreign[name].package})`).join(", ");
  const required = missing.some((name) => !("optional" in foreign[name]));
  if (process.env.TEST_REQUIRE_FOREIGN && required)
    throw new Error(`TEST_REQUIRE_FOREIGN is set, and this test ${reason}`);
  return reason;
}

/** The programs that a skip reason names. */
export function missingIn(reason: string): { program: string; install: string }[] {
  return [...reason.matchAll(/\bneeds (\S+) \((apt-get install [^)]+)\)/g)].map((match) => ({
    program: match[1]!,
    install: match[2]!,
  }));
}

/** The path of the executable, or undefined if it is missing. */
export function locate(name: ForeignName): string | undefined {
  if (!located.has(name)) located.set(name, search(foreign[name]));
  return located.get(name);
}

/** The path of the executable; throws if it is missing. */
export function pathOf(name: ForeignName): string {
  const path = locate(name);
  if (path === undefined) throw new Error(`${name} is missing: apt-get install ${foreign[name].package}`);
  return path;
}

const located = new Map<ForeignName, string | undefined>();

function search({ command, probe, folders: pattern }: Foreign): string | undefined {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== "");
  if (pattern && !process.env.TEST_PATH_ONLY) folders.unshift(...globSync(pattern).sort().reverse());
  // Debian installs Python modules only for /usr/bin/python3, which may not be the first one in PATH.
  if (command === "python3") folders.sort((a, b) => Number(b === "/usr/bin") - Number(a === "/usr/bin"));
  return folders
    .map((folder) => join(folder, command))
    .find((path) => isProgram(path) && (!probe || spawnSync(path, probe).status === 0));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
