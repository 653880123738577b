import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Session } from '../../core/sessions/index.ts'
import type { User } from '../../core/users/index.ts'
import {
  ActionDialog,
  Ago,
  api,
  Button,
  Id,
  KeyValues,
  Link,
  Loaded,
  PageHeader,
  queryClient,
  quoted,
  Section,
  Status,
  useMay,
} from '../kit/index.ts'
import { userTones } from './tenant-page.tsx'
import { words } from './words.ts'

type Name = Readonly<{ slug: string; localpart: string }>
type Action = 'disable' | 'enable' | 'reset'

const again = () => queryClient.invalidateQueries({ queryKey: ['users'] })

export function Page() {
  const { slug, user: localpart } = useParams({ strict: false }) as { slug: string; user: string }
  const name = { slug, localpart }
  const user = useQuery({ queryKey: ['users', slug, 'one', localpart], queryFn: () => api.users.showUser({ params: name }) })
  const [action, setAction] = useState<Action>()
  const [password, setPassword] = useState<string>()
  const { why } = useMay('users', 'disableUser')
  const close = () => setAction(undefined)
  return (
    <>
      <PageHeader
        title={localpart}
        answer={user.data && <Status tone={userTones[user.data.status]}>{user.data.status}</Status>}
        actions={user.data && <Actions user={user.data} why={why} onAction={setAction} />}
      />
      <Loaded query={user} rows={6}>
        {(found) => <UserFacts user={found} />}
      </Loaded>
      <Sessions name={name} />
      {action === 'disable' && <Disable name={name} onClose={close} />}
      {action === 'enable' && <Enable name={name} onClose={close} />}
      {action === 'reset' && <Reset name={name} onPassword={setPassword} onClose={close} />}
      {password !== undefined && <NewPassword password={password} onClose={() => setPassword(undefined)} />}
    </>
  )
}

const Actions = ({ user: { status }, why, onAction }: Readonly<{ user: User; why: string | undefined; onAction(action: Action): void }>) =>
  status === 'erased' ? null : (
    <>
      <Button why={why} onPress={() => onAction('reset')}>
        {words.reset}…
      </Button>
      {status === 'active' ? (
        <Button why={why} onPress={() => onAction('disable')}>
          {words.disable}…
        </Button>
      ) : (
        <Button look="primary" why={why} onPress={() => onAction('enable')}>
          {words.enable}…
        </Button>
      )}
    </>
  )

const UserFacts = ({ user }: Readonly<{ user: User }>) => (
  <>
    {user.passwordUnknownSince && (
      <p>
        <Status tone="warning">{words.passwordLost}</Status>
      </p>
    )}
    <KeyValues
      facts={[
        ['Chat id', <Id key="chat">{user.matrixUserId}</Id>],
        [
          'Tenant',
          <Link key="tenant" to={`/tenants/${user.tenant}`}>
            {user.tenant}
          </Link>,
        ],
        ['Name', user.displayName],
        ['Roles', user.roles.join(', ')],
        ['Locale', user.locale],
        ['Created', <Ago key="created" at={user.createdAt} />],
        ['Updated', <Ago key="updated" at={user.updatedAt} />],
        ['Id', <Id key="id">{user.id}</Id>],
      ]}
    />
  </>
)

function Sessions({ name: { slug, localpart } }: Readonly<{ name: Name }>) {
  const sessions = useQuery({
    queryKey: ['users', slug, 'sessions', localpart],
    queryFn: () => api.sessions.listUserSessions({ params: { slug }, query: { user: localpart, limit: 100 } }),
  })
  const [ending, setEnding] = useState<Session>()
  const { why } = useMay('sessions', 'revokeUserSession')
  return (
    <Section title={words.sessions}>
      <Loaded query={sessions} rows={2}>
        {({ sessions: open }) =>
          open.length === 0 ? (
            <p className="dim">{words.noSessions}</p>
          ) : (
            <ul className="lines">
              {open.map((session) => (
                <li key={session.id}>
                  <span className="grow">
                    {session.deviceName} <span className="dim">{session.network}</span>
                  </span>
                  <span className="aside">
                    used <Ago at={session.lastUsedAt} /> · expires <Ago at={session.expiresAt} />
                  </span>
                  <Button
                    look="quiet"
                    why={why}
                    onPress={() => setEnding(session)}
                    aria-label={`${words.endSession} ${session.deviceName}`}
                  >
                    {words.endSession}…
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {ending && (
        <ActionDialog
          title={words.endTitle}
          consequence={words.endConsequence}
          confirm={words.endSession}
          danger
          cli={() => `tenantry users end-session ${slug} ${ending.id}`}
          run={async () => {
            await api.sessions.revokeUserSession({ params: { slug, id: ending.id } })
            await again()
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Section>
  )
}

type DialogProps = Readonly<{ name: Name; onClose(): void }>

const Disable = ({ name, onClose }: DialogProps) => (
  <ActionDialog
    title={words.disableTitle(name.localpart)}
    consequence={words.disableConsequence}
    reason="required"
    confirm={words.disable}
    danger
    cli={({ reason }) => `tenantry users disable ${name.slug} ${name.localpart} --reason ${quoted(reason)}`}
    run={async ({ reason }) => {
      await api.users.disableUser({ params: name, body: { reason } })
      await again()
    }}
    onClose={onClose}
  />
)

const Enable = ({ name, onClose }: DialogProps) => (
  <ActionDialog
    title={words.enableTitle(name.localpart)}
    consequence={words.enableConsequence}
    confirm={words.enable}
    cli={() => `tenantry users enable ${name.slug} ${name.localpart}`}
    run={async () => {
      await api.users.enableUser({ params: name })
      await again()
    }}
    onClose={onClose}
  />
)

const Reset = ({ name, onPassword, onClose }: DialogProps & Readonly<{ onPassword(password: string): void }>) => (
  <ActionDialog
    title={words.resetTitle(name.localpart)}
    consequence={words.resetConsequence}
    confirm={words.reset}
    danger
    cli={() => `tenantry users reset-password ${name.slug} ${name.localpart}`}
    run={async () => {
      const { password } = await api.users.resetUserPassword({ params: name, body: {} })
      if (password !== null) onPassword(password)
      await again()
    }}
    onClose={onClose}
  />
)

const NewPassword = ({ password, onClose }: Readonly<{ password: string; onClose(): void }>) => (
  <ActionDialog title={words.reset} consequence={words.shownOnce} confirm="Done" run={async () => undefined} onClose={onClose}>
    <Id>{password}</Id>
  </ActionDialog>
)
