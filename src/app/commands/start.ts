/** posthorn start: runs the program until SIGINT or SIGTERM, and prints its addresses, the first key and an example call. */
import type { Program } from "../assemble.ts";
import type { Command } from "../command.ts";
import { useCompileCache } from "../compile-cache.ts";
import type { Config } from "../config.ts";
import { baseUrl } from "../config.ts";
import { mailboxFolder } from "../files.ts";
import { hangUpStops } from "../processes/hang-up.ts";
import type { SuperviseOptions } from "../processes/supervisor.ts";
import { untilAborted } from "../stop-signal.ts";

export const start: Command = {
  name: "start",
  summary: "Run Posthorn: API, queue, delivery, inbound mail, DNS, webhooks and dashboard in one process.",
  options: {},
  async run({ config: read, env, stop }) {
    const config = read();
    await useCompileCache(config.dataDir);
    const { createLog } = await import("../../ops/log.ts");
    const pretty = config.logFormat === "pretty" || (config.logFormat === "auto" && process.stdout.isTTY === true);
    const log = createLog({ level: config.logLevel, pretty });
    const starting = config.processes === 1 ? startAlone : startSupervised;
    const program = await starting({ config, log, env, stop }).catch((error) => {
      if (!stop.aborted) throw error;
      log.info({ err: error === stop.reason ? undefined : error }, "the start was interrupted");
      return undefined;
    });
    if (program) {
      if (!stop.aborted) process.stdout.write(welcome(config, program));
      await untilAborted(stop);
      log.info("stopping: taking no new work, finishing work in progress");
      await program.stop();
    }
    log.info("stopped");
    // Our own resources are closed; an open handle of a library must not keep the process running.
    process.exit(0);
  },
};

/** One process. A reload that asks for a restart must not end it, as the signal does by default. */
async function startAlone({ config, log, stop }: SuperviseOptions): Promise<Program> {
  if (!hangUpStops())
    process.on("SIGHUP", () =>
      log.warn("SIGHUP restarts only the processes of a program with several (POSTHORN_PROCESSES); nothing was done"),
    );
  const { assemble } = await import("../assemble.ts");
  return await assemble(config, log, stop);
}

/** Several processes, which SIGHUP restarts one after the other. */
async function startSupervised(options: SuperviseOptions): Promise<Program> {
  const { supervise } = await import("../processes/supervisor.ts");
  if (hangUpStops()) {
    // The terminal is closed: what listens for SIGTERM stops the program.
    process.on("SIGHUP", () => process.emit("SIGTERM", "SIGTERM"));
    return await supervise(options);
  }
  const program = supervise(options);
  // Before the program runs, its start goes on.
  process.on("SIGHUP", () => void program.then(({ restart }) => restart()).catch(() => {}));
  return await program;
}

function welcome(config: Config, program: Program): string {
  const { ports, first } = program;
  const ops = `http://${config.ops.host.includes(":") ? `[${config.ops.host}]` : config.ops.host}:${ports.ops}`;
  if (ports.http === undefined)
    return [
      ...["", `Posthorn is running with the roles ${[...config.roles].join(", ")}.`, "", `  Health     ${ops}/readyz`],
      ...[`  Metrics    ${ops}/metrics`, "", ...keyFileLines(first.keyFile), ""],
    ].join("\n");
  const base = baseUrl(config, ports.http);
  const lines = ["", "Posthorn is running.", "", `  API        ${base}`, `  Dashboard  ${base}/`];
  if (ports.smtp !== undefined) lines.push(`  SMTP       ${config.smtp.host}:${ports.smtp}`);
  for (const { listener, port, tls } of [
    { listener: config.submission, port: ports.submission, tls: "STARTTLS" },
    { listener: config.submissions, port: ports.submissions, tls: "TLS" },
  ])
    if (listener && port !== undefined)
      lines.push(`  Send       ${listener.host}:${port}  (SMTP with ${tls}, user posthorn, password: an API key)`);
  if (ports.dns !== undefined) lines.push(`  DNS        ${config.dns.host}:${ports.dns}  (zone ${config.zone})`);
  lines.push("");
  if (config.delivery === "capture")
    lines.push("  Capture mode: no mail leaves this machine. Set POSTHORN_DELIVERY=direct to deliver.", "");
  // Without a terminal, the output goes to a journal or log file, which more people can read than the data directory.
  const mayShow = process.stdout.isTTY === true && config.onLoopback;
  const { firstSignUp } = program;
  if (firstSignUp && mayShow)
    lines.push(`  Sign up with this one-time link (also in ${firstSignUp.file}):`, "", `    ${firstSignUp.link}`, "");
  else if (firstSignUp) lines.push(`  The one-time link to sign up is in ${firstSignUp.file}`, "");
  const showKey = first.newKey !== undefined && mayShow;
  if (showKey)
    lines.push(`  Your first API key, shown only once (also in ${first.keyFile}):`, "", `    ${first.newKey}`, "");
  else lines.push(...keyFileLines(first.keyFile));
  const key = showKey ? first.newKey : first.keyFile ? `$(cat ${quoted(first.keyFile)})` : "$POSTHORN_API_KEY";
  lines.push(
    ...exampleCalls({ base, key: key ?? "", from: program.exampleDomain, mailbox: mailboxFolder(config.dataDir) }),
    "",
    "",
  );
  return lines.join("\n");
}

/** The node that starts first creates the key, whatever its roles. */
function keyFileLines(keyFile: string | undefined): string[] {
  return keyFile === undefined ? [] : [`  The first API key is in ${keyFile}`, ""];
}

/** The path as one shell word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

type Example = { base: string; key: string; from: string | undefined; mailbox: string };

function exampleCalls({ base, key, from, mailbox }: Example): string[] {
  const curl = (method: string, request: object) => [
    `    curl -s ${base}/v1.${method} \\`,
    `      -H "Authorization: Bearer ${key}" \\`,
    '      -H "Connect-Protocol-Version: 1" -H "Content-Type: application/json" \\',
    `      -d '${JSON.stringify(request)}'`,
  ];
  if (!from) return ["  Try it:", "", ...curl("DomainService/ListDomains", {})];
  const email = { from: `hello@${from}`, to: [`you@${from}`], subject: "Hello", body: "It works." };
  return [
    `  Send an email, which is captured in ${mailbox}:`,
    "",
    ...curl("EmailService/SendEmail", email),
    "",
    "  See its events:",
    "",
    ...curl("EmailService/ListEvents", {}),
  ];
}
