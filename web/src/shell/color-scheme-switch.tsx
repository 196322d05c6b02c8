/** Light, dark, or as the system has it; one button that goes round. */
import { ActionIcon, type MantineColorScheme, Tooltip, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { MoonIcon, ScreenIcon, SunIcon } from "../parts/icons.tsx";

const rounds: Record<MantineColorScheme, { next: MantineColorScheme; name: string; icon: ReactNode }> = {
  auto: { next: "light", name: "as the system", icon: <ScreenIcon /> },
  light: { next: "dark", name: "light", icon: <SunIcon /> },
  dark: { next: "auto", name: "dark", icon: <MoonIcon /> },
};

export function ColorSchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { next, name, icon } = rounds[colorScheme];
  const label = `Colours: ${name}. Change to ${rounds[next].name}`;
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} onClick={() => setColorScheme(next)}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
