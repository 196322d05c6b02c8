/** Mail programs and libraries of other people, and the recipes of docs/smtp.md by which they send through a program under test. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ForeignName, locate, searchPath } from "./foreign.ts";
import { blocksOf, root } from "./pages.ts";
import type { RunningProgram } from "./program.ts";
import { patienceMs } from "./wait.ts";

export type Replacements = [from: string, to: string][];

export type MailClient = {
  /** The heading of the recipe. */
  name: string;
  needs?: ForeignName;
  /** The files of the recipe, in the order of its blocks; the last one is run. */
  files: string[];
  command(file: string): string[];
  /** The changes for port 465 that the recipe names. */
  tls: Replacements;
  /** The changes for a connection without encryption. */
  plain: Replacements;
  /** Makes the client trust the certificate of the test, where the environment does not. */
  trust?: Replacements;
  /** Makes the client show the replies of the server, where it does not do that by itself. */
  verbose?: Replacements;
  /** Files that the recipe expects. */
  given?: Record<string, string>;
};

/** For clients that send a complete message. */
const message = `From: Café Zoë <orders@shop.example>
To: Jürgen <juergen@example.com>
Bcc: archive@example.com
Subject: Your invoice from Café Zoë
Message-ID: <order-1042@shop.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=part

--part
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Thank you, Jürgen!
--part
Content-Type: application/pdf
Content-Disposition: attachment; filename=invoice.pdf
Content-Transfer-Encoding: base64

{invoice}
--part--
`;

export const mailClients: MailClient[] = [
  {
    name: "nodemailer",
    files: ["send.ts"],
    command: (file) => [process.execPath, file],
    tls: [["requireTLS: true", "secure: true"]],
    plain: [["requireTLS: true", "ignoreTLS: true"]],
  },
  {
    name: "Python",
    needs: "python3",
    files: ["send.py"],
    command: (file) => [locate("python3")!, file],
    tls: [
      ['smtplib.SMTP("mail.shop.example", 587)', 'smtplib.SMTP_SSL("mail.shop.example", 587, context=context)'],
      ["smtp.starttls(context=context)", "pass"],
    ],
    plain: [["smtp.starttls(context=context)", "pass"]],
  },
  {
    name: "Django",
    needs: "python3-django",
    files: ["settings.py", "send.py"],
    command: (file) => [locate("python3-django")!, file],
    tls: [["EMAIL_USE_TLS", "EMAIL_USE_SSL"]],
    plain: [["EMAIL_USE_TLS = True", ""]],
  },
  {
    name: "Symfony",
    needs: "php-symfony-mailer",
    files: ["send.php"],
    command: (file) => [locate("php-symfony-mailer")!, file],
    tls: [["smtp://", "smtps://"]],
    plain: [['587";', '587?verify_peer=0";']],
    given: { "vendor/autoload.php": '<?php require "Symfony/Component/Mailer/autoload.php";' },
  },
  {
    name: "Rails and ActionMailer",
    needs: "ruby-actionmailer",
    files: ["send.rb"],
    command: (file) => [locate("ruby-actionmailer")!, file],
    tls: [["enable_starttls: true", "tls: true"]],
    plain: [["enable_starttls: true", 'openssl_verify_mode: "none"']],
  },
  {
    name: "swaks",
    needs: "swaks",
    files: ["send.sh"],
    command: (file) => ["sh", "-eu", file],
    tls: [["--tls ", "--tls-on-connect "]],
    plain: [["--tls --tls-verify ", ""]],
    trust: [["--tls-verify", '--tls-verify --tls-ca-path "$SSL_CERT_FILE"']],
  },
  {
    name: "msmtp",
    needs: "msmtp",
    files: ["send.sh"],
    command: (file) => ["sh", "-eu", file],
    tls: [["\ntls_starttls on", "\ntls_starttls off"]],
    plain: [
      ["\ntls on", "\ntls off"],
      ["auth on", "auth plain"],
    ],
    trust: [["tls on", "tls on\ntls_trust_file $SSL_CERT_FILE"]],
    given: { "message.eml": message },
  },
  {
    name: "curl",
    needs: "curl",
    files: ["send.sh"],
    command: (file) => ["sh", "-eu", file],
    tls: [["--url smtp://", "--url smtps://"]],
    plain: [["--ssl-reqd ", ""]],
    verbose: [["curl ", "curl --verbose "]],
    given: { "message.eml": message },
  },
  {
    name: "s-nail",
    needs: "s-nail",
    files: ["send.sh"],
    command: (file) => ["sh", "-eu", file],
    tls: [["mta=smtp://", "mta=smtps://"]],
    plain: [["smtp-use-starttls tls-verify=strict", ""]],
  },
];

/** The attachment that every recipe sends. */
export const invoice = randomBytes(5000);

export type RecipeOptions = {
  program: RunningProgram;
  /** The recipe runs in a new folder inside this one. Inside the checkout, so that nodemailer resolves by its name. */
  folder: string;
  encryption: "STARTTLS" | "TLS" | "none";
  /** The file with the certificate of the program, if clients are to trust it. */
  certificate?: string;
  key?: string;
  changes?: Replacements;
};

/** Runs the recipe as the page shows it, with the address and port of this program. Returns all that a person would see. */
export async function runRecipe(client: MailClient, options: RecipeOptions): Promise<{ code: number; output: string }> {
  const { program, encryption, certificate, key = program.key, changes = [] } = options;
  const directory = await mkdtemp(join(options.folder, "client-"));
  const port = encryption === "TLS" ? program.ports.submissions! : program.ports.submission!;
  const replacements: Replacements = [
    ...{ STARTTLS: [], TLS: client.tls, none: client.plain }[encryption],
    ...((certificate && client.trust) || []),
    ["mail.shop.example", "localhost"],
    ["587", String(port)],
  ];
  const blocks = blocksOf(await sectionOf(client.name));
  assert.equal(blocks.length, client.files.length, "the number of blocks of this recipe has changed: run each of them");
  for (const [text] of replacements)
    assert.ok(
      blocks.some((block) => block.text.includes(text)),
      `the recipe does not contain ${text} any more`,
    );
  const texts: Record<string, string> = {};
  for (const [i, file] of client.files.entries()) texts[file] = replace(blocks[i]!.text, replacements);
  for (const [path, text] of Object.entries({ ...texts, ...client.given })) {
    await mkdir(join(directory, path, ".."), { recursive: true });
    await writeFile(join(directory, path), replace(text, changes).replace("{invoice}", base64Lines(invoice)));
  }
  await writeFile(join(directory, "invoice.pdf"), invoice);
  const env = {
    PATH: searchPath,
    LC_ALL: "C.UTF-8",
    HOME: directory,
    POSTHORN_KEY: key,
    ...(certificate && { SSL_CERT_FILE: certificate, NODE_EXTRA_CA_CERTS: certificate }),
    DJANGO_SETTINGS_MODULE: "settings",
    // s-nail does not use HOME if root runs it.
    MAILRC: join(directory, ".mailrc"),
    DEAD: join(directory, "dead.letter"),
  };
  const [command, ...args] = client.command(client.files.at(-1)!);
  return await new Promise((resolve) =>
    execFile(command!, args, { cwd: directory, env, timeout: patienceMs }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` }),
    ),
  );
}

export async function sectionOf(name: string): Promise<string> {
  const page = await readFile(join(root, "docs/smtp.md"), "utf8");
  const section = page.split(/^##+ /m).find((part) => part.startsWith(`${name}\n`));
  assert.ok(section, `docs/smtp.md has no section ${name}`);
  return section;
}

function replace(text: string, replacements: Replacements): string {
  return replacements.reduce((now, [from, to]) => now.replaceAll(from, to), text);
}

function base64Lines(bytes: Buffer): string {
  return bytes.toString("base64").replace(/.{76}/g, "$&\n");
}
