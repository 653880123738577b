import { useState } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const stored = (): Theme => themes.find((theme) => theme === localStorage.getItem('theme')) ?? 'system'

/** Shows the theme that the person chose in this browser. */
export function applyTheme(theme: Theme = stored()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** The chosen theme, and how to choose another one. */
export function useTheme(): readonly [Theme, (next: Theme) => void] {
  const [theme, setTheme] = useState(stored)
  const change = (next: Theme) => {
    localStorage.setItem('theme', next)
    applyTheme(next)
    setTheme(next)
  }
  return [theme, change]
}
