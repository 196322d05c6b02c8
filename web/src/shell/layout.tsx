/** The frame around every page: the name, the sections, the colours, who is signed in, and who is let through. */
import { AppShell, Burger, Button, Group, NavLink, ScrollArea, Skeleton, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useSession } from "../api/session.ts";
import { HornIcon } from "../parts/icons.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { CreateWorkspaceForm } from "../people/create-workspace.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { ColorSchemeSwitch } from "./color-scheme-switch.tsx";
import { isWithin, openPages, sections } from "./sections.tsx";
import { Welcome } from "./welcome.tsx";

export function Layout() {
  const [isOpen, menu] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { caller } = useSession();
  useFocusOnNewPage(path);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={caller && { width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding={{ base: "md", sm: "xl" }}
    >
      <Button className="skip" component="a" href="#content" size="xs">
        Skip to the content
      </Button>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            {caller && (
              <Burger
                opened={isOpen}
                onClick={menu.toggle}
                hiddenFrom="sm"
                size="sm"
                aria-label={isOpen ? "Close the menu" : "Open the menu"}
                aria-expanded={isOpen}
                aria-controls="sections"
              />
            )}
            <HornIcon />
            <Text fw={650} size="lg" component="span">
              Posthorn
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ColorSchemeSwitch />
            {caller && <AccountMenu caller={caller} />}
          </Group>
        </Group>
      </AppShell.Header>
      {caller && (
        <AppShell.Navbar p="sm" id="sections" aria-label="Sections">
          <ScrollArea>
            {sections.map(({ to, label, icon }) => (
              <NavLink
                key={to}
                component={Link}
                to={to}
                label={label}
                leftSection={icon}
                active={isWithin(path, to)}
                aria-current={isWithin(path, to) ? "page" : undefined}
                onClick={menu.close}
              />
            ))}
          </ScrollArea>
        </AppShell.Navbar>
      )}
      <AppShell.Main id="content" tabIndex={-1}>
        <Inside path={path} />
      </AppShell.Main>
    </AppShell>
  );
}

/** A page without a reload says nothing to a screen reader by itself: its content takes the focus. */
function useFocusOnNewPage(path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) document.getElementById("content")?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
}

/** The page, for those who may see it; else the way in, at the same address, so that signing in leads to it. */
function Inside({ path }: { path: string }) {
  const { caller, state } = useSession();
  if (openPages.includes(path)) return <Outlet />;
  if (!caller) return state.isPending ? <Skeleton height={320} radius="md" maw={960} /> : <Welcome />;
  if (caller.kind === "key") return <Outlet key="key" />;
  if (!caller.workspace)
    return (
      <AuthCard title="Create a workspace">
        <CreateWorkspaceForm />
      </AuthCard>
    );
  // Another workspace is another world: nothing of a page may stay.
  return <Outlet key={caller.workspace.id} />;
}
