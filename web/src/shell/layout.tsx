/** The frame around every page: header, navigation, account menu. It shows the sign-in page to callers without a session. */
import { ActionIcon, Button, Skeleton, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef } from "react";
import { useConfirmation } from "../api/confirm.ts";
import { useSession } from "../api/session.ts";
import { CloseIcon, HornIcon, MenuIcon, SearchIcon } from "../parts/icons.tsx";
import { useLateDialog } from "../parts/use-late-dialog.ts";
import { QuotaBanner } from "../workspaces/quota-banner.tsx";
import { StandingBanner } from "../workspaces/standing-banner.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { ColorSchemeSwitch } from "./color-scheme-switch.tsx";
import { HelpMenu } from "./help-menu.tsx";
import { useGlobalKeys } from "./keyboard.ts";
import { Sections } from "./section-links.tsx";
import { isWithin, publicPages } from "./sections.tsx";
import { WorkspaceMenu } from "./workspace-menu.tsx";
import "./frame.css";

// Most visits need none of these, so the first view loads without them.
const Welcome = lazy(async () => ({ default: (await import("./welcome.tsx")).Welcome }));
const NoWorkspace = lazy(async () => ({ default: (await import("./no-workspace.tsx")).NoWorkspace }));
const SecondFactorRequired = lazy(async () => ({
  default: (await import("../people/second-factor-required.tsx")).SecondFactorRequired,
}));
const IdentityDialog = lazy(async () => ({ default: (await import("../people/identity-dialog.tsx")).IdentityDialog }));
const Palette = lazy(async () => ({ default: (await import("./palette.tsx")).Palette }));
const Shortcuts = lazy(async () => ({ default: (await import("./shortcuts.tsx")).Shortcuts }));

export function Layout() {
  const [isMenuOpen, menu] = useDisclosure(false);
  const [isPaletteOpen, palette] = useDisclosure(false);
  const [isHelpOpen, help] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { caller, state } = useSession();
  // Without a workspace, only the operators' sections have content.
  const inWorkspace = caller?.kind === "key" || caller?.workspace !== undefined;
  const isOperator = caller?.kind === "person" && Boolean(state.data?.operator);
  const hasSections = inWorkspace || isOperator;
  const isConfirming = useConfirmation() !== undefined;
  useFocusOnNewPage(path);
  useGlobalKeys({ onSearch: hasSections ? palette.open : noop, onHelp: hasSections ? help.open : noop });
  return (
    <div className="frame" data-menu={hasSections ? (isMenuOpen ? "open" : "closed") : undefined}>
      <Button className="skip" component="a" href="#content" size="xs">
        Skip to content
      </Button>
      {/* The class of react-remove-scroll keeps the bar in place while a dialog hides the scrollbar. */}
      <header className="right-scroll-bar-position">
        <div className="bar">
          {hasSections && (
            <ActionIcon
              className="burger"
              size={34}
              onClick={menu.toggle}
              aria-label={isMenuOpen ? "Close menu" : "Open menu"}
              aria-expanded={isMenuOpen}
              aria-controls="sections"
            >
              {isMenuOpen ? <CloseIcon /> : <MenuIcon />}
            </ActionIcon>
          )}
          <Link to="/" className="brand">
            <HornIcon />
            <span>Posthorn</span>
          </Link>
          {caller?.kind === "person" && <WorkspaceMenu caller={caller} />}
          {inWorkspace && (
            <UnstyledButton className="find" onClick={palette.open} aria-keyshortcuts="Control+K">
              <SearchIcon />
              <span className="cut">Search emails, pages, commands</span>
              <kbd>Ctrl K</kbd>
            </UnstyledButton>
          )}
          {!inWorkspace && <span className="grow" />}
          <HelpMenu path={path} onShortcuts={hasSections ? help.open : undefined} />
          {caller ? <AccountMenu caller={caller} /> : <ColorSchemeSwitch />}
        </div>
      </header>
      {hasSections && <Sections {...{ path, inWorkspace, isOperator }} onFollow={menu.close} />}
      <main id="content" tabIndex={-1}>
        <Suspense fallback={<Waiting />}>
          <PageOrSignIn path={path} />
        </Suspense>
      </main>
      <Suspense>
        {useLateDialog(isConfirming) && <IdentityDialog />}
        {useLateDialog(isPaletteOpen) && (
          <Palette {...{ inWorkspace, isOperator }} opened={isPaletteOpen} onClose={palette.close} />
        )}
        {useLateDialog(isHelpOpen) && <Shortcuts opened={isHelpOpen} onClose={help.close} />}
      </Suspense>
    </div>
  );
}

function noop(): void {}

function Waiting() {
  return <Skeleton height={320} radius="md" maw={960} />;
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
  // Only the root matches a path without a page; signing in would lead to no page either.
  const isUnknown = useRouterState({ select: ({ matches }) => matches.length === 1 });
  if (isUnknown || publicPages.includes(path)) return <Outlet />;
  if (!caller) return state.isPending ? <Waiting /> : <Welcome />;
  if (caller.kind === "key") return <PageWithBanners key="key" />;
  if (!caller.workspace && (path === "/account" || isWithin(path, "/operator"))) return <Outlet />;
  if (!caller.workspace)
    return <NoWorkspace email={caller.person.email} mayCreate={state.data?.mayCreateWorkspace !== false} />;
  const { id, needsSecondFactor = false } = caller.workspace;
  // Every call in this workspace would be rejected.
  if (needsSecondFactor && path !== "/account") return <SecondFactorRequired workspace={caller.workspace} />;
  // The key remounts the page when the workspace changes, so that no state of the previous workspace stays. Adding a second factor must
  // not remount it: the account page then shows recovery codes.
  return <PageWithBanners key={id} hasBanner={!needsSecondFactor} />;
}

function PageWithBanners({ hasBanner = true }: { hasBanner?: boolean }) {
  return (
    <>
      {hasBanner && <StandingBanner />}
      {hasBanner && <QuotaBanner />}
      <Outlet />
    </>
  );
}
