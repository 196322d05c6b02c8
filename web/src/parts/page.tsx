/** The layout components of pages: Page with its heading, Section, Facts for names and values, TextBlock for plain text. */
import { Card, Group, Stack, Text, Title } from "@mantine/core";
import type { LinkProps } from "@tanstack/react-router";
import { type ReactNode, useId } from "react";
import { AnchorLink } from "./links.tsx";

/** A page with a heading, an optional introduction and buttons for its main actions. */
export function Page(props: {
  title: string;
  /** The part of the subject that the page shows, for the title of the window. */
  part?: string;
  /** Next to the heading, such as a status. */
  badge?: ReactNode;
  intro?: ReactNode;
  actions?: ReactNode;
  /** Above the heading: a link to the parent page. */
  back?: ReactNode;
  children: ReactNode;
}) {
  const { title, part, badge, intro, actions, back, children } = props;
  return (
    <div className="page">
      <title>{`${part ? `${part} · ` : ""}${title} · Posthorn`}</title>
      {back}
      <div className="head">
        <Title order={1} className="wrap">
          {title}
        </Title>
        {badge}
        <span className="grow" />
        {actions && <Group gap="xs">{actions}</Group>}
      </div>
      {intro && (
        <Text c="dimmed" maw={760}>
          {intro}
        </Text>
      )}
      {children}
    </div>
  );
}

/** A link to the parent page. */
export function Back({ to, children }: { to: LinkProps["to"]; children: string }) {
  return (
    <nav className="crumbs" aria-label="Breadcrumb">
      <span aria-hidden="true">‹</span>
      <AnchorLink to={to} underline="hover" inherit>
        {children}
      </AnchorLink>
    </nav>
  );
}

/** A part of a page with its own heading. */
export function Section(props: { title: string; badge?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <Card className="card" padding="md" component="section" aria-labelledby={id}>
      <Stack>
        <Group justify="space-between">
          <Group gap="sm">
            <Title order={2} id={id}>
              {props.title}
            </Title>
            {props.badge}
          </Group>
          {props.actions && <Group gap="xs">{props.actions}</Group>}
        </Group>
        {props.children}
      </Stack>
    </Card>
  );
}

/** A list of names and values. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="facts">{children}</dl>;
}

/** One name with its value. Renders nothing when the value is empty. */
export function Fact({ name, wide = false, children }: { name: string; wide?: boolean; children: ReactNode }) {
  if (children === undefined || children === null || children === "" || children === false) return null;
  return (
    <div className={wide ? "wide" : undefined}>
      <dt>{name}</dt>
      <dd className="wrap">{children}</dd>
    </div>
  );
}

/** Preformatted text in a scrollable block that can be focused with the keyboard. */
export function TextBlock({ text, label, maxHeight = 420 }: { text: string; label: string; maxHeight?: number }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard (WCAG 2.1.1)
    <section className="text-block" tabIndex={0} aria-label={label} style={{ maxHeight }}>
      <pre>{text}</pre>
    </section>
  );
}
