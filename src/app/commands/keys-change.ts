/** posthorn keys update and keys rotate, on a running or a stopped instance. */
import { audited, commandLine, record } from "../../audit/record.ts";
import { decideRotation, decideUpdate, keyChange, requireDomains, updateEntry } from "../../keys/changes.ts";
import { defaultOverlapMs, maxOverlapMs, nameProblems } from "../../keys/rules/settings.ts";
import { rotateKey, updateKey } from "../../keys/store/changes.ts";
import type { Key } from "../../keys/store.ts";
import { toWireId } from "../../postgres/ids.ts";
import { type Command, UsageError } from "../command.ts";
import { limitOptions, readDuration, readKeyLimits } from "./key-options.ts";
import { keyIdFrom, noSuchKey, workspaceFrom, workspaceOption } from "./keys.ts";
import { withStore } from "./with-store.ts";

const keysUpdate: Command = {
  name: "keys update",
  summary: "Change the name, the expiry and the limits of an API key. `any` removes a limit.",
  words: "KEY_ID",
  options: {
    workspace: workspaceOption,
    name: { type: "string", help: "new display name" },
    ...limitOptions,
    json: { type: "boolean", help: "print the key as JSON" },
  },
  async run({ words, options, lists, config }) {
    const id = keyIdFrom(words);
    const name = options.name === undefined ? undefined : String(options.name).trim();
    const [problem] = name === undefined ? [] : nameProblems(name);
    if (problem) throw new UsageError(`--name ${problem.description}`);
    await withStore(config(), async ({ sql, nowMs }) => {
      const given = readKeyLimits(lists, options.expires, nowMs());
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      await requireDomains(sql, workspaceId, given.limits.domains);
      const change = { name, ...given };
      let before: Key | undefined;
      const decide = (found: Key) => {
        before = found;
        return decideUpdate(found, change, undefined);
      };
      const key = await audited(
        sql,
        commandLine,
        (tx) => updateKey(tx, { workspaceId, id }, decide),
        (after) => updateEntry(before, after),
      );
      if (!key) throw noSuchKey(words[0]);
      const { prefix, expiresAt } = key;
      const line = options.json
        ? JSON.stringify({ id: words[0], prefix, expiresAt: expiresAt?.toISOString() })
        : `Key ${prefix}… changed.`;
      process.stdout.write(`${line}\n`);
    });
  },
};

const keysRotate: Command = {
  name: "keys rotate",
  summary: "Replace an API key with one that has the same settings, and print only the new key on standard output.",
  words: "KEY_ID",
  options: {
    workspace: workspaceOption,
    overlap: { type: "string", help: "how long the old key keeps working: 24h, 7d, up to 30d, or 0", value: "24h" },
    expires: limitOptions.expires,
    json: { type: "boolean", help: "print the new key, its id and the expiry of the old one as JSON" },
  },
  async run({ words, options, config }) {
    const id = keyIdFrom(words);
    const overlapMs = options.overlap === undefined ? defaultOverlapMs : readDuration(String(options.overlap));
    if (overlapMs === undefined || overlapMs > maxOverlapMs)
      throw new UsageError(
        `--overlap must be a duration such as 24h, up to 30d, or 0, not ${JSON.stringify(options.overlap)}`,
      );
    await withStore(config(), async ({ sql, nowMs }) => {
      const { limits } = readKeyLimits({}, options.expires, nowMs());
      const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
      let secret = "";
      const rotated = await audited(
        sql,
        commandLine,
        async (tx) => {
          const done = await rotateKey(tx, { workspaceId, id }, (old) => {
            const wanted = { overlapMs, expiresAt: limits.expiresAt, nowMs: nowMs() };
            const decided = decideRotation(old, { ...wanted, caller: undefined, maker: undefined });
            secret = decided.secret;
            return options.expires === "never" ? { ...decided, expiresAt: undefined } : decided;
          });
          if (done) await record(tx, commandLine, keyChange("key.created", { workspaceId, id: done.key.id }));
          return done;
        },
        (done) => done && keyChange("key.rotated", { workspaceId, id }),
      );
      if (!rotated) throw noSuchKey(words[0]);
      const { key, previous } = rotated;
      const previousEndsAt = (previous.revokedAt ?? previous.expiresAt)?.toISOString();
      const answer = { id: toWireId("key", key.id), secret, previousId: words[0], previousEndsAt };
      process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : `${secret}\n`);
    });
  },
};

export const keyChanges = [keysUpdate, keysRotate];
