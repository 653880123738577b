import { type ReactNode, useState } from 'react'
import type { PersonDetails } from '../../core/people/index.ts'
import { ActionDialog, api, Check, Field } from '../kit/index.ts'
import { download } from './download.ts'
import { LocaleChoice } from './new-person-page.tsx'
import { RoleChoice } from './parts.tsx'
import { queryClient } from './queries.ts'
import { useWords } from './words.tsx'

/** An action on a person. */
export type Asked = 'edit' | 'disable' | 'enable' | 'unlock' | 'end-sessions' | 'reset' | 'invite' | 'export' | 'erase'

type Props = Readonly<{ asked: Asked; person: PersonDetails; onPassword(password: string): void; onClose(): void }>

const refresh = () => queryClient.invalidateQueries({ queryKey: ['people'] })

export function PersonDialog({ asked, person, onPassword, onClose }: Props) {
  if (asked === 'edit') return <Edit {...{ person, onClose }} />
  if (asked === 'reset') return <Reset {...{ person, onPassword, onClose }} />
  return <Ask {...{ asked, person, onClose }} />
}

type Dialog = Readonly<{ title: string; text: ReactNode; confirm: string; run(reason: string): Promise<unknown> }>

/** Actions without fields of their own. */
function Ask({ asked, person, onClose }: Readonly<{ asked: Exclude<Asked, 'edit' | 'reset'>; person: PersonDetails; onClose(): void }>) {
  const { person: words } = useWords()
  const { userId, displayName, localpart, email } = person
  const name = displayName ?? localpart
  const of = { params: { userId } }
  const dialogs: Readonly<Record<typeof asked, Dialog>> = {
    disable: {
      ...{ title: words.disableTitle(name), text: words.disableText, confirm: words.disable },
      run: (reason) => api.people.disablePerson({ ...of, body: { reason } }),
    },
    enable: { title: words.enableTitle(name), text: words.enableText, confirm: words.enable, run: () => api.people.enablePerson(of) },
    unlock: { title: words.unlockTitle(name), text: words.unlockText, confirm: words.unlock, run: () => api.people.unlockPerson(of) },
    'end-sessions': {
      ...{ title: words.endSessionsTitle(name), text: words.endSessionsText, confirm: words.endSessions },
      run: () => api.people.endPersonSessions(of),
    },
    invite: {
      ...{ title: words.inviteTitle(name), text: words.inviteText(email ?? ''), confirm: words.invite },
      run: () => api.people.invitePerson(of),
    },
    export: { title: words.exportTitle(name), text: words.exportText, confirm: words.export, run: () => exportData(userId, localpart) },
    erase: { title: words.eraseTitle(name), text: words.eraseText, confirm: words.erase, run: () => api.people.erasePerson(of) },
  }
  const { title, text, confirm, run } = dialogs[asked]
  return (
    <ActionDialog
      {...{ title, confirm, onClose }}
      consequence={<p>{text}</p>}
      danger={asked === 'erase' || asked === 'disable'}
      {...(asked === 'disable' ? { reason: 'required' } : {})}
      {...(asked === 'erase' ? { typed: localpart } : {})}
      run={async ({ reason }) => {
        await run(reason)
        void refresh()
      }}
    />
  )
}

/** All pages of the export, as one file. */
async function exportData(userId: string, localpart: string): Promise<void> {
  const rows: unknown[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Awaited<ReturnType<typeof api.people.exportPerson>> = await api.people.exportPerson({
      params: { userId },
      body: cursor === '' ? {} : { cursor },
    })
    rows.push(...page.rows)
    cursor = page.nextCursor
  }
  download(`${localpart}.json`, JSON.stringify(rows, null, 2), 'application/json')
}

function Edit({ person, onClose }: Readonly<{ person: PersonDetails; onClose(): void }>) {
  const { people: words, person: own, save } = useWords()
  const [displayName, setDisplayName] = useState(person.displayName ?? '')
  const [email, setEmail] = useState(person.email ?? '')
  const [locale, setLocale] = useState(person.locale ?? '')
  const [roles, setRoles] = useState<readonly string[]>(person.roles)
  const change = changesOf(person, { displayName: displayName.trim(), email: email.trim(), locale, roles })
  return (
    <ActionDialog
      title={own.editTitle(person.displayName ?? person.localpart)}
      consequence={null}
      confirm={save}
      isComplete={Object.keys(change).length > 0 && roles.length > 0}
      run={async () => {
        await api.people.changePerson({ params: { userId: person.userId }, body: change })
        void refresh()
      }}
      onClose={onClose}
    >
      <Field label={words.name} value={displayName} onChange={setDisplayName} />
      <Field label={words.email} type="email" value={email} onChange={setEmail} hint={words.emailHint} validationBehavior="aria" />
      <LocaleChoice locale={locale} onChange={setLocale} />
      <RoleChoice selected={roles} onChange={setRoles} />
    </ActionDialog>
  )
}

type Edited = Readonly<{ displayName: string; email: string; locale: string; roles: readonly string[] }>

/** Only what differs: a field that is sent counts as changed in the record. */
function changesOf(person: PersonDetails, { displayName, email, locale, roles }: Edited) {
  const sameRoles = roles.length === person.roles.length && roles.every((role) => person.roles.includes(role))
  return {
    ...(displayName !== (person.displayName ?? '') && { displayName: displayName || null }),
    ...(email !== (person.email ?? '') && { email: email || null }),
    ...(locale !== (person.locale ?? '') && { locale: locale || null }),
    ...(!sameRoles && { roles: [...roles] }),
  }
}

type ResetProps = Readonly<{ person: PersonDetails; onPassword(password: string): void; onClose(): void }>

function Reset({ person: { userId, displayName, localpart }, onPassword, onClose }: ResetProps) {
  const { person: words } = useWords()
  const [logOutDevices, setLogOut] = useState(false)
  return (
    <ActionDialog
      title={words.resetTitle(displayName ?? localpart)}
      consequence={<p>{words.resetText}</p>}
      confirm={words.reset}
      run={async () => {
        const { password } = await api.people.resetPersonPassword({ params: { userId }, body: { logOutDevices } })
        if (password !== null) onPassword(password)
        void refresh()
      }}
      onClose={onClose}
    >
      <Check isSelected={logOutDevices} onChange={setLogOut}>
        {words.logOutDevices}
      </Check>
    </ActionDialog>
  )
}
