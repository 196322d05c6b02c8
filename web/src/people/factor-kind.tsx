/** One kind of second factor with its heading and its action. */
import { Group, Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function FactorKind(props: { title: string; badge?: ReactNode; action?: ReactNode; children: ReactNode }) {
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <Group gap="sm">
          <Title order={3}>{props.title}</Title>
          {props.badge}
        </Group>
        {props.action}
      </Group>
      {props.children}
    </Stack>
  );
}
