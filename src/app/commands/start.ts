/** posthorn start: runs the program until it is told to stop, and says where everything is. */
import { createLog } from "../../ops/log.ts";
import { assemble, type Program } from "../assemble.ts";
import { baseUrl } from "../base-url.ts";
import type { Command } from "../command.ts";
import type { Config } from "../config.ts";
import { mailboxFolder } from "../files.ts";
import { untilAborted } from "../stop-signal.ts";

export const start: Command = {
  name: "start",
  summary: "Run Posthorn: API, queue, delivery, inbound mail, DNS, webhooks and dashboard in one process.",
  options: {},
  async run({ config: read, stop }) {
    const config = read();
    const pretty = config.logFormat === "pretty" || (config.logFormat === "auto" && process.stdout.isTTY === true);
    const log = createLog({ level: config.logLevel, pretty });
    const program = await assemble(config, log, stop).catch((error) => {
      if (!stop.aborted) throw error;
      log.info({ err: error === stop.reason ? undefined : error }, "the start was interrupted");
      return undefined;
    });
    if (program) {
      if (!stop.aborted) process.stdout.write(welcome(config, program));
      await untilAborted(stop);
      log.info("stopping: no new work, finishing what is in hand");
      await program.stop();
    }
    log.info("stopped");
    // Everything of ours is closed; whatever a library may still hold must not keep the process alive.
    process.exit(0);
  },
};

function welcome(config: Config, program: Program): string {
  const { ports, first } = program;
  const ops = `http://${config.ops.host.includes(":") ? `[${config.ops.host}]` : config.ops.host}:${ports.ops}`;
  if (ports.http === undefined)
    return [
      ...["", `Posthorn runs as ${[...config.roles].join(", ")}.`, "", `  Health     ${ops}/readyz`],
      ...[`  Metrics    ${ops}/metrics`, "", ...whereTheKeyIs(first.keyFile), ""],
    ].join("\n");
  const base = baseUrl(config, ports.http);
  const lines = ["", "Posthorn is running.", "", `  API        ${base}`, `  Dashboard  ${base}/`];
  if (ports.smtp !== undefined) lines.push(`  SMTP       ${config.smtp.host}:${ports.smtp}`);
  if (ports.dns !== undefined) lines.push(`  DNS        ${config.dns.host}:${ports.dns}  (zone ${config.zone})`);
  lines.push("");
  if (config.delivery === "capture")
    lines.push("  Mail is captured: nothing leaves this machine. Set POSTHORN_DELIVERY=direct to deliver.", "");
  // Elsewhere than on a terminal, the output ends in a journal or a log file, which more people read than the data directory.
  const mayShow = process.stdout.isTTY === true && config.onLoopback;
  const { firstSignUp } = program;
  if (firstSignUp && mayShow)
    lines.push(`  Sign up with this one-time link (also in ${firstSignUp.file}):`, "", `    ${firstSignUp.link}`, "");
  else if (firstSignUp) lines.push(`  The one-time link to sign up is in ${firstSignUp.file}`, "");
  const show = first.newKey !== undefined && mayShow;
  if (show)
    lines.push(`  Your first API key, shown this once (also in ${first.keyFile}):`, "", `    ${first.newKey}`, "");
  else lines.push(...whereTheKeyIs(first.keyFile));
  const key = show ? first.newKey : first.keyFile ? `$(cat ${quoted(first.keyFile)})` : "$POSTHORN_API_KEY";
  lines.push(
    ...tryIt({ base, key: key ?? "", from: program.exampleDomain, mailbox: mailboxFolder(config.dataDir) }),
    "",
    "",
  );
  return lines.join("\n");
}

/** The node that starts first creates the key, whatever its roles. */
function whereTheKeyIs(keyFile: string | undefined): string[] {
  return keyFile === undefined ? [] : [`  The first API key is in ${keyFile}`, ""];
}

/** As one word for a shell, whatever the path holds. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

type Trial = { base: string; key: string; from: string | undefined; mailbox: string };

function tryIt({ base, key, from, mailbox }: Trial): string[] {
  const curl = (method: string, request: object) => [
    `    curl -s ${base}/v1.${method} \\`,
    `      -H "Authorization: Bearer ${key}" \\`,
    '      -H "Connect-Protocol-Version: 1" -H "Content-Type: application/json" \\',
    `      -d '${JSON.stringify(request)}'`,
  ];
  if (!from) return ["  Try it:", "", ...curl("DomainService/ListDomains", {})];
  const email = { from: `hello@${from}`, to: [`you@${from}`], subject: "Hello", body: "It works." };
  return [
    `  Send an email, which lands in ${mailbox}:`,
    "",
    ...curl("EmailService/SendEmail", email),
    "",
    "  See what became of it:",
    "",
    ...curl("EmailService/ListEvents", {}),
  ];
}
