import { useState } from 'react'
import { api, Button, Check, Field, Link, PageHeader, Sheet, useAttempt } from '../kit/index.ts'
import { RoleChoice, Select, ShownPassword, useFormats } from './parts.tsx'
import { queryClient, useSession } from './queries.ts'
import { Required } from './required.tsx'
import { useLanguage, useWords } from './words.tsx'

type Created = Awaited<ReturnType<typeof api.people.createPerson>>

export function Page() {
  const words = useWords().people
  const [created, setCreated] = useState<Created>()
  return (
    <>
      <PageHeader title={created ? words.created(created.user.displayName ?? created.user.localpart) : words.add} />
      <div className="narrow-form">
        {created ? <Result created={created} onAnother={() => setCreated(undefined)} /> : <NewPerson onCreated={setCreated} />}
      </div>
    </>
  )
}

function Result({ created: { user, chat, password, invitedUntil }, onAnother }: Readonly<{ created: Created; onAnother(): void }>) {
  const words = useWords().people
  const { moment } = useFormats()
  return (
    <div className="consequence">
      {chat === 'existed' && <p>{words.adopted}</p>}
      {invitedUntil !== null && <p>{words.invitedUntil(moment(invitedUntil))}</p>}
      {password !== null && invitedUntil === null && (
        <ShownPassword label={`${words.initial}: ${user.localpart}`}>{password}</ShownPassword>
      )}
      <p className="page-actions">
        <Link to={`/people/${user.userId}`} className="button plain">
          {words.open}
        </Link>
        <Button look="primary" onPress={onAnother}>
          {words.another}
        </Button>
      </p>
    </div>
  )
}

const initialRole = (roles: readonly Readonly<{ name: string; isGrantable: boolean }>[]) =>
  roles.filter(({ isGrantable }) => isGrantable).map(({ name }) => name)[0]

function NewPerson({ onCreated }: Readonly<{ onCreated(created: Created): void }>) {
  const { people: words, ...all } = useWords()
  const { roles: book } = useSession()
  const [localpart, setLocalpart] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [email, setEmail] = useState('')
  const { language } = useLanguage()
  const [locale, setLocale] = useState<string>(language)
  const [invite, setInvite] = useState(false)
  const [roles, setRoles] = useState<readonly string[]>(() => [initialRole(book) ?? ''].filter(Boolean))
  const { busy, error, attempt } = useAttempt()
  const submit = () =>
    attempt(async () => {
      const created = await api.people.createPerson({
        body: {
          localpart: localpart.trim().toLowerCase(),
          ...(displayName.trim() && { displayName: displayName.trim() }),
          ...(email.trim() && { email: email.trim() }),
          ...(locale && { locale }),
          ...(roles.length > 0 && { roles: [...roles] }),
          invite: invite && email.trim() !== '',
        },
      })
      void queryClient.invalidateQueries({ queryKey: ['people'] })
      onCreated(created)
    })
  return (
    <Sheet onSubmit={submit} submit={words.create} busy={busy} error={error}>
      <Required label={words.username} value={localpart} onChange={setLocalpart} autoComplete="off" hint={words.usernameHint} autoFocus />
      <Field label={words.name} value={displayName} onChange={setDisplayName} />
      <Field
        label={`${words.email} (${all.optional})`}
        type="email"
        value={email}
        onChange={setEmail}
        hint={words.emailHint}
        validationBehavior="aria"
      />
      {email.trim() !== '' && (
        <Check isSelected={invite} onChange={setInvite}>
          {words.invite}
        </Check>
      )}
      <LocaleChoice locale={locale} onChange={setLocale} />
      <RoleChoice selected={roles} onChange={setRoles} />
    </Sheet>
  )
}

/** The language of mails and apps; one that is not listed stays. */
export function LocaleChoice({ locale, onChange }: Readonly<{ locale: string; onChange(locale: string): void }>) {
  const { people: words, none } = useWords()
  const known = Object.entries(words.locales).map(([value, label]) => ({ value, label }))
  const others = locale && !(locale in words.locales) ? [{ value: locale, label: locale }] : []
  return <Select label={words.locale} value={locale} onChange={onChange} choices={[{ value: '', label: none }, ...known, ...others]} />
}
