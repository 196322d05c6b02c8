/** Fail-overs of servers that Patroni manages, under load. */
import { startPatroni, withoutPatroni } from "../harness/patroni.ts";
import { startReader } from "../harness/stream-readers.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { compareCuts, compareLog, limitMs, untilAccepted } from "./fail-over.ts";
import type { Fault } from "./fault.ts";

const names = {
  switchOver: "Patroni makes another server the leader",
  killPrimary: "the leader is killed with its Patroni",
} as const;
type Kind = keyof typeof names;

export const patroniFailOvers: Fault[] = (Object.keys(names) as Kind[]).map((kind) => ({
  name: `fail-over with Patroni: ${names[kind]}`,
  promise: "no acknowledged email is lost; the program finds the new leader within 10 s",
  times: 5,
  cannot: () => (withoutPatroni ? `${withoutPatroni}; sudo sh scripts/install-patroni.sh` : undefined),
  inject: (times: number, progress: Progress) => inject(kind, times, progress),
}));

async function inject(kind: Kind, times: number, progress: Progress): Promise<Findings> {
  const patroni = await startPatroni();
  const recoveries: number[] = [];
  try {
    const findings = await underLoad({ testbed: { server: patroni.server } }, async (run) => {
      const { testbed } = run;
      const reader = startReader({ url: () => testbed.program.url, key: testbed.program.key }, { messages: 500 });
      run.cleanUp(() => reader.stop());
      run.whenSettled(async () => [...(await compareLog(testbed, reader)), ...(await compareCuts(testbed, times))]);
      for (let i = 1; i <= times; i++) {
        await run.injectFault(
          () => patroni[kind](),
          async () => {
            await untilAccepted(run, patroni.query);
            recoveries.push(performance.now() - patroni.promotedAtMs());
            await patroni.repair();
          },
        );
        progress(`${i} of ${times}: accepts mail after ${Math.round(recoveries.at(-1)!)} ms`);
      }
    });
    const recoveryMs = Math.max(...recoveries);
    const late = recoveryMs > limitMs ? [`recovery took ${Math.round(recoveryMs)} ms`] : [];
    return { ...findings, recoveryMs, broken: [...findings.broken, ...late] };
  } finally {
    await patroni.stop();
  }
}
