/** The loading, empty and error states of lists and pages. */
import { Alert, Button, Skeleton, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { explain } from "../api/problem.ts";

export function Loading({ what, rows = 6, height = 40 }: { what: string; rows?: number; height?: number }) {
  return (
    <Stack gap={6} aria-busy="true" aria-label={`Loading ${what}`} role="status">
      {Array.from({ length: rows }, (_, row) => `row ${row}`).map((row) => (
        <Skeleton key={row} height={height} radius={6} />
      ))}
    </Stack>
  );
}

/** What will be here, and how to get the first one. */
export function Empty(props: { title?: string; drawing?: ReactNode; children: ReactNode; action?: ReactNode }) {
  const { title, drawing = <EmptyDrawing />, children, action } = props;
  return (
    <div className="card empty">
      {drawing}
      {title && <Title order={2}>{title}</Title>}
      <Text component="div" maw={520}>
        {children}
      </Text>
      {action}
    </div>
  );
}

/** A horn above an envelope that waits. */
function EmptyDrawing() {
  return (
    <svg className="empty-drawing" width="132" height="84" viewBox="0 0 132 84" aria-hidden="true" focusable="false">
      <path className="line" d="M14 74h104" />
      <rect className="sheet" x="36" y="34" width="60" height="40" rx="4" />
      <path className="line" d="M37 37l29 21 29-21M37 72l20-19M95 72L75 53" />
      <circle className="horn" cx="60" cy="17" r="8" />
      <path className="horn" d="M48 9h16c6 0 9-2 13-6v14c-4-3-7-4-10-4" />
      <path className="dashes" d="M84 6l8-3M85 11h9M84 16l8 3" />
    </svg>
  );
}

/** Shows an error, with a button to retry if there is one. */
export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, message } = explain(error);
  return (
    <Alert color="red" title={title} role="alert">
      <Stack align="flex-start" gap="sm">
        <Text size="sm">{message}</Text>
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
