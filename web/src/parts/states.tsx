/** What stands in a list's place while it loads, and when there is nothing in it. */
import { Card, Skeleton, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

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
