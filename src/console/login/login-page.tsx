import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Input, Label, Text, TextField } from 'react-aria-components'
import { isProblem } from '../../core/kit/index.ts'
import { api, Brand, Button, Id, ProblemView, queryClient, Sheet, useAttempt, usePageTitle } from '../kit/index.ts'
import { arePasskeysSupported, getPasskey } from './passkey.ts'
import { safe, targetOf, useLoginWays } from './target.ts'
import { words } from './words.ts'

type Step = 'login' | 'link' | 'password' | 'totp' | 'done'
type Setup = readonly ('password' | 'totp')[]

export function LoginPage() {
  const { next } = useSearch({ strict: false }) as { next?: string }
  const navigate = useNavigate()
  const token = linkToken()
  const [step, setStep] = useState<Step>(token ? 'link' : 'login')
  const [given, setGiven] = useState('')
  usePageTitle(words.title)
  useEffect(() => {
    void api.admin.whoAmI().then(
      ({ setup }) => setStep(setup[0] ?? 'done'),
      () => undefined,
    )
  }, [])
  const advance = (setup: Setup) => setStep(setup[0] ?? 'done')
  useEffect(() => {
    if (step !== 'done') return
    queryClient.clear()
    void navigate(targetOf(next))
  }, [step, next, navigate])
  const onLogin = (setup: Setup, password: string) => {
    setGiven(password)
    advance(setup)
  }
  return (
    <main className="login">
      <div>
        <p className="brand">
          <Brand />
        </p>
        {step === 'login' && <WithoutPassword next={safe(next)} onDone={advance} />}
        {step === 'login' && <Login onDone={onLogin} />}
        {step === 'link' && <ByLink token={token ?? ''} onDone={(setup) => onLogin(setup, '')} onOther={() => setStep('login')} />}
        {step === 'password' && <NewPassword current={given} onDone={(setup, password) => onLogin(setup, password)} />}
        {step === 'totp' && <Enrol password={given} onDone={() => setStep('done')} />}
      </div>
    </main>
  )
}

const linkToken = () => /^#token=([A-Za-z0-9_-]{20,100})$/.exec(location.hash)?.[1]

type FieldProps = Readonly<{
  label: string
  value: string
  onChange(value: string): void
  type?: string
  autoComplete: string
  hint?: string
  autoFocus?: boolean
}>

const Field = ({ label, hint, autoFocus = false, type = 'text', ...more }: FieldProps) => (
  <TextField className="field" isRequired type={type} autoFocus={autoFocus} validationBehavior="aria" {...more}>
    <Label>{label}</Label>
    <Input />
    {hint && <Text slot="description">{hint}</Text>}
  </TextField>
)

function Login({ onDone }: Readonly<{ onDone(setup: Setup, password: string): void }>) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [totp, setTotp] = useState('')
  const [asksCode, setAsksCode] = useState(false)
  const { busy, error, attempt } = useAttempt()
  const submit = () =>
    attempt(async () => {
      try {
        const { setup } = await api.admin.openConsole({ body: { name, password, ...(totp ? { totp: totp.replaceAll(' ', '') } : {}) } })
        onDone(setup, password)
      } catch (failure) {
        if (!isProblem(failure, 'TOTP_REQUIRED')) throw failure
        setAsksCode(true)
      }
    })
  return (
    <Sheet title={words.title} onSubmit={submit} submit={words.submit} busy={busy} error={error}>
      <Field label={words.name} value={name} onChange={setName} autoComplete="username" autoFocus />
      <Field label={words.password} type="password" value={password} onChange={setPassword} autoComplete="current-password" />
      {asksCode && (
        <Field label={words.code} value={totp} onChange={setTotp} autoComplete="one-time-code" hint={words.codeHint} autoFocus />
      )}
    </Sheet>
  )
}

type WithoutPasswordProps = Readonly<{ next: string; onDone(setup: Setup): void }>

/** The buttons of the company account and of passkeys, where the daemon has them. */
function WithoutPassword({ next, onDone }: WithoutPasswordProps) {
  const { provider, passkeys } = useLoginWays() ?? {}
  const { busy, error, attempt } = useAttempt()
  const hasPasskeys = passkeys && arePasskeysSupported()
  if (!provider && !hasPasskeys) return null
  const atProvider = () => attempt(async () => location.assign((await api.admin.beginProviderLogin({ body: { next } })).address))
  const byPasskey = () =>
    attempt(async () => {
      const credential = await getPasskey(await api.admin.beginPasskeyLogin())
      onDone((await api.admin.openConsoleByPasskey({ body: { credential } })).setup)
    })
  return (
    <>
      {error !== undefined && <ProblemView error={error} />}
      {provider && (
        <Button look="primary" onPress={atProvider} isDisabled={busy}>
          {words.byProvider(provider)}
        </Button>
      )}
      {hasPasskeys && (
        <Button onPress={byPasskey} isDisabled={busy}>
          {words.byPasskey}
        </Button>
      )}
      <p className="dim">{words.orByPassword}</p>
    </>
  )
}

function ByLink({ token, onDone, onOther }: Readonly<{ token: string; onDone(setup: Setup): void; onOther(): void }>) {
  const { busy, error, attempt } = useAttempt()
  const submit = () =>
    attempt(async () => {
      const { setup } = await api.admin.openConsoleByLink({ body: { token } })
      history.replaceState(history.state, '', location.pathname)
      onDone(setup)
    })
  // A link that failed fails again.
  if (isProblem(error, 'LOGIN_FAILED'))
    return <Sheet title={words.title} onSubmit={onOther} submit={words.byPassword} busy={false} error={error} />
  return (
    <>
      <Sheet title={words.title} hint={words.linkHint} onSubmit={submit} submit={words.link} busy={busy} error={error} />
      {error !== undefined && <Button onPress={onOther}>{words.byPassword}</Button>}
    </>
  )
}

function NewPassword({ current, onDone }: Readonly<{ current: string; onDone(setup: Setup, password: string): void }>) {
  const [old, setOld] = useState(current)
  const [password, setPassword] = useState('')
  const { busy, error, attempt } = useAttempt()
  const submit = () =>
    attempt(async () => {
      await api.admin.changePassword({ body: { currentPassword: old, newPassword: password } })
      const { setup } = await api.admin.whoAmI()
      onDone(setup, password)
    })
  return (
    <Sheet title={words.setPassword} hint={words.setPasswordHint} onSubmit={submit} submit={words.setPassword} busy={busy} error={error}>
      {!current && <Field label={words.password} type="password" value={old} onChange={setOld} autoComplete="current-password" />}
      <Field label={words.newPassword} type="password" value={password} onChange={setPassword} autoComplete="new-password" autoFocus />
    </Sheet>
  )
}

function Enrol({ password, onDone }: Readonly<{ password: string; onDone(): void }>) {
  const [typed, setTyped] = useState(password)
  const [secret, setSecret] = useState<string>()
  const [code, setCode] = useState('')
  const [recovery, setRecovery] = useState<readonly string[]>()
  const { busy, error, attempt } = useAttempt()
  if (recovery)
    return (
      <Sheet title={words.recovery} hint={words.recoveryHint} onSubmit={onDone} submit={words.recoverySaved} busy={busy}>
        <pre>
          <code>{recovery.join('\n')}</code>
        </pre>
      </Sheet>
    )
  const begin = () => attempt(async () => setSecret((await api.admin.enrolTotp({ body: { password: typed } })).secret))
  const confirm = () =>
    attempt(async () => setRecovery((await api.admin.confirmTotp({ body: { totp: code.replaceAll(' ', '') } })).recoveryCodes))
  return (
    <Sheet title={words.enrol} hint={words.enrolHint} onSubmit={secret ? confirm : begin} submit={words.enrol} busy={busy} error={error}>
      {!secret && <Field label={words.password} type="password" value={typed} onChange={setTyped} autoComplete="current-password" />}
      {secret && (
        <>
          <p>
            <Id>{secret}</Id>
          </p>
          <Field label={words.code} value={code} onChange={setCode} autoComplete="one-time-code" autoFocus />
        </>
      )}
    </Sheet>
  )
}
