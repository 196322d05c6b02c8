/** Reads the JSON of requests more strictly and more helpfully than Connect does by itself. One reader per method. */
import { type DescMessage, fromJson, fromJsonString, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { invalid, type Problem, type Violation } from "../rules/problem.ts";
import { fromProblem } from "./errors.ts";
import { calendarProblems, jsonProblems } from "./json-problems.ts";

/** Larger requests are read once, by Connect: its words name one field, and a second look would hold everybody up. */
const lookTwiceBytes = 1024 * 1024;

// RFC 8259 §8.1: JSON between systems is UTF-8.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The request that these bytes are, or a problem that names every field at fault. */
export function createRequestReader<D extends DescMessage>(request: D): (bytes: Uint8Array) => MessageShape<D> {
  return (bytes) => {
    const text = decode(bytes);
    const times = dayInText.test(text) ? calendarProblems(request, parse(text)) : [];
    try {
      if (times.length === 0) return fromJsonString(request, text, { ignoreUnknownFields: false });
    } catch {
      // Looked at closely below.
    }
    const problems = [...jsonProblems(request, parse(text)), ...times];
    if (problems.length > 0) throw invalid(problems);
    try {
      return fromJsonString(request, text, { ignoreUnknownFields: true });
    } catch (error) {
      const [, reason] = /^cannot decode message \S+ from JSON: (.*)$/s.exec((error as Error).message) ?? [];
      throw invalid([whole(reason ?? "does not fit this method")]);
    }
  };
}

/** Only a text with a day in it can hold a time. */
const dayInText = /\d{4}-\d\d-\d\d/;

/**
 * Takes the place of Connect's text decoder, the one step of its decoding that can be replaced. Connect names only the
 * first mistake, without its path, drops enum values that it does not know, and turns bad UTF-8 into question marks.
 */
export function createJsonReader(request: DescMessage, refused: () => void) {
  function check(bytes: Uint8Array | undefined): string {
    const text = decode(bytes);
    if (text.length > lookTwiceBytes) return text;
    const json = parse(text);
    const problems = [
      ...(decodes(request, json) ? [] : jsonProblems(request, json)),
      ...calendarProblems(request, json),
    ];
    if (problems.length > 0) throw invalid(problems);
    return text;
  }

  return {
    decode(bytes?: Uint8Array): string {
      try {
        return check(bytes);
      } catch (error) {
        refused();
        throw fromProblem(error as Problem);
      }
    },
  };
}

function decode(bytes: Uint8Array | undefined): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid([whole("is not valid UTF-8")]);
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw invalid([whole(`is not valid JSON: ${(error as Error).message}`)]);
  }
}

/** With nothing ignored: a field or an enum value that is unknown has the request looked at closely. */
function decodes<D extends DescMessage>(request: D, json: JsonValue): MessageShape<D> | undefined {
  try {
    return fromJson(request, json, { ignoreUnknownFields: false });
  } catch {
    return undefined;
  }
}

function whole(description: string): Violation {
  return { field: "(request)", description };
}
