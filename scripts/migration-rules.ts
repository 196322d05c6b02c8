/** The rules for migrations after 0001: they only add, hold locks only briefly, and older programs keep working on the new schema.
 * Called by migrations.ts. docs/decisions/0022-migrations.md has the reasons. */
import type { Backfill } from "../src/postgres/backfill.ts";
import { createdBy, indexOf, type Migration, statementsOf } from "../src/postgres/migration-files.ts";

/** Checksum of 0001 when the rules were introduced. */
const frozen = "3aab15063a3b79e49e7f24ccf7f8252e74d9e19d4242317af7b3fba1fdc7b8c6";

/** Problems of the whole folder: changed or unlisted files, and statements that break the rules. */
export function faultsOfFolder(
  migrations: readonly Migration[],
  released: string,
  backfills: readonly Pick<Backfill, "name" | "since">[] = [],
): string[] {
  const listed = new Map(
    released.split("\n").flatMap((line) => {
      const match = /^([0-9a-f]{64}) {2}(\S+\.sql)$/.exec(line);
      return match ? [[match[2]!, match[1]!] as const] : [];
    }),
  );
  const faults: string[] = [];
  if (migrations[0]?.checksum !== frozen)
    faults.push("0001_core.sql is frozen byte for byte: restore it, and write the change as a new file.");
  for (const { name, checksum } of migrations) {
    const known = listed.get(name);
    if (known === undefined)
      faults.push(`${name} is not in released.txt. When the file is final, add this line:\n  ${checksum}  ${name}`);
    else if (known !== checksum)
      faults.push(
        `${name} has changed since it was listed in released.txt. Databases have already applied it: restore it, and write the change as a new file.`,
      );
  }
  for (const name of listed.keys())
    if (!migrations.some((one) => one.name === name))
      faults.push(`${name} is listed in released.txt but missing. Databases have already applied it: restore it.`);
  for (const [i, migration] of migrations.entries())
    if (i > 0) faults.push(...faultsOf(migration, migrations.slice(0, i)).map((one) => `${migration.name}: ${one}`));
  return [...faults, ...backfills.flatMap((backfill) => backfillFaults(backfill, migrations))];
}

function backfillFaults({ name, since }: Pick<Backfill, "name" | "since">, migrations: readonly Migration[]): string[] {
  if (migrations[since - 1]) return [];
  return [`the backfill "${name}" names version ${since}, but there is no such migration.`];
}

/** Problems of one file. `earlier` are the files before it. */
export function faultsOf(migration: Migration, earlier: readonly Migration[]): string[] {
  const statements = statementsOf(migration.text);
  const created = createdBy(statements);
  const before = earlier.flatMap(({ text }) => statementsOf(text));
  const faults = statements.flatMap((one) =>
    faultsOfStatement(one, { created, before, alone: statements.length === 1, serves: migration.serves }),
  );
  if (migration.serves !== undefined && (migration.serves > migration.version || migration.serves < 1))
    faults.push(`"-- serves: ${migration.serves}" must name a version from 1 to ${migration.version}.`);
  if (migration.touches.length > 1)
    faults.push(
      `it locks ${migration.touches.join(" and ")}, and would hold the first lock while it waits for the next. Write one file for each existing table.`,
    );
  return faults;
}

type Context = { created: Set<string>; before: readonly string[]; alone: boolean; serves: number | undefined };

function faultsOfStatement(statement: string, context: Context): string[] {
  const fault = (why: string) => [`"${statement.slice(0, 60)}": ${why}`];
  if (/^create table /i.test(statement) && !/^create table .* (?<!generated (always|by default) )as /i.test(statement))
    return [];
  if (/^comment on /i.test(statement)) return [];
  if (/^create (unique )?index /i.test(statement)) return indexFaults(statement, context, fault);
  if (/^alter table /i.test(statement)) return alterFaults(statement, context, fault);
  if (/^insert into \w+ ?\([^)]*\) ?values/i.test(statement)) return [];
  if (fillsNewTable(statement, context)) return [];
  // A new function locks no table, and older programs do not call it.
  if (/^create function /i.test(statement)) return [];
  // So does a trigger on a table of the same file. One that follows inserts locks an existing table briefly, and changes no new row.
  if (context.created.has(/^create trigger \w+ (?:before|after) .* on (\w+) /i.exec(statement)?.[1] ?? "")) return [];
  if (/^create trigger \w+ after insert on \w+ /i.test(statement)) return [];
  for (const [pattern, why] of refused) if (pattern.test(statement)) return fault(why);
  return fault(
    "a migration may create tables and functions, add columns and constraints, create indexes and insert single rows. Do the rest in a backfill (src/postgres/backfill.ts) or in the program.",
  );
}

/** Rows of a table that the same file creates, read from the catalog alone: this takes no lock and little time. */
function fillsNewTable(statement: string, { created }: Context): boolean {
  const table = /^insert into (\w+) ?\([^)]*\) ?select /i.exec(statement)?.[1];
  const sources = [...statement.matchAll(/\b(?:from|join) (?!')(\w+)/gi)].map((match) => match[1]!);
  return table !== undefined && created.has(table) && sources.length > 0 && sources.every((one) => /^pg_/i.test(one));
}

const refused: [RegExp, string][] = [
  [
    /^(update|delete|insert|with|merge|truncate|copy)\b/i,
    "it changes existing rows, which takes long on a large table. Register a backfill (src/postgres/backfill.ts).",
  ],
  [
    /^drop /i,
    "older programs still use it. Keep it, or stop using it and drop it once no supported release needs it (-- serves: N).",
  ],
  [/^(begin|commit|rollback|savepoint)\b/i, "each file already runs in one transaction."],
  [
    /^(do|call|select)\b/i,
    "the statements that it runs cannot be checked. Register a backfill, or do it in the program.",
  ],
  [/^(vacuum|cluster|reindex|refresh|lock)\b/i, "it locks or rewrites a table."],
];

/** Formats one problem of a statement. */
type Fault = (why: string) => string[];

/** For a constraint that the database also enforces on new rows of older programs. */
function servesFaults({ serves }: Context, fault: Fault): string[] {
  return serves === undefined
    ? fault(
        "writes of older programs that violate this constraint fail. Add the line `-- serves: N` with the lowest schema version whose program respects it (1 if every program does).",
      )
    : [];
}

function indexFaults(statement: string, context: Context, fault: Fault): string[] {
  const { created, alone } = context;
  const index = indexOf(statement);
  if (index && !alone) return fault("an index that is built concurrently needs its own file.");
  if (index) return index.unique ? servesFaults(context, fault) : [];
  if (/^create (unique )?index concurrently/i.test(statement))
    return fault("write: create index concurrently NAME on TABLE (COLUMNS) …, without schema, quotes or ONLY.");
  const table = /^create (?:unique )?index \w+ on (\w+)/i.exec(statement)?.[1];
  if (table && created.has(table)) return [];
  return fault(
    "it blocks writes until it is built. Write `create index concurrently NAME on TABLE (…)` in its own file. It is then built for each partition and attached.",
  );
}

function alterFaults(statement: string, context: Context, fault: Fault): string[] {
  const match = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/is.exec(statement);
  if (!match) return fault("write: alter table NAME ACTION, without schema or quotes.");
  if (context.created.has(match[1]!)) return [];
  return actionsOf(match[2]!).flatMap((action) => actionFaults(action, match[1]!, context, fault));
}

function actionFaults(action: string, table: string, context: Context, fault: Fault): string[] {
  const { before, alone } = context;
  if (/^validate constraint /i.test(action))
    return alone
      ? []
      : fault("validating reads the whole table. It needs its own file, so that no other lock is held meanwhile.");
  if (/^add constraint /i.test(action))
    return / not valid$/i.test(action)
      ? servesFaults(context, fault)
      : fault("it reads the whole table under a lock. Add `not valid`, and validate it in its own file.");
  if (/^drop constraint \w+_check$/i.test(action) || /^set \(/i.test(action)) return [];
  if (/^alter (column )?\w+ drop default/i.test(action))
    return fault("older programs insert rows without this column and rely on its default. Keep the default.");
  // The storage of values that are written from then on. Existing values stay as they are.
  if (/^alter (column )?\w+ (set default|drop not null|set storage)/i.test(action)) return [];
  const notNull = /^alter (?:column )?(\w+) set not null$/i.exec(action)?.[1];
  if (notNull)
    return hasValidatedCheck(table, notNull, before)
      ? servesFaults(context, fault)
      : fault(
          `it reads the whole table under a lock. First \`add constraint NAME check (${notNull} is not null) not valid\` (with \`-- serves: N\`) and \`validate constraint NAME\`, each in its own file.`,
        );
  if (/^alter (column )?\w+ (set data )?type /i.test(action))
    return fault("it rewrites the table and breaks older programs. Add a new column, and backfill it.");
  if (/^rename /i.test(action)) return fault("older programs still use the old name. Add a new column or table.");
  if (/^drop /i.test(action))
    return fault("older programs still use it. Keep it until no supported release needs it (-- serves: N).");
  if (writesWholeRows.has(table) && /\bnot null\b/i.test(action))
    return fault(
      "older programs write whole rows of this table, with null in columns that they do not know. Make the column nullable.",
    );
  if (/^add (?!constraint|primary|unique|foreign|check|exclude)/i.test(action)) return columnFaults(action, fault);
  return fault("it locks the table for too long, or older programs may not work with it.");
}

/** `insert into stats select *` from rows of the table's own type (src/stats/store/fold.ts), from schema version 1 on. */
const writesWholeRows = new Set(["stats"]);

/** Whether an earlier file added and validated a check that lets PostgreSQL skip the scan. */
function hasValidatedCheck(table: string, column: string, before: readonly string[]): boolean {
  const added = new RegExp(
    `^alter table ${table} add constraint (\\w+) check ?\\( ?${column} is not null ?\\) not valid$`,
    "i",
  );
  const name = before.flatMap((one) => added.exec(one)?.[1] ?? []).at(-1);
  return (
    name !== undefined &&
    before.some((one) => one.toLowerCase() === `alter table ${table} validate constraint ${name}`.toLowerCase())
  );
}

/** Defaults that PostgreSQL stores once in the catalog instead of writing them into every row. */
const plainDefault =
  /^default (?:'(?:[^']|'')*'|-?[\d.]+|true|false|null|now\(\)|current_timestamp)(?:::[\w ]+(?:\[\])?)?(?: not null| null)?$/i;

function columnFaults(action: string, fault: Fault): string[] {
  const rest = action.replace(/^add (column )?(if not exists )?\w+ /i, "");
  if (/\b(generated|serial|bigserial|smallserial)\b/i.test(rest))
    return fault("it rewrites every row. Add a plain column, and backfill it.");
  if (/\b(primary key|unique|references|check)\b/i.test(rest))
    return fault("its constraint reads the whole table. Add the column alone, then the constraint with `not valid`.");
  const text = /\bdefault .*$/i.exec(rest)?.[0];
  if (text === undefined)
    return /\bnot null\b/i.test(rest)
      ? fault("older programs insert rows without it. Give it a default, or make it nullable.")
      : [];
  return plainDefault.test(text)
    ? []
    : fault(
        "its default is not a constant, so every row would be rewritten. Add the column without a default, and backfill it.",
      );
}

/** The actions of an ALTER TABLE, split at commas outside parentheses and string literals. */
function actionsOf(text: string): string[] {
  const actions = [""];
  let depth = 0;
  for (const [part] of text.matchAll(/'(?:[^']|'')*'|[(),]|[^'(),]+/g)) {
    if (part === "(") depth++;
    if (part === ")") depth--;
    if (part === "," && depth === 0) actions.push("");
    else actions[actions.length - 1] += part;
  }
  return actions.map((action) => action.trim());
}
