import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { api, Button, parseSearch, Sheet, useAttempt, usePageTitle } from '../kit/index.ts'
import { NewPassword } from './new-password.tsx'
import { queryClient, sessionQuery } from './queries.ts'
import { Required } from './required.tsx'
import { languages, useLanguage } from './words.tsx'

type Step = 'login' | 'forgot' | 'password' | 'done'

/** Only addresses of this page: a link must not lead elsewhere after a login. */
const safe = (next: string | undefined) => (next?.startsWith('/') && !next.startsWith('//') ? next : '/')

const tenantKey = 'school-tenant'

export function LoginPage() {
  const { next } = useSearch({ strict: false }) as { next?: string }
  const { words, choose } = useLanguage()
  const navigate = useNavigate()
  const [step, setStep] = useState<Step>('login')
  const [entered, setEntered] = useState('')
  const [tenant, setTenant] = useState(() => localStorage.getItem(tenantKey) ?? '')
  usePageTitle(words.login.title)
  useEffect(() => {
    void api.school.showSchool().then(
      ({ passwordChangeRequired }) => setStep(passwordChangeRequired ? 'password' : 'done'),
      () => undefined,
    )
  }, [])
  useEffect(() => {
    if (step !== 'done') return
    queryClient.removeQueries({ queryKey: sessionQuery.queryKey })
    const [path = '/', query = ''] = safe(next).split('?', 2)
    void navigate({ to: path, search: parseSearch(query) as never, replace: true })
  }, [step, next, navigate])
  return (
    <main className="login">
      <div>
        {step === 'login' && (
          <Login
            {...{ tenant, setTenant }}
            onDone={(mustChange, password) => {
              localStorage.setItem(tenantKey, tenant)
              setEntered(password)
              setStep(mustChange ? 'password' : 'done')
            }}
            onForgot={() => setStep('forgot')}
          />
        )}
        {step === 'forgot' && <Forgot {...{ tenant, setTenant }} onBack={() => setStep('login')} />}
        {step === 'password' && (
          <NewPassword
            title={words.login.newTitle}
            hint={words.login.newHint}
            submit={words.account.submit}
            current={entered}
            onDone={() => setStep('done')}
          />
        )}
        <p className="languages">
          {languages.map((language) => (
            <Button key={language} look="quiet" onPress={() => choose(language)}>
              {language === 'de' ? 'Deutsch' : 'English'}
            </Button>
          ))}
        </p>
      </div>
    </main>
  )
}

type LoginProps = Readonly<{
  tenant: string
  setTenant(tenant: string): void
  onDone(mustChange: boolean, password: string): void
  onForgot(): void
}>

function Login({ tenant, setTenant, onDone, onForgot }: LoginProps) {
  const { login: words } = useLanguage().words
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const { busy, error, attempt } = useAttempt()
  const submit = () =>
    attempt(async () => {
      const { passwordChangeRequired } = await api.school.openSchool({
        body: { tenant: tenant.trim(), username: username.trim(), password },
      })
      onDone(passwordChangeRequired, password)
    })
  return (
    <>
      <Sheet title={words.title} onSubmit={submit} submit={words.submit} busy={busy} error={error}>
        <Required label={words.tenant} value={tenant} onChange={setTenant} autoComplete="organization" hint={words.tenantHint} />
        <Required label={words.username} value={username} onChange={setUsername} autoComplete="username" />
        <Required label={words.password} type="password" value={password} onChange={setPassword} autoComplete="current-password" />
      </Sheet>
      <Button look="quiet" onPress={onForgot}>
        {words.forgot}
      </Button>
    </>
  )
}

type ForgotProps = Readonly<{ tenant: string; setTenant(tenant: string): void; onBack(): void }>

function Forgot({ tenant, setTenant, onBack }: ForgotProps) {
  const { login: words } = useLanguage().words
  const [username, setUsername] = useState('')
  const [isSent, setSent] = useState(false)
  const { busy, error, attempt } = useAttempt()
  const submit = () =>
    attempt(async () => {
      await api.passwords.forgotPassword({ body: { tenant: tenant.trim(), username: username.trim() } })
      setSent(true)
    })
  return (
    <>
      {isSent ? (
        <p role="status">{words.forgotDone}</p>
      ) : (
        <Sheet title={words.forgotTitle} hint={words.forgotHint} onSubmit={submit} submit={words.forgotSubmit} busy={busy} error={error}>
          <Required label={words.tenant} value={tenant} onChange={setTenant} autoComplete="organization" hint={words.tenantHint} />
          <Required label={words.username} value={username} onChange={setUsername} autoComplete="username" />
        </Sheet>
      )}
      <Button look="quiet" onPress={onBack}>
        {words.back}
      </Button>
    </>
  )
}
