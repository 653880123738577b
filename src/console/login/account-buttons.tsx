import { useNavigate } from '@tanstack/react-router'
import { api, applyTheme, Button, queryClient, type Theme, themes, useTheme, useWhoAmI } from '../kit/index.ts'
import { words } from './words.ts'

applyTheme()

export function ThemeButton() {
  const [theme, change] = useTheme()
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] as Theme
  return (
    <Button look="quiet" onPress={() => change(next)} aria-label={`Theme: ${words[theme]}. Change to ${words[next]}`}>
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
