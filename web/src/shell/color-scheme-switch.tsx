/** A button that cycles the color scheme: system, light, dark. */
import { ActionIcon, type MantineColorScheme, Tooltip, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { MoonIcon, ScreenIcon, SunIcon } from "../parts/icons.tsx";

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
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} onClick={() => setColorScheme(next)}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
