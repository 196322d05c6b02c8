/** The frame around every page: header, navigation, account menu. It shows the sign-in page to callers without a session. */
import { AppShell, Burger, Button, Group, NavLink, ScrollArea, Skeleton, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { signOut, useSession } from "../api/session.ts";
import { HornIcon } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { IdentityDialog } from "../people/identity-dialog.tsx";
import { SecondFactorRequired } from "../people/second-factor-required.tsx";
import { CreateWorkspaceForm } from "../workspaces/create-workspace.tsx";
import { StandingBanner } from "../workspaces/standing-banner.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { ColorSchemeSwitch } from "./color-scheme-switch.tsx";
import { isWithin, operatorSections, publicPages, sections } from "./sections.tsx";
import { Welcome } from "./welcome.tsx";

export function Layout() {
  const [isOpen, menu] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { caller, state } = useSession();
  // Without a workspace, only the operators' sections have content.
  const inWorkspace = caller?.kind === "key" || caller?.workspace !== undefined;
  const isOperator = caller?.kind === "person" && Boolean(state.data?.operator);
  const hasSections = inWorkspace || isOperator;
  useFocusOnNewPage(path);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={hasSections ? { width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } } : undefined}
      padding={{ base: "md", sm: "xl" }}
    >
      <Button className="skip" component="a" href="#content" size="xs">
        Skip to content
      </Button>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            {hasSections && (
              <Burger
                opened={isOpen}
                onClick={menu.toggle}
                hiddenFrom="sm"
                size="sm"
                aria-label={isOpen ? "Close menu" : "Open menu"}
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
      {hasSections && (
        <AppShell.Navbar p="sm" id="sections" aria-label="Sections">
          <ScrollArea>
            {inWorkspace && <SectionLinks links={sections} path={path} onFollow={menu.close} />}
            {isOperator && (
              <>
                <Text size="xs" fw={600} c="dimmed" px="sm" pt="md" pb={4}>
                  Operator
                </Text>
                <SectionLinks links={operatorSections} path={path} onFollow={menu.close} />
              </>
            )}
          </ScrollArea>
        </AppShell.Navbar>
      )}
      <AppShell.Main id="content" tabIndex={-1}>
        <PageOrSignIn path={path} />
        <IdentityDialog />
      </AppShell.Main>
    </AppShell>
  );
}

function SectionLinks(props: { links: typeof sections | typeof operatorSections; path: string; onFollow(): void }) {
  return props.links.map(({ to, label, icon }) => (
    <NavLink
      key={to}
      component={Link}
      to={to}
      label={label}
      leftSection={icon}
      active={isWithin(props.path, to)}
      aria-current={isWithin(props.path, to) ? "page" : undefined}
      onClick={props.onFollow}
    />
  ));
}

/** Moves the focus to the content after navigation. Without a reload, a screen reader does not announce a new page. */
function useFocusOnNewPage(path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) document.getElementById("content")?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
}

/** Shows the page to a signed-in caller. Otherwise it shows the sign-in page at the same URL, so that signing in opens the page. */
function PageOrSignIn({ path }: { path: string }) {
  const { caller, state } = useSession();
  if (publicPages.includes(path)) return <Outlet />;
  if (!caller) return state.isPending ? <Skeleton height={320} radius="md" maw={960} /> : <Welcome />;
  if (caller.kind === "key") return <PageWithBanner key="key" />;
  if (!caller.workspace && (path === "/account" || isWithin(path, "/operator"))) return <Outlet />;
  if (!caller.workspace && state.data?.mayCreateWorkspace === false)
    return (
      <AuthCard title="No workspace">
        <Text size="sm" className="wrap">
          You are not a member of any workspace. Ask an owner to invite you as {caller.person.email}, then open the link
          in the invitation.
        </Text>
        <Group gap="md">
          <Button variant="default" onClick={signOut}>
            Sign out
          </Button>
          <AnchorLink to="/account" size="sm">
            Your account
          </AnchorLink>
        </Group>
      </AuthCard>
    );
  if (!caller.workspace)
    return (
      <AuthCard title="Create a workspace">
        <CreateWorkspaceForm />
      </AuthCard>
    );
  const { id, needsSecondFactor = false } = caller.workspace;
  // Every call in this workspace would be rejected.
  if (needsSecondFactor && path !== "/account") return <SecondFactorRequired workspace={caller.workspace} />;
  // The key remounts the page when the workspace changes, so that no state of the previous workspace stays. Adding a second factor must
  // not remount it: the account page then shows recovery codes.
  return <PageWithBanner key={id} hasBanner={!needsSecondFactor} />;
}

function PageWithBanner({ hasBanner = true }: { hasBanner?: boolean }) {
  return (
    <>
      {hasBanner && <StandingBanner />}
      <Outlet />
    </>
  );
}
