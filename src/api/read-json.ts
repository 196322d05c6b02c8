/** Reads the JSON of requests more strictly and more helpfully than Connect does by itself. Used by the router, one reader per method. */
import { type DescMessage, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { invalid, type Violation } from "../rules/problem.ts";
import { fromProblem } from "./errors.ts";
import { calendarProblems, jsonProblems } from "./json-problems.ts";

/** Larger requests are read once, by Connect: its words name one field, and a second look would hold everybody up. */
const lookTwiceBytes = 1024 * 1024;

/**
 * Takes the place of Connect's text decoder, the one step of its decoding that can be replaced. Connect names only the
 * first mistake, without its path, drops enum values that it does not know, and turns bad UTF-8 into question marks.
 */
export function createJsonReader(request: DescMessage, refused: () => void) {
  // RFC 8259 §8.1: JSON between systems is UTF-8.
  const utf8 = new TextDecoder("utf-8", { fatal: true });

  function check(bytes: Uint8Array | undefined): string | Violation[] {
    let text: string;
    try {
      text = utf8.decode(bytes);
    } catch {
      return [whole("is not valid UTF-8")];
    }
    if (text.length > lookTwiceBytes) return text;
    let json: JsonValue;
    try {
      json = JSON.parse(text) as JsonValue;
    } catch (error) {
      return [whole(`is not valid JSON: ${(error as Error).message}`)];
    }
    const problems = [
      ...(decodes(request, json) ? [] : jsonProblems(request, json)),
      ...calendarProblems(request, json),
    ];
    return problems.length > 0 ? problems : text;
  }

  return {
    decode(bytes?: Uint8Array): string {
      const found = check(bytes);
      if (typeof found === "string") return found;
      refused();
      throw fromProblem(invalid(found));
    },
  };
}

/** With nothing ignored: a field or an enum value that is unknown has the request looked at closely. */
function decodes(request: DescMessage, json: JsonValue): boolean {
  try {
    fromJson(request, json, { ignoreUnknownFields: false });
    return true;
  } catch {
    return false;
  }
}

function whole(description: string): Violation {
  return { field: "(request)", description };
}
