/** Decides whether this program may run on a schema. If not, the error names the likely cause and the fix. Called by migrate.ts. */

export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

export type KnownMigration = { version: number; name: string; checksum: string };
export type AppliedMigration = KnownMigration & {
  /** The lowest schema version whose program still works after this migration. */
  serves: number;
};

/** Where the database is. The likely causes and their fixes depend on it. */
export type DatabaseLocation = { kind: "embedded"; dataDir: string } | { kind: "external" };

/** Throws a SchemaError when the program must not start. */
export function judgeSchema(
  known: readonly KnownMigration[],
  applied: readonly AppliedMigration[],
  location: DatabaseLocation,
): { version: number; serves: number } {
  const ownVersion = known.length;
  const newest = applied.at(-1);
  const serves = Math.max(1, ...applied.map((row) => row.serves));
  for (const [index, row] of applied.slice(0, ownVersion).entries()) {
    if (row.version > ownVersion) break;
    const step = known[index]!;
    if (row.version !== step.version)
      throw new SchemaError(
        `The database's record of migrations lacks version ${step.version} (${step.name}). Nothing was changed. The likely cause: only some tables were restored, or the record was edited by hand. Restore a complete backup.`,
      );
    if (row.checksum !== step.checksum) throw new SchemaError(differs(step, row, location));
  }
  if (newest && newest.version > ownVersion && serves > ownVersion)
    throw new SchemaError(tooNew(newest, { ownVersion, serves }, location));
  return { version: newest?.version ?? 0, serves };
}

function tooNew(
  newest: AppliedMigration,
  own: { ownVersion: number; serves: number },
  location: DatabaseLocation,
): string {
  const what =
    `The database has schema version ${newest.version} (${newest.name}), which needs a program of version ${own.serves} or newer; ` +
    `this program has version ${own.ownVersion}. Nothing was changed.`;
  return location.kind === "embedded"
    ? `${what}\nThe likely cause: a newer release of Posthorn ran on ${location.dataDir} before this one. ` +
        "Start that newer release again, or restore the backup made before the upgrade (posthorn restore)."
    : `${what}\nThe likely cause: another node on this database runs a newer release of Posthorn. ` +
        "Upgrade this node to the release that the other nodes run, or restore the backup made before the upgrade.";
}

function differs(step: KnownMigration, row: AppliedMigration, location: DatabaseLocation): string {
  const what = `Migration ${row.name} in the database differs from the one in this program. Nothing was changed.`;
  return step.version === 1 ? `${what}\n${beforeRelease(row, location)}` : `${what}\n${edited(location)}`;
}

function beforeRelease(row: AppliedMigration, location: DatabaseLocation): string {
  const commit = developmentCommits[row.checksum];
  const cause = `The likely cause: this data was created by a development version from before the first release${
    commit ? ` (commit ${commit} runs on it)` : ""
  }, whose ${row.name} was different.`;
  const older = commit
    ? `commit ${commit} (git worktree add ../posthorn-older ${commit}, npm ci in it)`
    : "the commit that created it";
  return location.kind === "embedded"
    ? `${cause}
To keep its data: start ${older} on ${location.dataDir}, let it send the queued mail, and export what you need.
To start with an empty database: set POSTHORN_DATA_DIR to a new directory. ${location.dataDir} is not changed.`
    : `${cause}
To keep its data: start ${older} with this DATABASE_URL, let it send the queued mail, and export what you need.
To start with an empty database: create a new database and put its address into DATABASE_URL on every node. The old database is not changed.`;
}

function edited(location: DatabaseLocation): string {
  return location.kind === "embedded"
    ? `The likely cause: a development version with a migration that was changed later ran on ${location.dataDir}. Start the version that created this data, restore a backup, or set POSTHORN_DATA_DIR to a new directory.`
    : "The likely cause: one of the nodes on this database runs a development version with a migration that was changed later. Run the same release on every node of this DATABASE_URL, or restore a backup.";
}

/** Checksums of 0001_core.sql while it was still edited in place, each with the last commit that had it. */
const developmentCommits: Record<string, string> = {
  "0e40e055edd65e9bdc9f6dba6a4e9ec036c1ab80e203421ce0f2229065f2a7a1": "8b0bcb1",
  "99dfedecdf9fc74a40d3249bed6f4b53bc2fd13e6eb9d3e5ac4de93649bf3ad1": "7b44de0",
  "33ee35c9584de4e22da9eae387f7c863ada77295283c525af1d0d432adad9d41": "f670bce",
  "1269f2e314c09375aa17c6ea31eb8dddeda6c76b386263e9698da333a75188e7": "8427a3a",
  "200d0e72c1cb82f8bba493f6c00f24b4b134346580cd401e46c7f7257903fb1c": "1853f38",
  "0ff4ef8363cb58474a06a1a983ffdb9562e47582d56e645e32a69d0902986998": "b01af1e",
  "05762db75a573d3f724b11a2330884c9a592bcb981ff4930cfbb2d105ac41bff": "3ac43c7",
  e3b1044f242842dfa9d75d36bda73874622b12b6927594328156344893a483cc: "cc73254",
  "12a34139bf4d1de64f5a7c368edd7108b917388bb3c7fcc6ff0c4b6547f396f4": "5c4cebe",
};
