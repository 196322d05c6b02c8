/** Throughput of our HTTP stack with an empty handler, compared with connect-node alone and with plain node:http and protobuf-es JSON.
 * npm run bench -- http */
import { startEmptyServer } from "./lib/empty-calls.ts";
import { startEnvironment } from "./lib/environment.ts";
import type { Bench, Row } from "./lib/report.ts";
import { steady } from "./lib/steady.ts";

export const benchHttp: Bench = async (progress) => {
  const environment = await startEnvironment();
  // The first start creates the schema and the key.
  await (await environment.start({ POSTHORN_ROLES: "api" })).remove();
  progress("warming up …");
  const servers = {
    plain: await startEmptyServer("plain"),
    connect: await startEmptyServer("connect"),
    ours: await startEmptyServer("ours", environment.databaseUrl),
  };
  progress("calls of plain node:http with protobuf-es JSON, of connect-node and of our HTTP stack …");
  const rows = await steady(progress, async (): Promise<Row[]> => {
    const plain = await servers.plain.measure();
    const connect = await servers.connect.measure();
    const ours = await servers.ours.measure();
    const plainLimit = { what: "plain node:http, protobuf-es JSON", value: plain.perSecond };
    const own = { what: "unary calls, our HTTP stack", value: ours.perSecond, unit: "/s", shares: ours.shares };
    return [
      { ...own, baseline: { what: "connect-node's empty call", value: connect.perSecond } },
      { ...own, baseline: plainLimit },
      {
        what: "unary calls, connect-node alone",
        value: connect.perSecond,
        unit: "/s",
        baseline: plainLimit,
        shares: connect.shares,
      },
    ];
  });
  for (const server of Object.values(servers)) server.stop();
  await environment.stop();
  return rows;
};
