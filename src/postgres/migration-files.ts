/**
 * Reads the migration files: numbered SQL files, each one transaction, one concurrent index, or one constraint to validate.
 * Used by migrate.ts and scripts/migration-rules.ts.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { SchemaError } from "./schema-verdict.ts";

export const migrationsFolder = new URL("./migrations/", import.meta.url);

export type Migration = {
  version: number;
  name: string;
  checksum: string;
  text: string;
  /** From a line `-- serves: 3`: programs below this schema version no longer work after this migration. */
  serves: number | undefined;
  /** Set when the file is one `create index concurrently`, which is built outside a transaction, partition by partition. */
  index: IndexDefinition | undefined;
  /** The file validates a constraint: it scans a whole table, with a lock that blocks neither reads nor writes. */
  validates: boolean;
  /** Existing tables that the file locks. */
  touches: string[];
};

export type IndexDefinition = {
  name: string;
  table: string;
  unique: boolean;
  /** The text after the table's name: method, columns, predicate. */
  rest: string;
};

/** The migrations of this program, numbered 1, 2, 3 … without gaps. */
export async function readMigrations(folder: URL = migrationsFolder): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (name, index) => {
      if (Number.parseInt(name, 10) !== index + 1)
        throw new SchemaError(
          `Migration ${name} must have the number ${index + 1}: rename it so that the numbers have no gap.`,
        );
      return parseMigration(name, await readFile(new URL(name, folder), "utf8"));
    }),
  );
}

export function parseMigration(name: string, text: string): Migration {
  const statements = statementsOf(text);
  const index = statements.length === 1 ? indexOf(statements[0]!) : undefined;
  const serves = /^-- serves: (\d+)\s*$/m.exec(text)?.[1];
  return {
    version: Number.parseInt(name, 10),
    name,
    text,
    checksum: createHash("sha256").update(text).digest("hex"),
    serves: serves === undefined ? undefined : Number(serves),
    index,
    validates: statements.length === 1 && /^alter table \w+ validate constraint \w+$/i.test(statements[0]!),
    touches: touchedBy(statements),
  };
}

/** The statements of a file without comments and with single spaces. Quoted and dollar-quoted text is unchanged. */
export function statementsOf(text: string): string[] {
  const token = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1|;|\s+|[^\s;'"$/-]+|./g;
  const statements: string[] = [];
  let statement = "";
  for (const [part] of text.matchAll(token)) {
    if (part === ";") {
      statements.push(statement);
      statement = "";
    } else if (part.startsWith("--") || part.startsWith("/*") || /^\s+$/.test(part)) statement += " ";
    else statement += part;
  }
  return [...statements, statement].map((one) => one.replace(/ {2,}/g, " ").trim()).filter((one) => one !== "");
}

const concurrently =
  /^create (unique )?index concurrently (?:if not exists )?(\w+) on (?:public\.)?(\w+) ?((?:using \w+ ?)?\(.*)$/is;

export function indexOf(statement: string): IndexDefinition | undefined {
  const match = concurrently.exec(statement);
  if (!match) return undefined;
  return { name: match[2]!, table: match[3]!, unique: match[1] !== undefined, rest: match[4]! };
}

/** Tables that the statements create. */
export function createdBy(statements: readonly string[]): Set<string> {
  return new Set(
    statements.flatMap((one) => /^create table (?:if not exists )?(?:public\.)?(\w+)/i.exec(one)?.[1] ?? []),
  );
}

function touchedBy(statements: readonly string[]): string[] {
  const created = createdBy(statements);
  const found = new Set<string>();
  for (const one of statements) {
    const target =
      /^(?:alter table|create (?:(?:unique )?index|trigger)\b.*? on|insert into|update|delete from)(?: if exists)?(?: only)? (?:public\.)?(\w+)/i.exec(
        one,
      )?.[1];
    const referenced = [...one.matchAll(/\b(?:references|partition of|inherit) (?:public\.)?(\w+)/gi)].map(
      (match) => match[1]!,
    );
    const parents = /\binherits ?\(([^)]*)\)/i.exec(one)?.[1]?.split(",") ?? [];
    referenced.push(...parents.map((name) => name.trim().replace(/^public\./i, "")));
    for (const table of [...(target ? [target] : []), ...referenced]) if (!created.has(table)) found.add(table);
  }
  return [...found];
}
