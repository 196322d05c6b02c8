/** The program's log: JSON lines for machines, readable lines on a terminal. It never contains secrets or message content. */
import { createRequire } from "node:module";
import { type Logger, pino } from "pino";

export type Log = Logger;

export type LogOptions = { level: string; pretty: boolean };

/** Fields that hold secrets, in case an object with one is logged by mistake. */
const redacted = [
  "authorization",
  "*.authorization",
  "headers.authorization",
  "password",
  "*.password",
  "secret",
  "*.secret",
  "apiKey",
  "*.apiKey",
  "databaseUrl",
  "*.databaseUrl",
];

export function createLog(options: LogOptions): Log {
  const base = {
    level: options.level,
    base: null,
    redact: { paths: redacted, censor: "[hidden]" },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (!options.pretty) return pino(base, pino.destination({ fd: 1, sync: true }));
  // Loaded only for a terminal; a service never needs it.
  const pretty = createRequire(import.meta.url)("pino-pretty") as typeof import("pino-pretty");
  return pino(
    base,
    pretty({ colorize: !process.env.NO_COLOR, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname", sync: true }),
  );
}

/** A log without output, for short-lived commands that print their own messages. */
export function silentLog(): Log {
  return pino({ level: "silent" });
}
