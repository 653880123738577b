import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { type FileUsage, formatSize } from '../../core/files/index.ts'
import { plural } from '../../core/kit/index.ts'
import { liftOf, type TenantInFull } from '../../core/tenants/index.ts'
import type { User, UserStatus } from '../../core/users/index.ts'
import { windowText } from '../../core/wall-clock/index.ts'
import {
  ActionDialog,
  Ago,
  agoColumn,
  api,
  Button,
  ChoiceFilter,
  DataTable,
  Empty,
  type Fact,
  Id,
  KeyValues,
  Link,
  Loaded,
  Loading,
  PageHeader,
  ProblemView,
  queryClient,
  quoted,
  Section,
  Status,
  type TableColumn,
  type Tone,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { tenantQuery, tenantTones } from './queries.ts'
import { words } from './words.ts'

export function Page() {
  const { slug } = useParams({ strict: false }) as { slug: string }
  const tenant = useQuery(tenantQuery(slug))
  const [asking, setAsking] = useState<'suspend' | 'resume'>()
  const close = () => setAsking(undefined)
  const { why } = useMay('tenants', 'suspendTenant')
  const status = tenant.data?.status
  return (
    <>
      <PageHeader
        title={slug}
        answer={tenant.data && <Status tone={tenantTones[tenant.data.status]}>{statusWords(tenant.data)}</Status>}
        actions={
          (status === 'active' || status === 'suspended') && (
            <>
              {tenant.data?.resumedUntil && (
                <Button why={why} onPress={() => setAsking('resume')}>
                  {words.resume}…
                </Button>
              )}
              <Button
                look={status === 'active' ? 'plain' : 'primary'}
                why={why}
                onPress={() => setAsking(status === 'active' ? 'suspend' : 'resume')}
              >
                {status === 'active' ? words.suspend : words.resume}…
              </Button>
            </>
          )
        }
      />
      <Loaded query={tenant} rows={6}>
        {(found) => (
          <>
            <KeyValues facts={tenantFacts(found)} />
            <Section title={words.files}>
              <KeyValues facts={fileFacts(found.files)} />
            </Section>
          </>
        )}
      </Loaded>
      <Users slug={slug} />
      {asking === 'suspend' && <Suspend slug={slug} onClose={close} />}
      {asking === 'resume' && tenant.data && <Resume tenant={tenant.data} onClose={close} />}
    </>
  )
}

function statusWords({ status, suspendedReason, resumedUntil }: TenantInFull): string {
  if (resumedUntil !== null) return words.activeUntil(resumedUntil.slice(0, 10), suspendedReason ?? '')
  return [status, suspendedReason].filter(Boolean).join(': ')
}

const Swatch = ({ color }: Readonly<{ color: string }>) => (
  <>
    <span className="swatch" style={{ background: color }} /> {color}
  </>
)

const tenantFacts = (tenant: TenantInFull): readonly Fact[] => [
  ['Suspension', tenant.suspendedCause && words.causes[tenant.suspendedCause]],
  ['Lifted by', tenant.suspendedCause && liftOf(tenant)],
  ['Name', tenant.name],
  ['Name in apps', tenant.branding.tenantName === tenant.name ? null : tenant.branding.tenantName],
  ['Colour', tenant.branding.color && <Swatch key="colour" color={tenant.branding.color} />],
  ['Logo', tenant.branding.logoPath && <img key="logo" className="tenant-logo" src={tenant.branding.logoPath} alt={words.logo} />],
  ['Plan', `${tenant.plan} (tier ${tenant.tier})`],
  ['Chat domain', tenant.chatDomain],
  [
    'Box',
    tenant.homeserver ? (
      <>
        <Link to={`/boxes/${tenant.slug}`}>{tenant.slug}</Link>
        {tenant.homeserver.fenced && ' in maintenance'}
      </>
    ) : (
      'none'
    ),
  ],
  [
    'Window',
    tenant.window
      ? `${windowText(tenant.window.window)} ${tenant.window.timeZone}${tenant.window.own ? '' : ' (tier default)'}`
      : 'any time',
  ],
  [
    'Flags',
    Object.entries(tenant.featureFlags)
      .map(([name, on]) => `${name} ${on ? 'on' : 'off'}`)
      .join(' · '),
  ],
  ['School', tenant.schoolId !== tenant.id && tenant.schoolId],
  ['Organisation', tenant.orgId !== tenant.id && tenant.orgId],
  ['Payment customer', tenant.paymentCustomerId],
  ['Created', <Ago key="created" at={tenant.createdAt} />],
  ['Id', <Id key="id">{tenant.id}</Id>],
]

function fileFacts({ usedBytes, quotaBytes, kept, deleted, underWay, largestSpaces }: FileUsage): readonly Fact[] {
  const used = `${formatSize(usedBytes)} of ${formatSize(quotaBytes)}`
  return [
    ['Quota', usedBytes >= quotaBytes ? <Status tone="failed">{`${used}: full, uploads are refused`}</Status> : used],
    ['Files', `${plural(kept.count, 'file')}, ${formatSize(kept.bytes)}`],
    ['Deleted', deleted.count > 0 && `${deleted.count}, not erased yet, ${formatSize(deleted.bytes)}`],
    ['Uploads', underWay.count > 0 && `${underWay.count} in progress, ${formatSize(underWay.bytes)} reserved`],
    ['Largest spaces', largestSpaces.map(({ name, bytes }) => `${name} ${formatSize(bytes)}`).join(' · ')],
  ]
}

const Suspend = ({ slug, onClose }: Readonly<{ slug: string; onClose(): void }>) => (
  <ActionDialog
    title={words.suspendTitle(slug)}
    consequence={words.suspendConsequence}
    reason="required"
    confirm={words.suspend}
    danger
    cli={({ reason }) => `tenantry tenants suspend ${slug} --reason ${quoted(reason)}`}
    run={async ({ reason }) => {
      await api.tenants.suspendTenant({ params: { slug }, body: { reason } })
      await queryClient.invalidateQueries({ queryKey: ['tenants'] })
    }}
    onClose={onClose}
  />
)

/** A Light tenant whose plan ended is resumed for a time only. */
function Resume({ tenant, onClose }: Readonly<{ tenant: TenantInFull; onClose(): void }>) {
  const { slug, plan, suspendedCause } = tenant
  const [day, setDay] = useState('')
  const needsDay = suspendedCause === 'plan_ended' && plan === 'light'
  return (
    <ActionDialog
      title={words.resumeTitle(slug)}
      consequence={needsDay ? words.resumeForTime : words.resumeConsequence}
      confirm={words.resume}
      isComplete={!needsDay || day !== ''}
      cli={() => `tenantry tenants resume ${slug}${day === '' ? '' : ` --until ${day}`}`}
      run={async () => {
        await api.tenants.resumeTenant({ params: { slug }, body: day === '' ? {} : { until: `${day}T23:59:59Z` } })
        await queryClient.invalidateQueries({ queryKey: ['tenants'] })
      }}
      onClose={onClose}
    >
      <TextField className="field" type="date" value={day} onChange={setDay}>
        <Label>{needsDay ? words.until : words.untilOptional}</Label>
        <Input />
      </TextField>
    </ActionDialog>
  )
}

export const userTones = { active: 'ok', disabled: 'failed', erased: 'off' } as const satisfies Record<UserStatus, Tone>

const columns: readonly TableColumn<User>[] = [
  { key: 'user', title: 'User', width: 'minmax(140px, 1fr)', value: ({ localpart }) => localpart },
  { key: 'name', title: 'Name', width: 'minmax(140px, 2fr)', value: ({ displayName }) => displayName },
  { key: 'roles', title: 'Roles', width: 'minmax(140px, 2fr)', value: ({ roles }) => roles.join(', ') },
  {
    key: 'status',
    title: 'Status',
    width: '170px',
    value: ({ status }) => status,
    cell: ({ status, passwordUnknownSince }) => (
      <Status tone={passwordUnknownSince ? 'warning' : userTones[status]}>
        {passwordUnknownSince ? `${status}, no password` : status}
      </Status>
    ),
  },
  agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
]

const pageLimit = 100
const statuses = Object.keys(userTones).map((value) => ({ value, label: value }))

function Users({ slug }: Readonly<{ slug: string }>) {
  const [{ user: status }] = useSearchState()
  const users = useInfiniteQuery({
    queryKey: ['users', slug, status ?? ''],
    queryFn: ({ pageParam }) =>
      api.users.listUsers({
        params: { slug },
        query: { limit: pageLimit, ...(status && { status: status as UserStatus }), ...(pageParam && { cursor: pageParam }) },
      }),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: false,
  })
  const rows = users.data?.pages.flatMap((page) => page.users) ?? []
  return (
    <Section title={words.users} aside={<ChoiceFilter label="Status" name="user" choices={statuses} />}>
      {users.isError && <ProblemView error={users.error} onRetry={() => void users.refetch()} />}
      {users.isPending ? (
        <Loading rows={5} />
      ) : (
        <DataTable
          label={words.users}
          columns={columns}
          rows={rows}
          rowKey={({ localpart }) => localpart}
          rowLink={({ localpart }) => `/tenants/${slug}/users/${encodeURIComponent(localpart)}`}
          empty={<Empty title={status ? words.noUserMatch : words.noUsers} tone="off" />}
          reserve={420}
        />
      )}
      {users.hasNextPage && <Button onPress={() => void users.fetchNextPage()}>{words.more}</Button>}
    </Section>
  )
}
