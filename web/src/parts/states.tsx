/** The loading, empty and error states of lists and pages. */
import { Alert, Button, Card, Skeleton, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { explain } from "../api/problem.ts";

export function Loading({ what, rows = 4, height = 72 }: { what: string; rows?: number; height?: number }) {
  return (
    <Stack gap="sm" aria-busy="true" aria-label={`Loading ${what}`} role="status">
      {Array.from({ length: rows }, (_, row) => `row ${row}`).map((row) => (
        <Skeleton key={row} height={height} radius="md" />
      ))}
    </Stack>
  );
}

export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <Card withBorder padding="xl">
      <Stack align="flex-start">
        <Text component="div">{children}</Text>
        {action}
      </Stack>
    </Card>
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
