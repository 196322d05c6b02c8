/** What our way in costs, beside connect-node alone and plain node:http with protobuf-es JSON: node bench/http.ts [--json] */
import { emptyCalls } from "./lib/empty-calls.ts";
import { type Bench, runAlone } from "./lib/report.ts";
import { setStage } from "./lib/stage.ts";

export const benchHttp: Bench = async (say) => {
  const stage = await setStage();
  // The first start makes the schema and the key.
  await (await stage.start({ POSTHORN_ROLES: "api" })).remove();
  say("plain node:http with protobuf-es JSON …");
  const plain = await emptyCalls("plain");
  say("connect-node with an empty handler …");
  const connect = await emptyCalls("connect");
  say("our way in with an empty handler …");
  const ours = await emptyCalls("ours", stage.databaseUrl);
  await stage.clear();
  const plainLimit = { what: "plain node:http, protobuf-es JSON", value: plain };
  return [
    {
      what: "unary calls, our way in",
      value: ours,
      unit: "/s",
      beside: { what: "connect-node's empty call", value: connect },
    },
    { what: "unary calls, our way in", value: ours, unit: "/s", beside: plainLimit },
    { what: "unary calls, connect-node alone", value: connect, unit: "/s", beside: plainLimit },
  ];
};

if (import.meta.main) await runAlone(benchHttp);
