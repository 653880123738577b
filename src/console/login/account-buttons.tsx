import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, Button, queryClient, useWhoAmI } from '../kit/index.ts'
import { words } from './words.ts'

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const stored = (): Theme => themes.find((theme) => theme === localStorage.getItem('theme')) ?? 'system'

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
apply(stored())

export function ThemeButton() {
  const [theme, setTheme] = useState(stored)
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] as Theme
  const change = () => {
    localStorage.setItem('theme', next)
    apply(next)
    setTheme(next)
  }
  return (
    <Button look="quiet" onPress={change} aria-label={`Theme: ${words[theme]}. Change to ${words[next]}`}>
      {`Theme: ${words[theme]}`}
    </Button>
  )
}

export function Logout() {
  const identity = useWhoAmI()
  const navigate = useNavigate()
  if (!identity) return null
  const logOut = async () => {
    await api.admin.closeConsole().catch(() => undefined)
    queryClient.clear()
    void navigate({ to: '/login' })
  }
  return (
    <>
      <span className="dim">
        {identity.account.name} · {identity.account.role}
      </span>
      <Button look="quiet" onPress={() => void logOut()}>
        Log out
      </Button>
    </>
  )
}
