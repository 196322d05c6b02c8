/** posthorn keys update and keys rotate, locally or at another instance. */
import type { JsonObject } from "@bufbuild/protobuf";
import { defaultOverlapMs, maxOverlapMs, nameProblems } from "../../keys/rules/settings.ts";
import { type Command, UsageError } from "../command.ts";
import { jsonLine, plain, write } from "../output.ts";
import { anyLimit, limitOptions, limitsOnWire, readKeyLimits } from "./key-options.ts";
import { callForKey, keyIdFrom, nowOf, type WireKey } from "./keys.ts";
import { readDuration } from "./read-options.ts";
import { apiOptions, withApi } from "./with-api.ts";

const keysUpdate: Command = {
  name: "keys update",
  summary: "Change the name, the expiry and the limits of an API key. `any` removes a limit.",
  words: "KEY_ID",
  options: {
    name: { type: "string", help: "new display name" },
    ...limitOptions,
    json: { type: "boolean", help: "print the key as JSON" },
    ...apiOptions,
  },
  async run(input) {
    const { options, lists } = input;
    const id = keyIdFrom(input.words);
    const name = options.name === undefined ? undefined : String(options.name).trim();
    const [problem] = name === undefined ? [] : nameProblems(name);
    if (problem) throw new UsageError(`--name ${problem.description}`);
    await withApi(input, async (api) => {
      const { limits, named } = readKeyLimits(lists, options.expires, nowOf(api));
      const request: JsonObject & { id: string } = { id, ...limitsOnWire(limits) };
      if (name !== undefined) request.name = name;
      if (named.domains && !limits.domains) request.domains = anyLimit;
      if (named.recipients && !limits.recipients) request.allowedRecipients = anyLimit;
      if (named.addresses && !limits.addresses) request.allowedAddresses = anyLimit;
      if (named.expiresAt && !limits.expiresAt) request.neverExpires = true;
      const { key } = await callForKey<{ key: WireKey }>(api, "KeyService/UpdateKey", request);
      const expiresAt = key.expiresAt && new Date(key.expiresAt).toISOString();
      await write(
        options.json ? jsonLine({ id, prefix: key.prefix, expiresAt }) : `Key ${plain(key.prefix)}… changed.\n`,
      );
    });
  },
};

const keysRotate: Command = {
  name: "keys rotate",
  summary: "Replace an API key with one that has the same settings, and print only the new key on standard output.",
  words: "KEY_ID",
  options: {
    overlap: { type: "string", help: "how long the old key keeps working: 24h, 7d, up to 30d, or 0", value: "24h" },
    expires: limitOptions.expires,
    json: { type: "boolean", help: "print the new key, its id and the expiry of the old one as JSON" },
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const id = keyIdFrom(input.words);
    const overlapMs = options.overlap === undefined ? defaultOverlapMs : readDuration(String(options.overlap));
    if (overlapMs === undefined || overlapMs > maxOverlapMs)
      throw new UsageError(
        `--overlap must be a duration such as 24h, up to 30d, or 0, not ${JSON.stringify(options.overlap)}`,
      );
    await withApi(input, async (api) => {
      const { limits } = readKeyLimits({}, options.expires, nowOf(api));
      const request: JsonObject & { id: string } = {
        id,
        overlapSeconds: overlapMs / 1000,
        ...limitsOnWire({ expiresAt: limits.expiresAt }),
      };
      type Rotated = { key: WireKey; secret: string; previous: WireKey };
      const { key, secret, previous } = await callForKey<Rotated>(api, "KeyService/RotateKey", request);
      const endsAt = previous.revokedAt ?? previous.expiresAt;
      const previousEndsAt = endsAt && new Date(endsAt).toISOString();
      // Before anything can fail: the secret is returned only once.
      await write(
        options.json ? jsonLine({ id: key.id, secret, previousId: id, previousEndsAt }) : `${plain(secret)}\n`,
      );
      if (options.expires === "never" && key.expiresAt)
        await api.call("KeyService/UpdateKey", { id: key.id, neverExpires: true });
    });
  },
};

export const keyChanges = [keysUpdate, keysRotate];
