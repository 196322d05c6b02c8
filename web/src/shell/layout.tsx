/** The frame around every page: the name, the sections, the colours, and the way out. */
import { AppShell, Burger, Button, Group, NavLink, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { queryClient } from "../api/query-client.ts";
import { signOut, useSession } from "../api/session.ts";
import { HornIcon, HouseIcon, KeyIcon } from "../parts/icons.tsx";
import { ColorSchemeSwitch } from "./color-scheme-switch.tsx";

const sections = [
  { to: "/", label: "Overview", icon: <HouseIcon /> },
  { to: "/keys", label: "API keys", icon: <KeyIcon /> },
] as const;

export function Layout() {
  const [isOpen, menu] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { key } = useSession();
  const leave = () => {
    signOut();
    queryClient.clear();
  };
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding={{ base: "md", sm: "xl" }}
    >
      <Button className="skip" component="a" href="#content" size="xs">
        Skip to the content
      </Button>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? "Close the menu" : "Open the menu"}
              aria-expanded={isOpen}
              aria-controls="sections"
            />
            <HornIcon />
            <Text fw={650} size="lg" component="span">
              Posthorn
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ColorSchemeSwitch />
            {key !== undefined && (
              <Button variant="default" size="xs" onClick={leave}>
                Sign out
              </Button>
            )}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" id="sections" aria-label="Sections">
        {sections.map(({ to, label, icon }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={icon}
            active={path === to}
            aria-current={path === to ? "page" : undefined}
            onClick={menu.close}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}
