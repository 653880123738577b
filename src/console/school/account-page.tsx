import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Language } from '../../core/kit/index.ts'
import {
  api,
  Button,
  closed,
  KeyValues,
  PageHeader,
  ProblemView,
  Section,
  Status,
  type Theme,
  themes,
  useAttempt,
  useTheme,
} from '../kit/index.ts'
import { NewPassword } from './new-password.tsx'
import { Select, useRoleTitles } from './parts.tsx'
import { queryClient, useSession } from './queries.ts'
import { useLanguage } from './words.tsx'

export function Page() {
  const { words, language, choose } = useLanguage()
  const { user } = useSession()
  const titles = useRoleTitles()
  const navigate = useNavigate()
  const [theme, setTheme] = useTheme()
  const [isChanged, setChanged] = useState(false)
  const { account } = words
  const { busy, error, attempt } = useAttempt()
  const logOut = () =>
    attempt(async () => {
      await closed(api.school.closeSchool())
      await navigate({ to: '/login' })
      queryClient.clear()
    })
  return (
    <>
      <PageHeader
        title={user.displayName ?? user.username}
        actions={
          <Button onPress={logOut} isDisabled={busy}>
            {account.logout}
          </Button>
        }
      />
      {error !== undefined && <ProblemView error={error} />}
      <KeyValues
        facts={[
          [account.user, user.username],
          [account.roles, titles(user.roles)],
        ]}
      />
      <div className="toolbar">
        <Select
          label={account.language}
          value={language}
          onChange={(next) => choose(next as Language)}
          choices={[
            { value: 'de', label: 'Deutsch' },
            { value: 'en', label: 'English' },
          ]}
        />
        <Select
          label={account.theme}
          value={theme}
          onChange={(next) => setTheme(next as Theme)}
          choices={themes.map((one) => ({ value: one, label: account.themes[one] }))}
        />
      </div>
      <Section title={account.password}>
        <div className="narrow-form">
          {isChanged && <Status tone="ok">{account.changed}</Status>}
          <NewPassword submit={account.submit} onDone={() => setChanged(true)} />
        </div>
      </Section>
    </>
  )
}
