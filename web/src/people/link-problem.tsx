/** Explains why the page of a link shows no form: the link is unknown, or the server could not check it. */
import { Code } from "@connectrpc/connect";
import { Alert } from "@mantine/core";
import type { ReactNode } from "react";
import { codeOf } from "../api/problem.ts";
import { ProblemAlert } from "../parts/states.tsx";

/** `children` says what may have happened to an unknown link, and how to get a new one. */
export function LinkProblem(props: { title: string; error: unknown; onRetry(): void; children: ReactNode }) {
  const { title, error, onRetry, children } = props;
  if (error && ![Code.NotFound, Code.InvalidArgument].includes(codeOf(error)))
    return <ProblemAlert error={error} onRetry={onRetry} />;
  return (
    <Alert color="red" title={title} role="alert">
      {children}
    </Alert>
  );
}
