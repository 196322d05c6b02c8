/** A client of the real program, for tests of the SDK. */
import { createTestDatabase } from "../../test/harness/database.ts";
import { type RunningProgram, startProgram } from "../../test/harness/program.ts";
import { Posthorn } from "../src/index.ts";

export type RunningClient = { program: RunningProgram; posthorn: Posthorn; stop(): Promise<void> };

export async function startClient(env: Record<string, string> = {}): Promise<RunningClient> {
  const database = await createTestDatabase({ example: true });
  const program = await startProgram({ databaseUrl: database.url, env }).catch(async (error) => {
    await database.drop();
    throw error;
  });
  return {
    program,
    posthorn: new Posthorn({ apiKey: program.key, baseUrl: program.url }),
    async stop() {
      await program.remove();
      await database.drop();
    },
  };
}
