/** Throughput of our HTTP stack with an empty handler, compared with connect-node alone and with plain node:http and protobuf-es JSON.
 * npm run bench -- http */
import { emptyCalls } from "./lib/empty-calls.ts";
import { startEnvironment } from "./lib/environment.ts";
import type { Bench } from "./lib/report.ts";

export const benchHttp: Bench = async (progress) => {
  const environment = await startEnvironment();
  // The first start creates the schema and the key.
  await (await environment.start({ POSTHORN_ROLES: "api" })).remove();
  progress("plain node:http with protobuf-es JSON …");
  const plain = await emptyCalls("plain");
  progress("connect-node with an empty handler …");
  const connect = await emptyCalls("connect");
  progress("our HTTP stack with an empty handler …");
  const ours = await emptyCalls("ours", environment.databaseUrl);
  await environment.stop();
  const plainLimit = { what: "plain node:http, protobuf-es JSON", value: plain };
  return [
    {
      what: "unary calls, our HTTP stack",
      value: ours,
      unit: "/s",
      baseline: { what: "connect-node's empty call", value: connect },
    },
    { what: "unary calls, our HTTP stack", value: ours, unit: "/s", baseline: plainLimit },
    { what: "unary calls, connect-node alone", value: connect, unit: "/s", baseline: plainLimit },
  ];
};
