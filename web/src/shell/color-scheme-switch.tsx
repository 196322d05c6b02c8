/** The choice of the color scheme: a button that cycles through system, light and dark, and the same as items of a menu. */
import { ActionIcon, type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { MoonIcon, ScreenIcon, SunIcon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";

const schemes: Record<MantineColorScheme, { next: MantineColorScheme; name: string; icon: ReactNode }> = {
  auto: { next: "light", name: "system", icon: <ScreenIcon /> },
  light: { next: "dark", name: "light", icon: <SunIcon /> },
  dark: { next: "auto", name: "dark", icon: <MoonIcon /> },
};

export function ColorSchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { next, name, icon } = schemes[colorScheme];
  const label = `Color scheme: ${name}. Switch to ${schemes[next].name}`;
  return (
    <ActionIcon size={34} aria-label={label} title={label} onClick={() => setColorScheme(next)}>
      {icon}
    </ActionIcon>
  );
}

export function ColorSchemeItems() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>Color scheme</Menu.Label>
      <Menu.RadioGroup value={colorScheme} onChange={(scheme) => setColorScheme(scheme as MantineColorScheme)}>
        {(["auto", "light", "dark"] as const).map((scheme) => (
          <Menu.RadioItem key={scheme} value={scheme} rightSection={schemes[scheme].icon}>
            {{ auto: "System", light: "Light", dark: "Dark" }[scheme]}
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </>
  );
}
