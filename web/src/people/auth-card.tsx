/** The frame of the pages for sign-in, sign-up and passwords: a card with a heading and a form. */
import { Card, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function AuthCard({ title, intro, children }: { title: string; intro?: ReactNode; children: ReactNode }) {
  return (
    <Card withBorder padding="lg" w="100%" maw={480} component="section" aria-labelledby="auth-title">
      <title>{`${title} · Posthorn`}</title>
      <Stack>
        <Title order={1} size="h3" id="auth-title">
          {title}
        </Title>
        {intro && (
          <Text size="sm" c="dimmed" className="wrap">
            {intro}
          </Text>
        )}
        {children}
      </Stack>
    </Card>
  );
}
