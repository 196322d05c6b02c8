import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { changeProfiles } from "./profile-file.ts";

test("a command whose draft another one took as stale does not store the other's draft", {
  timeout: 10_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-profiles-"));
  const path = join(folder, "profiles.json");
  const add = (name: string) => (file: { profiles: Record<string, object> }) => {
    file.profiles[name] = { url: "https://mail.example", key: `ph_${name}` };
  };
  try {
    await changeProfiles(path, add("kept"));
    const before = await readFile(path, "utf8");
    const stalled = changeProfiles(path, (file) => {
      add("lost")(file);
      // Another command finds this draft too old and starts its own, which is still empty.
      rmSync(`${path}.new`);
      writeFileSync(`${path}.new`, "", { mode: 0o600 });
    });
    await assert.rejects(stalled, /Another command changes .*profiles\.json\. Repeat the command\./);
    assert.equal(await readFile(path, "utf8"), before);
    assert.ok(existsSync(`${path}.new`), "the other command keeps its draft");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
