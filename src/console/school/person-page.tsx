import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { PersonDetails } from '../../core/people/index.ts'
import { api, Button, Id, KeyValues, Link, Loaded, PageHeader, Section, Status } from '../kit/index.ts'
import { ShownPassword, useFormats, useRoleTitles } from './parts.tsx'
import { type Asked, PersonDialog } from './person-dialogs.tsx'
import { passwordTones, statusTones } from './person-status.ts'
import { useSession } from './queries.ts'
import { useWords } from './words.tsx'

export function Page() {
  const { userId = '' } = useParams({ strict: false }) as { userId?: string }
  const query = useQuery({ queryKey: ['people', 'one', userId], queryFn: () => api.people.showPerson({ params: { userId } }) })
  return <Loaded query={query}>{(person) => <Shown person={person} />}</Loaded>
}

function Shown({ person }: Readonly<{ person: PersonDetails }>) {
  const { people: words, person: own } = useWords()
  const { capabilities } = useSession()
  const { moment } = useFormats()
  const titles = useRoleTitles()
  const [asked, setAsked] = useState<Asked>()
  const [password, setPassword] = useState<string>()
  const { userId, displayName, localpart, matrixUserId, status, lockedUntil, linkUntil } = person
  const name = displayName ?? localpart
  return (
    <>
      <PageHeader title={name} answer={<Status tone={statusTones[status]}>{words.statuses[status]}</Status>} />
      {password !== undefined && <ShownPassword label={own.resetDone(name)}>{password}</ShownPassword>}
      <KeyValues
        facts={[
          [words.username, localpart],
          [own.chat, <Id key="id">{matrixUserId}</Id>],
          [words.roles, titles(person.roles)],
          [words.email, person.email],
          [words.locale, person.locale && (words.locales[person.locale] ?? person.locale)],
          [
            words.password,
            <Status key="p" tone={passwordTones[person.password]}>
              {words.passwords[person.password]}
            </Status>,
          ],
          [own.locked, lockedUntil && <Status tone="warning">{own.lockedUntil(moment(lockedUntil))}</Status>],
          [own.link, linkUntil && own.linkUntil(moment(linkUntil))],
          [own.sessions, String(person.openSessions)],
          [own.created, moment(person.createdAt)],
        ]}
      />
      {status !== 'erased' && (
        <Section title={own.actions}>
          <Actions person={person} ask={setAsked} />
        </Section>
      )}
      {capabilities.includes('readAudit') && (
        <p>
          <Link to={`/record?userId=${userId}`}>{own.record}</Link>
        </p>
      )}
      {asked && <PersonDialog {...{ asked, person }} onPassword={setPassword} onClose={() => setAsked(undefined)} />}
    </>
  )
}

function Actions({ person, ask }: Readonly<{ person: PersonDetails; ask(asked: Asked): void }>) {
  const words = useWords().person
  const { user } = useSession()
  const own = person.userId === user.userId ? words.yourself : undefined
  const withoutMail = person.email === null ? words.noEmail : undefined
  return (
    <div className="person-actions">
      <Button onPress={() => ask('edit')}>{words.edit}…</Button>
      {person.lockedUntil !== null && (
        <Button look="primary" onPress={() => ask('unlock')}>
          {words.unlock}…
        </Button>
      )}
      <Button why={own} onPress={() => ask('reset')}>
        {words.reset}…
      </Button>
      <Button why={withoutMail} onPress={() => ask('invite')}>
        {words.invite}…
      </Button>
      <Button onPress={() => ask('end-sessions')}>{words.endSessions}…</Button>
      {person.status === 'active' ? (
        <Button onPress={() => ask('disable')}>{words.disable}…</Button>
      ) : (
        <Button look="primary" onPress={() => ask('enable')}>
          {words.enable}…
        </Button>
      )}
      <Button onPress={() => ask('export')}>{words.export}…</Button>
      <Button onPress={() => ask('erase')}>{words.erase}…</Button>
    </div>
  )
}
