import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyService } from "../gen/v1/key_pb.ts";
import { OperatorService } from "../gen/v1/operator_pb.ts";
import { Problem } from "../ops/problem.ts";
import { cancellationOf } from "./call.ts";
import type { Caller } from "./caller.ts";
import { admit, createCallLimit } from "./gate.ts";

test("a call over the rate limit gets resource_exhausted with the time to wait", () => {
  const limit = createCallLimit({ perSecond: 10, burst: 3 });
  for (let i = 0; i < 3; i++) limit.take("a", 1000);
  assert.throws(
    () => limit.take("a", 1000),
    (error) => error instanceof Problem && error.code === "resource_exhausted" && error.retryAfterMs === 100,
  );
  limit.take("b", 1000);
  limit.take("a", 1100);
  assert.throws(() => limit.take("a", 1100), Problem);
});

test("the workspace of a refused call is known, so that the refusal counts for it and not for the client's network", async () => {
  const caller: Caller = { workspaceId: "w", keyId: "k", permission: "full", test: false };
  const deps = {
    authenticator: { authenticate: async () => caller },
    callLimit: createCallLimit({ perSecond: 1, burst: 1 }),
  };
  const known: Caller[] = [];
  const call = () =>
    admit(deps, {
      method: KeyService.method.listKeys,
      protocol: "grpc",
      header: () => undefined,
      address: () => "192.0.2.1",
      timeoutMs: () => undefined,
      cancellation: cancellationOf(new AbortController().signal),
      onCaller: (one) => known.push(one),
    });
  await call();
  await assert.rejects(call, Problem);
  assert.deepEqual(known, [caller, caller]);
  assert.equal(known[0]!.address?.(), "192.0.2.1");
});

test("a method for operators needs an operator with a second factor, and no workspace", async () => {
  const base = { workspaceId: "w", keyId: "k", permission: "full", domain: undefined, test: false } as const;
  const person = { id: "p", email: "p@there.test", role: "owner" } as const;
  const needed: boolean[] = [];
  const call = (caller: Caller) =>
    admit(
      {
        authenticator: { authenticate: async () => caller },
        sessions: {
          async identify(_header, needsWorkspace) {
            needed.push(needsWorkspace);
            return caller.person && caller;
          },
        },
        callLimit: createCallLimit({ perSecond: 1000, burst: 1000 }),
      },
      {
        method: OperatorService.method.listPeople,
        protocol: "grpc",
        header: () => undefined,
        timeoutMs: () => undefined,
        cancellation: cancellationOf(new AbortController().signal),
        address: () => "192.0.2.1",
      },
    );
  const refused = (message: RegExp) => (error: Problem) =>
    error.code === "permission_denied" && message.test(error.message);
  await assert.rejects(call(base), refused(/needs an operator/));
  await assert.rejects(call({ ...base, person }), refused(/posthorn people operator EMAIL/));
  await assert.rejects(call({ ...base, person: { ...person, lacksSecondFactor: true } }), refused(/second factor/));
  await call({ ...base, person: { ...person, role: undefined, isOperator: true } });
  assert.ok(needed.every((one) => !one));
});
