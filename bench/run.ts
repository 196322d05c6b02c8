/** npm run bench [-- name …] [--json]: every bench, one after the other, each figure beside the limit measured in the same run. */
import { parseArgs } from "node:util";
import { benchHttp } from "./http.ts";
import { benchInbound } from "./inbound.ts";
import { type Bench, type Row, table, toTerminal, withRatio } from "./lib/report.ts";
import { benchQueue } from "./queue.ts";
import { benchSend } from "./send.ts";
import { benchStream } from "./stream.ts";

const benches: Record<string, Bench> = {
  http: benchHttp,
  queue: benchQueue,
  send: benchSend,
  inbound: benchInbound,
  stream: benchStream,
};

const { values, positionals } = parseArgs({
  options: { json: { type: "boolean" }, help: { type: "boolean" } },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(benches);
const unknown = names.filter((name) => !(name in benches));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) process.stderr.write(`There is no bench ${unknown.join(", ")}.\n`);
  process.stderr.write(`npm run bench [-- ${Object.keys(benches).join(" ")}] [--json]\n`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

const all: Record<string, Row[]> = {};
for (const [i, name] of names.entries()) {
  process.stderr.write(`${name} (${i + 1} of ${names.length})\n`);
  all[name] = await benches[name]!(toTerminal);
}
if (values.json) {
  const told = Object.entries(all).map(([name, rows]) => [name, rows.map(withRatio)]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(told))}\n`);
} else process.stdout.write(`\n${table(Object.values(all).flat())}`);
