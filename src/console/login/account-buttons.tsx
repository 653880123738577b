import { useNavigate } from '@tanstack/react-router'
import { api, applyTheme, Button, closed, queryClient, type Theme, themes, useAttempt, useTheme, useWhoAmI } from '../kit/index.ts'
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
  const { busy, error, attempt } = useAttempt()
  if (!identity) return null
  const logOut = () =>
    attempt(async () => {
      await closed(api.admin.closeConsole())
      queryClient.clear()
      void navigate({ to: '/login' })
    })
  return (
    <>
      <span className="dim">
        {identity.account.name} · {identity.account.role}
      </span>
      {error !== undefined && (
        <span className="tone-failed" role="alert">
          {words.notLoggedOut}
        </span>
      )}
      <Button look="quiet" onPress={logOut} isDisabled={busy}>
        Log out
      </Button>
    </>
  )
}
